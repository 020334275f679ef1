package rules_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

func TestClauseOf(t *testing.T) {
	op := rules.Operations(record.Remove, record.Unknown)
	for _, tt := range []struct {
		c    pipeline.Condition
		want rules.Clause
	}{
		{op, rules.Clause{Kind: rules.OperationIn, Operations: []record.Operation{record.Unknown, record.Remove}}},
		{rules.Entity("Type", "Order"), rules.Clause{Kind: rules.EntityIn, Attribute: "Type", Texts: []string{"Order"}}},
		{rules.KeyPrefix("PK", "USER#"), rules.Clause{Kind: rules.KeyStarts, Attribute: "PK", Texts: []string{"USER#"}}},
		{rules.TTLDeletes(), rules.Clause{Kind: rules.Expired}},
		{rules.ProbableTTL("ttl"), rules.Clause{Kind: rules.MayExpire}},
		{rules.NoChange(), rules.Clause{Kind: rules.Comparison}},
		{rules.ReplicationEchoes(), rules.Clause{Kind: rules.Comparison}},
		{rules.Changed(), rules.Clause{Kind: rules.Comparison}},
		{pipeline.ConditionFunc(func(*record.Change) (bool, error) { return true, nil }), rules.Clause{}},
		{rules.All(op), rules.Clause{Kind: rules.AllOf, Parts: []pipeline.Condition{op}}},
		{rules.Any(op), rules.Clause{Kind: rules.AnyOf, Parts: []pipeline.Condition{op}}},
		{rules.Not(op), rules.Clause{Kind: rules.NotOf, Parts: []pipeline.Condition{op}}},
	} {
		if diff := cmp.Diff(tt.want, rules.ClauseOf(tt.c), cmpopts.EquateComparable(op)); diff != "" {
			t.Errorf("%T (-want +got):\n%s", tt.c, diff)
		}
	}
}

func TestKeptBy(t *testing.T) {
	op := rules.Operations(record.Remove)
	c := &record.Change{Op: record.Remove}
	for _, f := range []pipeline.Filter{rules.Keep("k", op), rules.Drop("d", op)} {
		kept, ok := rules.KeptCondition(f)
		if !ok {
			t.Fatalf("%T is no Keep or Drop", f)
		}
		keeps, err := kept.Match(c)
		v, _ := f.Check(c)
		if err != nil || keeps == v.Drop {
			t.Errorf("KeptCondition says %v, %v; the filter drops: %v", keeps, err, v.Drop)
		}
	}
	if _, ok := rules.KeptCondition(pipeline.FilterFunc(func(*record.Change) (pipeline.Verdict, error) { return pipeline.Verdict{}, nil })); ok {
		t.Error("a function has no condition")
	}
}
