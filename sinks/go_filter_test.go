package sinks_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
)

const filtered = head + `filters: [{func: eu}]
sinks:
  rows: {view: {table: rows, key: {PK: 'A#{@key}'}}}
  crm: {custom: {name: crm, filters: [{func: paid}]}}
state: {table: state}
`

// isEU keeps users whose key ends in eu, and returns an error for the user failing.
func isEU(c *record.Change) (bool, error) {
	if string(c.Key) == "USER%23failing" {
		return false, errors.New("no region")
	}
	return strings.HasSuffix(string(c.Key), "eu"), nil
}

// isPaid keeps items whose attribute Status is paid.
func isPaid(c *record.Change) (bool, error) {
	status, _ := c.New.Get("Status")
	text, _ := status.Text()
	return text == "paid", nil
}

// A Go filter can drop changes for all sinks or for one sink. If the filter fails, the change becomes a dead letter. A
// filter with KeysOnly sees only the key of a change.
func TestWithFilter(t *testing.T) {
	var mu sync.Mutex
	var seen []record.Change
	eu := func(c *record.Change) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, *c)
		return isEU(c)
	}
	var crm kept
	var box letterBox
	cfg := parse(t, head+`filters: [{func: eu}]
sinks:
  none: {custom: {name: discard}}
  crm: {custom: {name: crm, filters: [{func: paid}]}}
`)
	p, err := sinks.Assemble(t.Context(), cfg, &box, sinks.WithFilter("eu", eu, sinks.KeysOnly()), sinks.WithFilter("paid", isPaid),
		sinks.With("crm", func(context.Context, struct{}) (pipeline.Sink, error) { return &crm, nil }))
	if err != nil {
		t.Fatal(err)
	}
	changes := source(
		insert(t, "USER#ann-eu", `"Status":{"S":"paid"}`), insert(t, "USER#bo-us", `"Status":{"S":"paid"}`),
		insert(t, "USER#cy-eu", `"Status":{"S":"open"}`), insert(t, "USER#failing", `"Status":{"S":"paid"}`))
	if err := p.Run(t.Context(), changes, nil); err != nil {
		t.Fatal(err)
	}
	if len(crm.keys) != 1 || crm.keys[0] != "USER%23ann-eu" {
		t.Errorf("the sink got %v", crm.keys)
	}
	const letter = ` USER%23failing: filter "eu": no region`
	if slices.Sort(box.letters); !slices.Equal(box.letters, []string{"crm" + letter, "none" + letter}) {
		t.Errorf("dead letters: %q", box.letters)
	}
	l := p.Ledger()
	if l.Source.Filtered["eu"] != 1 || l.Check() != nil {
		t.Errorf("the ledger is %+v, %v", l, l.Check())
	}
	for _, c := range seen {
		isBlind := c.Op == record.Unknown && !c.Old.Exists() && !c.New.Exists() && c.Raw == nil && c.Time.IsZero()
		if !isBlind || !c.Keys.Exists() || c.Table != "shop" {
			t.Errorf("the filter of keys saw %+v", c)
		}
	}
}

// A Go filter before a state sink must have the option KeysOnly. All Go filters of the file must be given.
func TestWithFilter_Refused(t *testing.T) {
	cfg := parse(t, filtered)
	crm := sinks.With("crm", func(context.Context, struct{}) (pipeline.Sink, error) { return &kept{}, nil })
	eu, paid := sinks.WithFilter("eu", isEU, sinks.KeysOnly()), sinks.WithFilter("paid", isPaid)
	for _, tt := range []struct {
		name string
		exts []sinks.Extension
		want []string
	}{
		{"declared", []sinks.Extension{crm, eu, paid}, nil},
		{"not declared", []sinks.Extension{crm, sinks.WithFilter("eu", isEU), paid}, []string{
			"tablewake.yaml:4:18: filters[0].func: reads more than keys above the state sink rows: ",
			"if its code reads only keys, give sinks.WithFilter the option sinks.KeysOnly(); else say it in the `when` of each state sink",
		}},
		{"missing", []sinks.Extension{crm, eu}, []string{
			`sinks.crm.custom.filters[0].func: no Go filter is named "paid"; give it to cli.Main, function.Main or Assemble with sinks.WithFilter (it has eu)`,
		}},
		{"nil", []sinks.Extension{crm, eu, sinks.WithFilter("paid", nil)}, []string{"the Go filter paid is nil"}},
	} {
		_, err := sinks.Assemble(t.Context(), cfg, sinks.PlanOnly(), sinks.WithExtensions(tt.exts...), sinks.PassMissingFilters())
		problems := sinks.CheckExtensions(cfg, tt.exts...)
		if (err == nil) != (tt.want == nil) || (len(problems) == 0) != (tt.want == nil) {
			t.Errorf("%s: %v, and %v", tt.name, err, problems)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) || !strings.Contains(problems.Error(), want) {
				t.Errorf("%s: %v, and %v, want %q", tt.name, err, problems, want)
			}
		}
	}
}

// With PassMissingFilters, a program without Go code can explain a plan, and its filters keep everything. Without this
// option, Assemble fails.
func TestPassMissingFilters(t *testing.T) {
	cfg := parse(t, filtered)
	_, err := sinks.Assemble(t.Context(), cfg, sinks.PlanOnly(), sinks.HoldCustom("replay"))
	if err == nil || !strings.Contains(err.Error(), `no Go filter is named "eu"`) {
		t.Errorf("assembled without the filter: %v", err)
	}
	p, err := sinks.Assemble(t.Context(), cfg, sinks.PlanOnly(), sinks.HoldCustom("replay"), sinks.PassMissingFilters())
	if err != nil {
		t.Fatal(err)
	}
	x := p.Explain(insert(t, "USER#bo-us", `"Status":{"S":"paid"}`))
	if len(x.Routes) != 2 || x.Filters[len(x.Filters)-1].Name != "eu (Go code of another program)" {
		t.Errorf("the plan is %+v", x)
	}
	if got := sinks.Missing(cfg); !slices.Equal(got, []string{"the Go sink crm", "the Go filter eu", "the Go filter paid"}) {
		t.Errorf("missing: %q", got)
	}
	if ps := sinks.CheckExtensions(cfg); len(ps) > 0 {
		t.Errorf("a program without Go code refuses: %v", ps)
	}
}
