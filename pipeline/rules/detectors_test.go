package rules_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

type detection struct {
	old, new string
	want     []string
}

func checkDetections(t *testing.T, d pipeline.Detector, cases []detection) {
	t.Helper()
	for _, tt := range cases {
		if got := pipelinetest.EventTexts(t, d, pipelinetest.PlainChange(t, tt.old, tt.new)); !slices.Equal(got, tt.want) {
			t.Errorf("%s to %s: %q, want %q", tt.old, tt.new, got, tt.want)
		}
	}
}

func TestTransition(t *testing.T) {
	checkDetections(t, rules.Transition(pipelinetest.MustPath(t, "Status"), "", "completed"), []detection{
		{`{"Status":"paid"}`, `{"Status":"completed"}`, []string{`Status: "paid" -> "completed"`}},
		{`{}`, `{"Status":"completed"}`, []string{`Status: - -> "completed"`}},
		{`{"Status":7}`, `{"Status":"completed"}`, []string{`Status: 7 -> "completed"`}},
		{"", `{"Status":"completed"}`, []string{`Status: - -> "completed"`}},
		{`{"Status":"completed"}`, `{"Status":"completed"}`, nil},
		{`{"Status":"completed"}`, `{"Status":"paid"}`, nil},
		{`{"Status":"completed"}`, "", nil},
		{`{"Status":"paid"}`, "", nil},
	})
	checkDetections(t, rules.Transition(pipelinetest.MustPath(t, "Order.Status"), "paid", "*"), []detection{
		{`{"Order":{"Status":"paid"}}`, `{"Order":{"Status":"shipped"}}`, []string{`Order.Status: "paid" -> "shipped"`}},
		{`{"Order":{"Status":"paid"}}`, `{"Order":1}`, []string{`Order.Status: "paid" -> -`}},
		{`{"Order":{"Status":"paid"}}`, `{"Order":{"Status":null}}`, []string{`Order.Status: "paid" -> null`}},
		{`{"Order":{"Status":"new"}}`, `{"Order":{"Status":"shipped"}}`, nil},
		{`{"Order":{"Status":"paid"}}`, "", nil}, // a REMOVE is not a transition
		{"", `{"Order":{"Status":"paid"}}`, nil},
	})
	checkDetections(t, rules.Transition(pipelinetest.MustPath(t, "n"), "1.0", "1E+1"), []detection{
		{`{"n":1}`, `{"n":10}`, []string{"n: 1 -> 10"}},
		{`{"n":"1"}`, `{"n":10}`, nil}, // strings are compared as text
		{`{"n":"1.0"}`, `{"n":"1E+1"}`, []string{`n: "1.0" -> "1E+1"`}},
		{`{"n":1}`, `{"n":11}`, nil},
	})
	checkDetections(t, rules.Transition(pipelinetest.MustPath(t, "b"), "false", "true"), []detection{
		{`{"b":false}`, `{"b":true}`, []string{"b: false -> true"}},
		{`{"b":true}`, `{"b":false}`, nil},
		{`{"b":null}`, `{"b":true}`, nil},
		{`{}`, `{"b":true}`, nil},
	})
}

func TestAppearedAndDisappeared(t *testing.T) {
	checkDetections(t, rules.Appeared(pipelinetest.MustPath(t, "a.b")), []detection{
		{`{"a":{}}`, `{"a":{"b":1}}`, []string{"a.b: - -> 1"}},
		{`{}`, `{"a":{"b":null}}`, []string{"a.b: - -> null"}},
		{"", `{"a":{"b":1}}`, []string{"a.b: - -> 1"}},
		{`{"a":{"b":null}}`, `{"a":{"b":1}}`, nil},
		{`{"a":{"b":1}}`, `{"a":{}}`, nil},
		{`{"a":{"b":1}}`, "", nil},
	})
	checkDetections(t, rules.Disappeared(pipelinetest.MustPath(t, "a.b")), []detection{
		{`{"a":{"b":1}}`, `{"a":{}}`, []string{"a.b: 1 -> -"}},
		{`{"a":{"b":1}}`, "", []string{"a.b: 1 -> -"}},
		{`{"a":{"b":1}}`, `{"a":{"b":2}}`, nil},
		{"", `{"a":{"b":1}}`, nil},
	})
}

func TestCrossed(t *testing.T) {
	stock := pipelinetest.MustPath(t, "Stock")
	checkDetections(t, rules.CrossedBelow(stock, pipelinetest.MustDecimal(t, "10")), []detection{
		{`{"Stock":12}`, `{"Stock":9}`, []string{"Stock: 12 -> 9"}},
		{`{"Stock":10}`, `{"Stock":9.99999999999999999999999999999999999}`, []string{"Stock: 10 -> 9.99999999999999999999999999999999999"}},
		{`{"Stock":12}`, `{"Stock":10.0}`, nil},
		{`{"Stock":9}`, `{"Stock":8}`, nil},
		{`{"Stock":9}`, `{"Stock":12}`, nil},
		{`{"Stock":"12"}`, `{"Stock":9}`, nil},
		{`{"Stock":12}`, `{"Stock":"9"}`, nil},
		{`{}`, `{"Stock":9}`, nil},
		{`{"Stock":12}`, `{}`, nil},
		{"", `{"Stock":9}`, nil},
		{`{"Stock":12}`, "", nil},
	})
	checkDetections(t, rules.CrossedAbove(stock, pipelinetest.MustDecimal(t, "-0.5")), []detection{
		{`{"Stock":-1}`, `{"Stock":0}`, []string{"Stock: -1 -> 0"}},
		{`{"Stock":-0.5}`, `{"Stock":-0.4}`, []string{"Stock: -0.5 -> -0.4"}},
		{`{"Stock":-1}`, `{"Stock":-0.5}`, nil},
		{`{"Stock":1}`, `{"Stock":2}`, nil},
		{`{"Stock":1}`, `{"Stock":-2}`, nil},
	})
}

func TestMembers(t *testing.T) {
	tags := pipelinetest.MustPath(t, "t")
	added, removed := rules.MemberAdded(tags), rules.MemberRemoved(tags)
	for _, tt := range []struct {
		old, new       string
		added, removed []string
	}{
		{`{"t":{"SS":["b","a"]}}`, `{"t":{"SS":["d","a","c"]}}`, []string{`t: - -> "c"`, `t: - -> "d"`}, []string{`t: "b" -> -`}},
		{`{"t":{"SS":["b","a"]}}`, `{"t":{"SS":["a","b"]}}`, nil, nil},
		{`{"t":{"NS":["10","9"]}}`, `{"t":{"NS":["100","9.0","11"]}}`, []string{"t: - -> 11", "t: - -> 100"}, []string{"t: 10 -> -"}},
		{`{"t":{"BS":["QQ==","Qg=="]}}`, `{"t":{"BS":["Qg==","Qw=="]}}`, []string{`t: - -> "Qw=="`}, []string{`t: "QQ==" -> -`}},
		{"", `{"t":{"SS":["a"]}}`, []string{`t: - -> "a"`}, nil},
		{`{"t":{"SS":["a"]}}`, "", nil, []string{`t: "a" -> -`}},
		{`{}`, `{"t":{"SS":["a"]}}`, []string{`t: - -> "a"`}, nil},
		{`{"t":{"SS":["a"]}}`, `{"t":null}`, nil, []string{`t: "a" -> -`}},
		{`{"t":{"SS":["1"]}}`, `{"t":{"NS":["1"]}}`, []string{"t: - -> 1"}, []string{`t: "1" -> -`}},
		{`{"t":["a"]}`, `{"t":["a","b"]}`, nil, nil}, // lists are not sets
		{`{"t":"a"}`, `{}`, nil, nil},
	} {
		c := pipelinetest.PlainChange(t, tt.old, tt.new)
		if got := pipelinetest.EventTexts(t, added, c); !slices.Equal(got, tt.added) {
			t.Errorf("%s to %s: added %q, want %q", tt.old, tt.new, got, tt.added)
		}
		if got := pipelinetest.EventTexts(t, removed, c); !slices.Equal(got, tt.removed) {
			t.Errorf("%s to %s: removed %q, want %q", tt.old, tt.new, got, tt.removed)
		}
	}
}

func TestWhen(t *testing.T) {
	asked, failure := 0, errors.New("failure")
	condition := func(ok bool, err error) pipeline.Condition {
		return pipeline.ConditionFunc(func(*record.Change) (bool, error) { asked++; return ok, err })
	}
	appeared := rules.Appeared(pipelinetest.MustPath(t, "a"))
	sees, seesNot := pipelinetest.PlainChange(t, "", `{"a":1}`), pipelinetest.PlainChange(t, "", `{"b":1}`)
	if got := pipelinetest.EventTexts(t, rules.When(condition(true, nil), appeared), sees); len(got) != 1 {
		t.Errorf("true: %q", got)
	}
	if got := pipelinetest.EventTexts(t, rules.When(condition(false, nil), appeared), sees); len(got) != 0 {
		t.Errorf("false: %q", got)
	}
	if asked = 0; len(pipelinetest.EventTexts(t, rules.When(condition(true, nil), appeared), seesNot)) != 0 || asked != 0 {
		t.Error("asked although there was nothing to see")
	}
	before := []pipeline.Event{{Path: "before"}}
	if got, err := rules.When(condition(true, failure), appeared).Detect(before, sees); !errors.Is(err, failure) || len(got) != 1 {
		t.Errorf("failure: %v, %v", got, err)
	}
	fails := pipeline.DetectorFunc(func(dst []pipeline.Event, _ *record.Change) ([]pipeline.Event, error) {
		return append(dst, pipeline.Event{}), failure
	})
	if got, err := rules.When(condition(true, nil), fails).Detect(before, sees); !errors.Is(err, failure) || len(got) != 1 {
		t.Errorf("failing detector: %v, %v", got, err)
	}
}

func TestSnapshotsRaiseNoEvents(t *testing.T) {
	c := pipelinetest.PlainChange(t, "", `{"a":1,"s":{"SS":["x"]}}`)
	c.Op = record.Snapshot
	for _, d := range []pipeline.Detector{
		rules.Transition(pipelinetest.MustPath(t, "a"), "", "1"), rules.Appeared(pipelinetest.MustPath(t, "a")), rules.MemberAdded(pipelinetest.MustPath(t, "s")),
		rules.PathChanged(pipelinetest.MustPattern(t, "**")), rules.OperationIs(record.Insert, record.Modify, record.Remove, record.Snapshot), rules.CrossedAbove(pipelinetest.MustPath(t, "a"), decimal.Decimal{}),
	} {
		if got := pipelinetest.EventTexts(t, d, c); len(got) > 0 {
			t.Errorf("%T raises %q", d, got)
		}
	}
}

func TestOperationIs(t *testing.T) {
	checkDetections(t, rules.OperationIs(record.Insert, record.Remove), []detection{
		{"", `{"a":1}`, []string{`: - -> -`}},
		{`{"a":1}`, `{"a":2}`, nil},
		{`{"a":1}`, "", []string{`: - -> -`}},
	})
}
