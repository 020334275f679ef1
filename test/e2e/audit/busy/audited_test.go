package busy

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
	"github.com/tablewake/tablewake/test/e2e/shop"
)

// audited is the result of an audit.
type audited struct {
	*run.Summary
	name     string
	sample   *run.Sample // nil: the audit looks at everything
	findings []finding
}

type finding struct {
	sink string
	audit.Finding
}

func (f finding) String() string {
	return fmt.Sprintf("%s: %s is %s: found %s, differs %v, %s", f.sink, f.PlaceText, f.Verdict, f.FoundText, f.Differences, f.Reason)
}

// way is a function that sets the items that an audit looks at.
type way func(t *testing.T, o *run.Options) error

// audit runs an audit in a given way and reads its report.
func (w *world) audit(t *testing.T, name string, of way, wait func(context.Context, time.Time) error) (*audited, error) {
	opened, err := audit.Open(t.Context(), w.cfg, w.stores, audit.Options{})
	if err != nil {
		return nil, err
	}
	o := run.Options{
		Header: run.Header{Pipeline: w.cfg.Name, Source: "the table"}, Report: filepath.Join(t.TempDir(), "report.jsonl"),
		Sinks: opened, Lookup: run.NewTableLookup(w.client, "shop", w.decoder(), run.NewBudget(0)), WaitForConsumers: wait,
		Segments: 1, // embedded stores read everything for each segment
	}
	if err := of(t, &o); err != nil {
		return nil, err
	}
	began := time.Now()
	a := &audited{name: name, sample: o.Sample}
	if a.Summary, err = run.Audit(t.Context(), o); err != nil {
		return nil, err
	}
	counts := make(map[audit.Verdict]int)
	_, _, err = run.ReadReport(o.Report, func(sink string, f *audit.Finding) error {
		a.findings = append(a.findings, finding{sink, *f})
		counts[f.Verdict]++
		return nil
	})
	t.Logf("%s: %d items in %v: %v", name, a.Items, time.Since(began).Round(time.Second), counts)
	return a, err
}

func (w *world) wait(ctx context.Context, at time.Time) error {
	return leases.WaitPassed(ctx, w.leases.Read, at, time.Second, func(string) {})
}

// scanned makes an audit look at all items by a scan.
func (w *world) scanned(t *testing.T, o *run.Options) (err error) {
	const segments = 16
	o.Items, err = scan.New(t.Context(), scan.Options{
		Client: w.client, Table: "shop", Segments: segments, Time: time.Now().UTC().Truncate(time.Second), Decoder: w.decoder(),
	})
	return err
}

// sampled makes an audit look at a quarter of the segments.
func (w *world) sampled(t *testing.T, o *run.Options) error {
	if err := w.scanned(t, o); err != nil {
		return err
	}
	of := len(o.Items.Parts())
	o.Sample = run.NewSample(of/4, of)
	o.Header.Sample = o.Sample
	return nil
}

// exported makes an audit look at all items by an export of an earlier moment.
func (w *world) exported(t *testing.T, o *run.Options) (err error) {
	dir := filepath.Join(t.TempDir(), "export")
	table, _, _ := strings.Cut(w.stream.ARN(), "/stream/")
	if err := w.shop.Export(dir, table); err != nil {
		return err
	}
	o.Items, err = export.Open(t.Context(), export.Options{Layers: []string{dir}, Decoder: w.decoder()})
	return err
}

// onlyLost checks the findings of an audit. Only items whose changes were lost may differ. Each sink that has a place
// for such an item must show the difference, unless a sample leaves the item out. The audit must have judged everything
// that stood still.
func (a *audited) onlyLost(t *testing.T, lost map[string]bool) {
	t.Helper()
	busy, compared := 0, int64(0)
	seen := make(map[string]map[string]bool) // by sink and PK
	for _, s := range a.Sinks {
		if compared += s.Compared; s.Compared == 0 {
			t.Errorf("%s: nothing of %s was compared", a.name, s.Sink)
		}
		seen[s.Sink] = make(map[string]bool)
	}
	for _, f := range a.findings {
		pk := strings.ReplaceAll(strings.TrimSuffix(string(f.Item), ",order"), "%23", "#")
		_, isLost := lost[pk]
		quiet := pk >= shop.PK(firstQuiet) || f.sink == "quiet_customers"
		switch {
		case f.Verdict.Differs() && isLost:
			seen[f.sink][pk] = true
		case f.Verdict.Differs():
			t.Errorf("%s: %v", a.name, f)
		case quiet:
			t.Errorf("%s: it stood still, and was not judged: %v", a.name, f)
		case f.Verdict != audit.Busy:
			t.Errorf("%s: %v", a.name, f)
		case f.Kind != audit.Group: // groups of items that are written change all the time
			busy++
		}
	}
	for sink, pks := range seen {
		for pk, everywhere := range lost {
			if !pks[pk] && (everywhere || sink != "by_email" && a.sample == nil) && a.has(pk) {
				t.Errorf("%s: %s: the lost change of %s was not found", a.name, sink, pk)
			}
		}
	}
	if int64(busy)*100 > compared {
		t.Errorf("%s: %d of %d places were busy, which is more than one of 100", a.name, busy, compared)
	}
}

// has reports whether an audit looks at an item that exists.
func (a *audited) has(pk string) bool {
	return a.sample == nil || slices.Contains(a.sample.Segments, shop.PartOf(pk, a.sample.Of))
}
