package pipeline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tablewake/tablewake/pipeline"
)

func TestClauseOf(t *testing.T) {
	op := pipeline.Operations(pipeline.Remove, pipeline.Unknown)
	for _, tt := range []struct {
		c    pipeline.Condition
		want pipeline.Clause
	}{
		{op, pipeline.Clause{Kind: pipeline.OperationIn, Operations: []pipeline.Operation{pipeline.Unknown, pipeline.Remove}}},
		{pipeline.Entity("Type", "Order"), pipeline.Clause{Kind: pipeline.EntityIn, Attribute: "Type", Texts: []string{"Order"}}},
		{pipeline.KeyPrefix("PK", "USER#"), pipeline.Clause{Kind: pipeline.KeyStarts, Attribute: "PK", Texts: []string{"USER#"}}},
		{pipeline.TTLDeletes(), pipeline.Clause{Kind: pipeline.Expired}},
		{pipeline.ProbableTTL("ttl"), pipeline.Clause{Kind: pipeline.MayExpire}},
		{pipeline.NoChange(), pipeline.Clause{Kind: pipeline.Comparison}},
		{pipeline.ReplicationEchoes(), pipeline.Clause{Kind: pipeline.Comparison}},
		{pipeline.Changed(), pipeline.Clause{Kind: pipeline.Comparison}},
		{pipeline.ConditionFunc(func(*pipeline.Change) (bool, error) { return true, nil }), pipeline.Clause{}},
		{pipeline.All(op), pipeline.Clause{Kind: pipeline.AllOf, Parts: []pipeline.Condition{op}}},
		{pipeline.Any(op), pipeline.Clause{Kind: pipeline.AnyOf, Parts: []pipeline.Condition{op}}},
		{pipeline.Not(op), pipeline.Clause{Kind: pipeline.NotOf, Parts: []pipeline.Condition{op}}},
	} {
		if diff := cmp.Diff(tt.want, pipeline.ClauseOf(tt.c), cmpopts.EquateComparable(op)); diff != "" {
			t.Errorf("%T (-want +got):\n%s", tt.c, diff)
		}
	}
}

func TestKeptBy(t *testing.T) {
	op := pipeline.Operations(pipeline.Remove)
	c := &pipeline.Change{Op: pipeline.Remove}
	for _, f := range []pipeline.Filter{pipeline.Keep("k", op), pipeline.Drop("d", op)} {
		kept, ok := pipeline.KeptBy(f)
		if !ok {
			t.Fatalf("%T is no Keep or Drop", f)
		}
		keeps, err := kept.Match(c)
		v, _ := f.Check(c)
		if err != nil || keeps == v.Drop {
			t.Errorf("KeptBy says %v, %v; the filter drops: %v", keeps, err, v.Drop)
		}
	}
	if _, ok := pipeline.KeptBy(pipeline.FilterFunc(func(*pipeline.Change) (pipeline.Verdict, error) { return pipeline.Verdict{}, nil })); ok {
		t.Error("a function has no condition")
	}
}
