package sinks_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
)

// sensitive parses a file and makes the patterns sensitive. allow contains the patterns that each sink may hold, by the
// name of the sink.
func sensitive(t *testing.T, text string, patterns string, allow map[string]string) *config.Config {
	t.Helper()
	cfg := parse(t, head+text)
	cfg.HMACKey = "a secret of the test"
	cfg.Sensitive = patternsOf(t, patterns)
	for i := range cfg.Sinks {
		cfg.Sinks[i].AllowSensitive = patternsOf(t, allow[cfg.Sinks[i].Name])
	}
	return cfg
}

func patternsOf(t *testing.T, texts string) []item.Pattern {
	t.Helper()
	var ps []item.Pattern
	for _, text := range strings.Fields(texts) {
		p, err := item.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	return ps
}

// nosy is a Go sink with all optional methods. It records everything that it receives.
type nosy struct {
	seen    []string
	fail    error
	flushed bool
}

func (n *nosy) see(d *pipeline.Delivery) {
	text := string(d.Change.Key) + string(d.Change.Raw) + string(d.Change.Keys.AppendJSON(nil)) + string(d.Change.Old.AppendJSON(nil)) + string(d.Change.New.AppendJSON(nil))
	for _, e := range d.Events {
		text += e.Path + e.Old.String() + e.New.String() + string(e.Change.Raw)
	}
	n.seen = append(n.seen, text)
}

func (n *nosy) Plan(d *pipeline.Delivery) error {
	n.see(d)
	if v, _ := d.Change.New.Get("Skip"); v.Exists() {
		d.Outcome, d.Reason = pipeline.NoEffect, "skipped"
	}
	return nil
}

func (n *nosy) Write(_ context.Context, ds []pipeline.Delivery) error {
	var failed pipeline.BatchError
	for i := range ds {
		n.see(&ds[i])
		ds[i].Outcome = pipeline.Superseded
		failed.Add(i, n.fail)
	}
	return failed.OrNil()
}

func (n *nosy) Requires() pipeline.Needs    { return pipeline.Needs{New: true} }
func (n *nosy) KeepsKeyOrder() bool         { return true }
func (n *nosy) Guarded() bool               { return true }
func (n *nosy) Flush(context.Context) error { n.flushed = true; return nil }

// A Go sink receives no sensitive values, except those that the file allows. The outcomes that the sink sets on the
// masked deliveries apply to the changes.
func TestGoSinkIsMasked(t *testing.T) {
	for _, test := range []struct {
		sensitive, allow string
		shows            bool
	}{
		{"Email PK", "", false},
		{"Email PK", "Email", true},
		{"Email", "Email", true},
		{"", "", true},
	} {
		cfg := sensitive(t, "detect: {mail: {changed: [Email]}}\nsinks: {s: {custom: {name: nosy}}}\n", test.sensitive, map[string]string{"s": test.allow})
		got := &nosy{}
		p, err := sinks.Assemble(t.Context(), cfg, discard{}, sinks.With("nosy", func(context.Context, struct{}) (pipeline.Sink, error) { return got, nil }))
		if err != nil {
			t.Fatal(err)
		}
		c := insert(t, "O1", `"Email":{"S":"canary"},"Total":{"N":"5"}`)
		m := decode(t, recordJSON("MODIFY", "O1", `,"OldImage":{"PK":{"S":"O1"},"Email":{"S":"canary"}},"NewImage":{"PK":{"S":"O1"},"Email":{"S":"canary 2"}}`))
		if err := p.Run(t.Context(), source(c, &m.Changes[0], insert(t, "O2", `"Skip":{"BOOL":true}`)), nil); err != nil {
			t.Fatal(err)
		}
		l := p.Ledger().Sinks["s"]
		if l.Superseded != 2 || l.NoEffect["skipped"] != 1 || !got.flushed {
			t.Errorf("%q: %+v, flushed %v", test.sensitive, l, got.flushed)
		}
		if len(got.seen) != 5 {
			t.Fatalf("it saw %d deliveries", len(got.seen))
		}
		text := strings.Join(got.seen, "\n")
		if shows := strings.Contains(text, "canary"); shows != test.shows {
			t.Errorf("%q, of which %q is allowed: it saw %s", test.sensitive, test.allow, text)
		}
		if hidden := strings.Contains(test.sensitive, "PK"); hidden == strings.Contains(text, "O1") {
			t.Errorf("%q: it saw %s", test.sensitive, text)
		}
	}
}

// If a masked Go sink fails for a change, the change fails.
func TestMaskedGoSinkFails(t *testing.T) {
	cfg := sensitive(t, "sinks: {s: {custom: {name: nosy}}}\n", "Email", nil)
	p, err := sinks.Assemble(t.Context(), cfg, discard{}, sinks.With("nosy", func(context.Context, struct{}) (pipeline.Sink, error) {
		return &nosy{fail: pipeline.Permanent(errors.New("no"))}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), source(insert(t, "O1", `"Email":{"S":"canary"}`), insert(t, "O2", `"Total":{"N":"1"}`)), nil); err != nil {
		t.Fatal(err)
	}
	if l := p.Ledger().Sinks["s"]; l.DeadLettered != 2 {
		t.Errorf("%+v, want both in dead letters", l)
	}
}

// If a sink stores the keys of items, the first change with a sensitive key attribute is a fatal error that says what
// to write in the file. If the file allows the attribute or hashes the ids, there is no error.
func TestSensitiveKeys(t *testing.T) {
	const file = `sinks:
  rows: {view: {table: v, key: {PK: '{@key}'}}}
  index: {search: {index: i, fields: {exclude: [PK]}}}
`
	explain := func(allow map[string]string, hashID bool) map[string]error {
		cfg := sensitive(t, file, "PK", allow)
		cfg.Sinks[1].Search.HashID = hashID
		p, err := sinks.Assemble(t.Context(), cfg, sinks.PlanOnly())
		if err != nil {
			t.Fatal(err)
		}
		errs := make(map[string]error)
		for _, r := range p.Explain(insert(t, "canary", `"Total":{"N":"5"}`)).Routes {
			errs[r.Name] = r.Err
		}
		return errs
	}
	errs := explain(nil, false)
	for name, want := range map[string]string{
		"rows":  "tablewake.yaml:5: sinks.rows: the key attribute PK is sensitive, and its rows, or what is remembered of them, hold the keys of items: name it in allow_sensitive",
		"index": "tablewake.yaml:6: sinks.index: the key attribute PK is sensitive, and the ids of its documents hold the keys of items: name it in allow_sensitive, or write id: hmac",
	} {
		if err := errs[name]; !pipeline.IsFatal(err) || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, want a fatal error: %s", name, err, want)
		}
	}
	for name, err := range explain(map[string]string{"rows": "PK", "index": "PK"}, false) {
		if err != nil {
			t.Errorf("%s is allowed the key: %v", name, err)
		}
	}
	if err := explain(nil, true)["index"]; err != nil {
		t.Errorf("with hashed ids: %v", err)
	}
	p, err := sinks.Assemble(t.Context(), sensitive(t, file, "PK", nil), sinks.PlanOnly())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), source(insert(t, "canary", `"Total":{"N":"5"}`)), nil); !pipeline.IsFatal(err) {
		t.Errorf("a run ends with %v, want a fatal error", err)
	}
}

func TestMaskOfFile(t *testing.T) {
	cfg := sensitive(t, "sinks: {s: {custom: {name: nosy}}}\n", "Email", nil)
	cfg.HMACKey = ""
	nosyWith := sinks.With("nosy", func(context.Context, struct{}) (pipeline.Sink, error) { return &nosy{}, nil })
	if _, err := sinks.Assemble(t.Context(), cfg, sinks.PlanOnly(), nosyWith); err == nil || !strings.Contains(err.Error(), "hmac_key") {
		t.Errorf("without a key: %v", err)
	}
	cfg.HMACKey = "k"
	if _, err := sinks.Assemble(t.Context(), cfg, discard{}, nosyWith, sinks.MaskAll()); err == nil || !strings.Contains(err.Error(), "PlanOnly") {
		t.Errorf("MaskAll over stores: %v", err)
	}
}

// If a line of an export cannot be decoded and undecodable is block, the pipeline stops. The error contains no names
// from inside a sensitive map.
func TestUndecodable_SensitiveLine(t *testing.T) {
	cfg := sensitive(t, "dead_letters: {dir: d, undecodable: block}\nsinks: {s: {custom: {name: nosy}}}\n", "Emails", nil)
	p, err := sinks.Assemble(t.Context(), cfg, discard{}, sinks.With("nosy", func(context.Context, struct{}) (pipeline.Sink, error) { return &nosy{}, nil }))
	if err != nil {
		t.Fatal(err)
	}
	o := record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true}, Keys: []string{"PK"}}
	for line, want := range map[string]string{
		`{"Item":{"PK":{"S":"O1"},"Emails":{"M":{"ada@x.org":{"N":"ten"}}}}}`: "Item.Emails: not a number",
		`{"Item":{"id":{"S":"ada"}}}`:                                         "record 0 of 0, sequence number 0",
	} {
		page := record.NewSnapshotDecoder(o).DecodeLines([]byte(line))
		err := p.Run(t.Context(), source(page.Errors[0]), nil)
		if !pipeline.IsFatal(err) || strings.Contains(err.Error(), "ada") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
