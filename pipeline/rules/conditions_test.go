package rules_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

func yes(*record.Change) (bool, error) { return true, nil }
func no(*record.Change) (bool, error)  { return false, nil }

func TestCombinations(t *testing.T) {
	failure := errors.New("failure")
	fails := pipeline.ConditionFunc(func(*record.Change) (bool, error) { return true, failure })
	y, n := pipeline.ConditionFunc(yes), pipeline.ConditionFunc(no)
	for name, tt := range map[string]struct {
		condition pipeline.Condition
		want      bool
		err       error
	}{
		"all of nothing":             {rules.All(), true, nil},
		"any of nothing":             {rules.Any(), false, nil},
		"all":                        {rules.All(y, y), true, nil},
		"all, one false":             {rules.All(y, n, fails), false, nil},
		"all, one fails":             {rules.All(y, fails, n), false, failure},
		"any":                        {rules.Any(n, y, fails), true, nil},
		"any, none":                  {rules.Any(n, n), false, nil},
		"any, one fails before true": {rules.Any(n, fails, y), false, failure},
		"not":                        {rules.Not(n), true, nil},
		"not, true":                  {rules.Not(y), false, nil},
		"not, fails":                 {rules.Not(fails), false, failure},
	} {
		if got, err := tt.condition.Match(&record.Change{}); got != tt.want || !errors.Is(err, tt.err) || (err != nil) != (tt.err != nil) {
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
		{rules.Keep("kept", pipeline.ConditionFunc(yes)), pipeline.Verdict{}},
		{rules.Keep("kept", pipeline.ConditionFunc(no)), pipeline.Verdict{Drop: true, Reason: "kept"}},
		{rules.Drop("dropped", pipeline.ConditionFunc(yes)), pipeline.Verdict{Drop: true, Reason: "dropped"}},
		{rules.Drop("dropped", pipeline.ConditionFunc(no)), pipeline.Verdict{}},
	} {
		if got, err := tt.filter.Check(&record.Change{}); err != nil || got != tt.want {
			t.Errorf("%v, %v; want %v", got, err, tt.want)
		}
	}
	for _, filter := range []pipeline.Filter{
		rules.Keep("name", pipeline.ConditionFunc(func(*record.Change) (bool, error) { return false, failure })),
		rules.Drop("name", pipeline.ConditionFunc(func(*record.Change) (bool, error) { return true, failure })),
	} {
		if got, err := filter.Check(&record.Change{}); got.Drop || !errors.Is(err, failure) {
			t.Errorf("an error must not drop: %v, %v", got, err)
		}
		if named, ok := filter.(pipeline.Named); !ok || named.Name() != "name" {
			t.Errorf("%T has no name", filter)
		}
	}
}

func TestRequirementsMerge(t *testing.T) {
	none, old, both := pipeline.Needs{}, pipeline.Needs{Old: true}, pipeline.Needs{Old: true, New: true}
	operations, ttl, echoes := rules.Operations(record.Insert), rules.ProbableTTL("ttl"), rules.ReplicationEchoes()
	for _, tt := range []struct {
		stage any
		want  pipeline.Needs
	}{
		{rules.All(operations, pipeline.ConditionFunc(yes)), none},
		{rules.Any(operations, ttl), old},
		{rules.Not(rules.All(ttl, echoes)), both},
		{rules.Drop("x", rules.Not(ttl)), old},
		{rules.Keep("x", operations), none},
		{rules.NoChange(), both},
		{rules.Entity("Type", "Order"), both},
		{rules.Changed(pipelinetest.MustPattern(t, "a")), both},
		{rules.Unchanged(pipelinetest.MustPattern(t, "a")), both},
		{rules.When(ttl, pipeline.DetectorFunc(nil)), old},
		{rules.When(operations, rules.Appeared(pipelinetest.MustPath(t, "a"))), both},
	} {
		if got := tt.stage.(pipeline.Requirer).Requires(); got != tt.want {
			t.Errorf("%T requires %v, want %v", tt.stage, got, tt.want)
		}
	}
}

func TestReadsKeysOnly(t *testing.T) {
	key := rules.KeyPrefix("PK", "USER#")
	for name, tt := range map[string]struct {
		stage any
		want  bool
	}{
		"key prefix":          {key, true},
		"combination of keys": {rules.Not(rules.Any(key, rules.All(key))), true},
		"one part reads more": {rules.All(key, rules.NoChange()), false},
		"any, one reads more": {rules.Any(rules.TTLDeletes(), key), false},
		"filter of keys":      {rules.Keep("x", key), true},
		"filter of images":    {rules.Drop("x", rules.NoChange()), false},
		"unknown function":    {pipeline.ConditionFunc(yes), false},
		"every operation":     {rules.Operations(record.Insert, record.Modify, record.Remove), true},
		"no removals":         {rules.Operations(record.Insert, record.Modify), false},
		"backfill only":       {rules.Operations(record.Snapshot), true},
		"no condition at all": {7, false},
	} {
		if got := rules.ReadsKeysOnly(tt.stage); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestOperations(t *testing.T) {
	cond := rules.Operations(record.Insert, record.Unknown)
	for op, want := range map[record.Operation]bool{record.Insert: true, record.Unknown: true, record.Modify: false, record.Remove: false, record.Snapshot: false} {
		if got := pipelinetest.Matches(t, cond, &record.Change{Op: op}); got != want {
			t.Errorf("%v: %v", op, got)
		}
	}
}

func TestEntity(t *testing.T) {
	cond := rules.Entity("Type", "Order", "Line")
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
		{`{"Type":"Order"}`, `{"Type":"User"}`, false}, // the new image decides
	} {
		if got := pipelinetest.Matches(t, cond, pipelinetest.PlainChange(t, tt.old, tt.new)); got != tt.want {
			t.Errorf("%s to %s: %v", tt.old, tt.new, got)
		}
	}
	keys := pipelinetest.PlainChange(t, "", `{}`)
	keys.New = item.Image{}
	if !pipelinetest.Matches(t, rules.Entity("PK", "USER#1"), keys) {
		t.Error("without images, the keys count")
	}
}

func TestKeyPrefix(t *testing.T) {
	c := pipelinetest.PlainChange(t, "", `{"Name":"USER#"}`)
	c.Keys = pipelinetest.PlainItem(t, `{"PK":"USER#1","N":12,"B":{"B":"QUJD"}}`)
	for _, tt := range []struct {
		attribute, prefix string
		want              bool
	}{
		{"PK", "USER#", true}, {"PK", "", true}, {"PK", "ORDER#", false}, {"PK", "USER#12", false},
		{"B", "AB", true}, {"B", "Q", false}, {"N", "1", false}, {"Name", "USER#", false},
	} {
		if got := pipelinetest.Matches(t, rules.KeyPrefix(tt.attribute, tt.prefix), c); got != tt.want {
			t.Errorf("%s %q: %v", tt.attribute, tt.prefix, got)
		}
	}
}

// Fact 14: a TTL delete is a REMOVE with userIdentity type `Service` and principalId `dynamodb.amazonaws.com`.
func TestFact14_TTLDeletes(t *testing.T) {
	service := record.Identity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}
	for _, tt := range []struct {
		op       record.Operation
		identity record.Identity
		want     bool
	}{
		{record.Remove, service, true},
		{record.Remove, record.Identity{}, false},
		{record.Remove, record.Identity{Type: "Service", PrincipalID: "replication.dynamodb.amazonaws.com"}, false},
		{record.Modify, service, false},
	} {
		if got := pipelinetest.Matches(t, rules.TTLDeletes(), &record.Change{Op: tt.op, Identity: tt.identity}); got != tt.want {
			t.Errorf("%v by %v: %v", tt.op, tt.identity, got)
		}
	}
}

// Fact 14: a replicated TTL delete cannot be recognised for certain, because a user may also delete an expired item.
// ProbableTTL guesses from the TTL attribute of the OldImage.
func TestFact14_ProbableTTL(t *testing.T) {
	for _, tt := range []struct {
		old, new string
		want     bool
	}{
		{`{"ttl":1699999999}`, "", true},
		{`{"ttl":1700000000}`, "", true},
		{`{"ttl":1700000001}`, "", false}, // not yet expired
		{`{"ttl":1542300000}`, "", true},  // a little less than five years ago
		{`{"ttl":1542000000}`, "", false}, // more than five years ago: TTL does not delete it
		{`{"ttl":-1}`, "", false},
		{`{"ttl":1699999999.5}`, "", true},
		{`{"ttl":"1699999999"}`, "", false},  // TTL reads only numbers
		{`{"ttl":1699999999000}`, "", false}, // milliseconds, so far in the future
		{`{}`, "", false},
		{`{"ttl":1699999999}`, `{"ttl":1699999999}`, false},
	} {
		if got := pipelinetest.Matches(t, rules.ProbableTTL("ttl"), pipelinetest.PlainChange(t, tt.old, tt.new)); got != tt.want {
			t.Errorf("%s to %q: %v", tt.old, tt.new, got)
		}
	}
	timeless := pipelinetest.PlainChange(t, `{"ttl":1}`, "")
	timeless.Time = time.Time{}
	if pipelinetest.Matches(t, rules.ProbableTTL("ttl"), timeless) {
		t.Error("a change without a time can't be judged")
	}
}

// Fact 15: legacy global tables add `aws:rep:deleting`, `aws:rep:updatetime` and `aws:rep:updateregion`, and write one
// extra MODIFY. ReplicationEchoes recognises that echo, and diffs leave these attributes out.
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
		c := pipelinetest.PlainChange(t, tt.old, tt.new)
		if got := pipelinetest.Matches(t, rules.ReplicationEchoes(), c); got != tt.echo {
			t.Errorf("%s to %s: echo %v", tt.old, tt.new, got)
		}
		if got := pipelinetest.Matches(t, rules.NoChange(), c); got != tt.noChange {
			t.Errorf("%s to %s: no change %v", tt.old, tt.new, got)
		}
	}
}
