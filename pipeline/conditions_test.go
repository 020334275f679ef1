package pipeline_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

func yes(*pipeline.Change) (bool, error) { return true, nil }
func no(*pipeline.Change) (bool, error)  { return false, nil }

func TestCombinations(t *testing.T) {
	failure := errors.New("failure")
	fails := pipeline.ConditionFunc(func(*pipeline.Change) (bool, error) { return true, failure })
	y, n := pipeline.ConditionFunc(yes), pipeline.ConditionFunc(no)
	for name, tt := range map[string]struct {
		condition pipeline.Condition
		want      bool
		err       error
	}{
		"all of nothing":             {pipeline.All(), true, nil},
		"any of nothing":             {pipeline.Any(), false, nil},
		"all":                        {pipeline.All(y, y), true, nil},
		"all, one false":             {pipeline.All(y, n, fails), false, nil},
		"all, one fails":             {pipeline.All(y, fails, n), false, failure},
		"any":                        {pipeline.Any(n, y, fails), true, nil},
		"any, none":                  {pipeline.Any(n, n), false, nil},
		"any, one fails before true": {pipeline.Any(n, fails, y), false, failure},
		"not":                        {pipeline.Not(n), true, nil},
		"not, true":                  {pipeline.Not(y), false, nil},
		"not, fails":                 {pipeline.Not(fails), false, failure},
	} {
		if got, err := tt.condition.Match(&pipeline.Change{}); got != tt.want || !errors.Is(err, tt.err) || (err != nil) != (tt.err != nil) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestKeepAndDrop(t *testing.T) {
	failure := errors.New("failure")
	for _, tt := range []struct {
		filter pipeline.Filter
		want   pipeline.Verdict
	}{
		{pipeline.Keep("kept", pipeline.ConditionFunc(yes)), pipeline.Verdict{}},
		{pipeline.Keep("kept", pipeline.ConditionFunc(no)), pipeline.Verdict{Drop: true, Reason: "kept"}},
		{pipeline.Drop("dropped", pipeline.ConditionFunc(yes)), pipeline.Verdict{Drop: true, Reason: "dropped"}},
		{pipeline.Drop("dropped", pipeline.ConditionFunc(no)), pipeline.Verdict{}},
	} {
		if got, err := tt.filter.Check(&pipeline.Change{}); err != nil || got != tt.want {
			t.Errorf("%v, %v; want %v", got, err, tt.want)
		}
	}
	for _, filter := range []pipeline.Filter{
		pipeline.Keep("name", pipeline.ConditionFunc(func(*pipeline.Change) (bool, error) { return false, failure })),
		pipeline.Drop("name", pipeline.ConditionFunc(func(*pipeline.Change) (bool, error) { return true, failure })),
	} {
		if got, err := filter.Check(&pipeline.Change{}); got.Drop || !errors.Is(err, failure) {
			t.Errorf("an error must not drop: %v, %v", got, err)
		}
		if named, ok := filter.(pipeline.Named); !ok || named.Name() != "name" {
			t.Errorf("%T has no name", filter)
		}
	}
}

func TestRequirementsMerge(t *testing.T) {
	none, old, both := pipeline.Needs{}, pipeline.Needs{Old: true}, pipeline.Needs{Old: true, New: true}
	operations, ttl, echoes := pipeline.Operations(pipeline.Insert), pipeline.ProbableTTL("ttl"), pipeline.ReplicationEchoes()
	for _, tt := range []struct {
		stage any
		want  pipeline.Needs
	}{
		{pipeline.All(operations, pipeline.ConditionFunc(yes)), none},
		{pipeline.Any(operations, ttl), old},
		{pipeline.Not(pipeline.All(ttl, echoes)), both},
		{pipeline.Drop("x", pipeline.Not(ttl)), old},
		{pipeline.Keep("x", operations), none},
		{pipeline.NoChange(), both},
		{pipeline.Entity("Type", "Order"), both},
		{pipeline.Changed(mustPattern(t, "a")), both},
		{pipeline.Unchanged(mustPattern(t, "a")), both},
		{pipeline.When(ttl, pipeline.DetectorFunc(nil)), old},
		{pipeline.When(operations, pipeline.Appeared(mustPath(t, "a"))), both},
	} {
		if got := tt.stage.(pipeline.Requirer).Requires(); got != tt.want {
			t.Errorf("%T requires %v, want %v", tt.stage, got, tt.want)
		}
	}
}

func TestReadsKeysOnly(t *testing.T) {
	key := pipeline.KeyPrefix("PK", "USER#")
	for name, tt := range map[string]struct {
		stage any
		want  bool
	}{
		"key prefix":          {key, true},
		"combination of keys": {pipeline.Not(pipeline.Any(key, pipeline.All(key))), true},
		"one part reads more": {pipeline.All(key, pipeline.NoChange()), false},
		"any, one reads more": {pipeline.Any(pipeline.TTLDeletes(), key), false},
		"filter of keys":      {pipeline.Keep("x", key), true},
		"filter of images":    {pipeline.Drop("x", pipeline.NoChange()), false},
		"unknown function":    {pipeline.ConditionFunc(yes), false},
		"every operation":     {pipeline.Operations(pipeline.Insert, pipeline.Modify, pipeline.Remove), true},
		"no removals":         {pipeline.Operations(pipeline.Insert, pipeline.Modify), false},
		"backfill only":       {pipeline.Operations(pipeline.Snapshot), true},
		"no condition at all": {7, false},
	} {
		if got := pipeline.ReadsKeysOnly(tt.stage); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestOperations(t *testing.T) {
	cond := pipeline.Operations(pipeline.Insert, pipeline.Unknown)
	for op, want := range map[pipeline.Operation]bool{pipeline.Insert: true, pipeline.Unknown: true, pipeline.Modify: false, pipeline.Remove: false, pipeline.Snapshot: false} {
		if got := matches(t, cond, &pipeline.Change{Op: op}); got != want {
			t.Errorf("%v: %v", op, got)
		}
	}
}

func TestEntity(t *testing.T) {
	cond := pipeline.Entity("Type", "Order", "Line")
	for _, tt := range []struct {
		old, new string
		want     bool
	}{
		{"", `{"Type":"Order"}`, true},
		{"", `{"Type":"Line"}`, true},
		{"", `{"Type":"order"}`, false},
		{"", `{"Type":7}`, false},
		{"", `{}`, false},
		{`{"Type":"Order"}`, "", true},
		{`{"Type":"Order"}`, `{"Type":"User"}`, false}, // the new image counts
	} {
		if got := matches(t, cond, plainChange(t, tt.old, tt.new)); got != tt.want {
			t.Errorf("%s to %s: %v", tt.old, tt.new, got)
		}
	}
	keys := plainChange(t, "", `{}`)
	keys.New = pipeline.Image{}
	if !matches(t, pipeline.Entity("PK", "USER#1"), keys) {
		t.Error("without images, the keys count")
	}
}

func TestKeyPrefix(t *testing.T) {
	c := plainChange(t, "", `{"Name":"USER#"}`)
	c.Keys = plainItem(t, `{"PK":"USER#1","N":12,"B":{"B":"QUJD"}}`)
	for _, tt := range []struct {
		attribute, prefix string
		want              bool
	}{
		{"PK", "USER#", true}, {"PK", "", true}, {"PK", "ORDER#", false}, {"PK", "USER#12", false},
		{"B", "AB", true}, {"B", "Q", false}, {"N", "1", false}, {"Name", "USER#", false},
	} {
		if got := matches(t, pipeline.KeyPrefix(tt.attribute, tt.prefix), c); got != tt.want {
			t.Errorf("%s %q: %v", tt.attribute, tt.prefix, got)
		}
	}
}

// Fact 14: A TTL delete: REMOVE with userIdentity type `Service`, principalId `dynamodb.amazonaws.com`.
func TestFact14_TTLDeletes(t *testing.T) {
	service := pipeline.Identity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}
	for _, tt := range []struct {
		op       pipeline.Operation
		identity pipeline.Identity
		want     bool
	}{
		{pipeline.Remove, service, true},
		{pipeline.Remove, pipeline.Identity{}, false},
		{pipeline.Remove, pipeline.Identity{Type: "Service", PrincipalID: "replication.dynamodb.amazonaws.com"}, false},
		{pipeline.Modify, service, false},
	} {
		if got := matches(t, pipeline.TTLDeletes(), &pipeline.Change{Op: tt.op, Identity: tt.identity}); got != tt.want {
			t.Errorf("%v by %v: %v", tt.op, tt.identity, got)
		}
	}
}

// Fact 14: a replicated TTL delete can't be told apart for certain (an expired item may also be deleted by a
// user): a guess from the OldImage's TTL attribute, named as one.
func TestFact14_ProbableTTL(t *testing.T) {
	for _, tt := range []struct {
		old, new string
		want     bool
	}{
		{`{"ttl":1699999999}`, "", true},
		{`{"ttl":1700000000}`, "", true},
		{`{"ttl":1700000001}`, "", false},    // not yet expired
		{`{"ttl":1542300000}`, "", true},     // five years and a bit less
		{`{"ttl":1542000000}`, "", false},    // TTL leaves it alone
		{`{"ttl":-1}`, "", false},            //
		{`{"ttl":1699999999.5}`, "", true},   //
		{`{"ttl":"1699999999"}`, "", false},  // TTL reads numbers only
		{`{"ttl":1699999999000}`, "", false}, // milliseconds: far in the future
		{`{}`, "", false},
		{`{"ttl":1699999999}`, `{"ttl":1699999999}`, false},
	} {
		if got := matches(t, pipeline.ProbableTTL("ttl"), plainChange(t, tt.old, tt.new)); got != tt.want {
			t.Errorf("%s to %q: %v", tt.old, tt.new, got)
		}
	}
	timeless := plainChange(t, `{"ttl":1}`, "")
	timeless.Time = time.Time{}
	if matches(t, pipeline.ProbableTTL("ttl"), timeless) {
		t.Error("a change without a time can't be judged")
	}
}

// Fact 15: Legacy global tables add `aws:rep:deleting`, `aws:rep:updatetime`, `aws:rep:updateregion` and one
// extra MODIFY: recognise, drop the echo, and leave those attributes out of diffs.
func TestFact15_ReplicationEchoes(t *testing.T) {
	for _, tt := range []struct {
		old, new       string
		echo, noChange bool
	}{
		{`{"a":1}`, `{"a":1,"aws:rep:updatetime":1.5,"aws:rep:updateregion":"eu-west-1","aws:rep:deleting":false}`, true, true},
		{`{"a":1,"aws:rep:updatetime":1}`, `{"a":1,"aws:rep:updatetime":2}`, true, true},
		{`{"a":1,"aws:rep:updatetime":1}`, `{"a":1.0}`, true, true},
		{`{"a":1,"aws:rep:updatetime":1}`, `{"a":2,"aws:rep:updatetime":2}`, false, false},
		{`{"a":1}`, `{"a":1,"b":1,"aws:rep:updatetime":2}`, false, false},
		{`{"a":1,"b":1}`, `{"a":1,"aws:rep:updatetime":2}`, false, false},
		{`{"a":1}`, `{"a":1.0}`, false, true},
		{`{"s":{"SS":["x","y"]}}`, `{"s":{"SS":["y","x"]}}`, false, true},
		{"", `{"aws:rep:updatetime":2}`, false, false},
		{`{"a":1}`, "", false, false},
	} {
		c := plainChange(t, tt.old, tt.new)
		if got := matches(t, pipeline.ReplicationEchoes(), c); got != tt.echo {
			t.Errorf("%s to %s: echo %v", tt.old, tt.new, got)
		}
		if got := matches(t, pipeline.NoChange(), c); got != tt.noChange {
			t.Errorf("%s to %s: no change %v", tt.old, tt.new, got)
		}
	}
}
