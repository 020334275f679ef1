package rules_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/rules"
)

func TestChanged(t *testing.T) {
	const (
		order = `{"Status":"paid","Total":10,"Lines":[{"sku":"a","qty":1},{"sku":"b","qty":2}],"Address":{"City":"Graz","Zip":{"a":1}},"Tags":{"SS":["x","y"]},"first-name":"Ada"}`
		bump  = `{"Status":"paid","Total":10.0,"Lines":[{"sku":"a","qty":1},{"sku":"c","qty":3}],"Address":{"City":"Graz","Zip":{"a":2}},"Tags":{"SS":["y","x"]},"first-name":"Ada"}`
		less  = `{"Status":"paid","Total":10,"Lines":[{"sku":"a","qty":1}],"Address":"Graz","Tags":{"SS":["x"]},"aws:rep:updatetime":1}`
	)
	for _, tt := range []struct {
		old, new, pattern string
		events            []string // of PathChanged; Changed is true if there are any
	}{
		{order, order, "**", nil},
		{order, bump, "Status", nil},
		{order, bump, "Total", nil}, // the values are equal as numbers
		{order, bump, "Tags", nil},
		{order, bump, "Missing", nil},
		{order, bump, "Status.deeper", nil},
		{order, bump, "Lines[*].qty", []string{"Lines[1].qty: 2 -> 3"}},
		{order, bump, "Lines[*].*", []string{"Lines[1].qty: 2 -> 3", `Lines[1].sku: "b" -> "c"`}},
		{order, bump, "Lines[0].qty", nil},
		{order, bump, "Lines[1].sku", []string{`Lines[1].sku: "b" -> "c"`}},
		{order, bump, "Lines[7]", nil},
		{order, bump, "Address.**", []string{`Address: {"City":"Graz","Zip":{"a":1}} -> {"City":"Graz","Zip":{"a":2}}`}},
		{order, bump, "Address.City", nil},
		{order, bump, "*.Zip.a", []string{"Address.Zip.a: 1 -> 2"}},
		{order, bump, "Address.*.a", []string{"Address.Zip.a: 1 -> 2"}},
		{order, less, "Lines[*].qty", []string{"Lines[1].qty: 2 -> -"}},
		{order, less, "Address.City", []string{`Address.City: "Graz" -> -`}},
		{order, less, `["first-name"]`, []string{`["first-name"]: "Ada" -> -`}},
		{order, less, "Tags[*]", nil}, // members of a set have no index
		{less, order, "Tags", []string{`Tags: ["x"] -> ["x","y"]`}},
		{`{"a":1}`, `{"a":1,"aws:rep:updatetime":1}`, "*", nil},
		{`{"a":1}`, `{"a":1,"aws:rep:updatetime":1}`, "**", nil},
		{`{"a":1}`, `{"a":1,"aws:rep:updatetime":1}`, `["aws:rep:updatetime"]`, []string{`["aws:rep:updatetime"]: - -> 1`}},
		{`{"a":1}`, `{"a":2}`, "**", []string{`: {"a":1} -> {"a":2}`}},
		{`{"a":null}`, `{}`, "a", []string{"a: null -> -"}},
	} {
		c := pipelinetest.PlainChange(t, tt.old, tt.new)
		p := pipelinetest.MustPattern(t, tt.pattern)
		if got := pipelinetest.EventTexts(t, rules.PathChanged(p), c); !slices.Equal(got, tt.events) {
			t.Errorf("%s of\n%s to\n%s:\n%q, want\n%q", tt.pattern, tt.old, tt.new, got, tt.events)
		}
		if got := pipelinetest.Matches(t, rules.Changed(p), c); got != (len(tt.events) > 0) {
			t.Errorf("Changed %s of\n%s to\n%s: %v", tt.pattern, tt.old, tt.new, got)
		}
		if got := pipelinetest.Matches(t, rules.Unchanged(p), c); got != (len(tt.events) == 0) {
			t.Errorf("Unchanged %s of\n%s to\n%s: %v", tt.pattern, tt.old, tt.new, got)
		}
	}
}

func TestChanged_InsertAndRemoveChangeWhatTheItemHas(t *testing.T) {
	a, b := pipelinetest.MustPattern(t, "a"), pipelinetest.MustPattern(t, "b")
	for _, c := range []*record.Change{pipelinetest.PlainChange(t, "", `{"a":1}`), pipelinetest.PlainChange(t, `{"a":1}`, "")} {
		if !pipelinetest.Matches(t, rules.Changed(b, a), c) || pipelinetest.Matches(t, rules.Changed(b), c) || pipelinetest.Matches(t, rules.Changed(), c) {
			t.Errorf("%v", c.Op)
		}
		if got := pipelinetest.EventTexts(t, rules.PathChanged(a, b), c); len(got) > 0 {
			t.Errorf("%v raises %q", c.Op, got)
		}
	}
}

func TestPathChanged_OverlappingPatternsRaiseOneEventPerPath(t *testing.T) {
	c := pipelinetest.PlainChange(t, `{"a":{"b":1,"c":1}}`, `{"a":{"b":2,"c":2}}`)
	d := rules.PathChanged(pipelinetest.MustPattern(t, "a.b"), pipelinetest.MustPattern(t, "a.*"), pipelinetest.MustPattern(t, "*.c"))
	want := []string{"a.b: 1 -> 2", "a.c: 1 -> 2"}
	if got := pipelinetest.EventTexts(t, d, c); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Fact 13: if the view type lacks an image that a stage needs, the stage returns a clear error, instead of reading a
// nil image.
func TestFact13_ComparingWithoutAnImageIsAnError(t *testing.T) {
	p := pipelinetest.MustPath(t, "a")
	stages := map[string]func(*record.Change) error{}
	for name, cond := range map[string]pipeline.Condition{
		"changed": rules.Changed(pipelinetest.MustPattern(t, "a")), "unchanged": rules.Unchanged(pipelinetest.MustPattern(t, "a")),
		"no change": rules.NoChange(), "echoes": rules.ReplicationEchoes(),
	} {
		stages[name] = func(c *record.Change) error { _, err := cond.Match(c); return err }
	}
	for name, d := range map[string]pipeline.Detector{
		"transition": rules.Transition(p, "", "x"), "appeared": rules.Appeared(p), "disappeared": rules.Disappeared(p),
		"path changed": rules.PathChanged(pipelinetest.MustPattern(t, "a")), "added": rules.MemberAdded(p), "removed": rules.MemberRemoved(p),
		"below": rules.CrossedBelow(p, decimal.Decimal{}), "above": rules.CrossedAbove(p, decimal.Decimal{}),
	} {
		stages[name] = func(c *record.Change) error { _, err := d.Detect(nil, c); return err }
	}
	const missing = "missing_image: MODIFY without its old image (view type NEW_IMAGE): set the stream's view type to NEW_AND_OLD_IMAGES"
	for name, ask := range stages {
		c := pipelinetest.PlainChange(t, `{"a":1}`, `{"a":2}`)
		c.Old, c.ViewType = item.Image{}, record.NewImage
		err := ask(c)
		if e, ok := errors.AsType[*rules.MissingImageError](err); !ok || e.Image != "old" || redact.LogText(err) != missing {
			t.Errorf("%s of a MODIFY without an old image: %v", name, err)
		}
	}
}
