package busy

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/audit/run"
	"github.com/tablewake/tablewake/test/e2e/shop"
)

var (
	busyFor   = flag.Duration("busy-for", 30*time.Second, "how long the table is written and audited")
	busyRate  = flag.Int("busy-rate", 60, "writes a second")
	busyLag   = flag.Duration("busy-lag", 6*time.Second, "how far the consumer is behind at most, about")
	busyItems = flag.Int("busy-items", 2000, "items that are written all the time; half as many more are not")
	busyLog   = flag.Bool("busy-log", false, "show what the consumer and the audits log")
)

// The full size of this test takes half an hour:
//
//	go test ./test/e2e/audit/busy -run TestBusy$ -v -timeout 1h -busy-for 30m -busy-rate 500 -busy-lag 20s -busy-items 20000

// Audits of a table that is written all the time, behind a consumer that lags, report no difference but the changes that
// the stream lost. What stood still is judged by each of them.
func TestBusy(t *testing.T) {
	t.Parallel()
	w := begin(t)
	stop := w.load(t, *busyRate, *busyLag)
	began := time.Now()
	lost := w.lose()
	found := w.audit(t, "with lost changes", w.scanned, w.wait)
	found.onlyLost(t, lost)
	for pk := range lost {
		check(t, w.shop.Put(pk))
	}
	kinds := []struct {
		name string
		of   func(t *testing.T, o *run.Options)
	}{{"everything", w.scanned}, {"by export", w.exported}, {"a sample", w.sampled}}
	audits := 0
	for ; audits < len(kinds) || time.Since(began) < *busyFor; audits++ {
		kind := kinds[audits%len(kinds)]
		w.audit(t, kind.name, kind.of, w.wait).none(t)
	}
	lasted := time.Since(began)
	writes := stop()
	w.passed(t, time.Now())
	still := w.audit(t, "at rest", w.scanned, w.wait)
	if still.Differing > 0 || !still.Complete() {
		t.Errorf("at rest: %d differ, %d open: %v", still.Differing, still.Open, still.findings)
	}
	t.Logf("%d audits beside %d writes in %v, %.0f a second; the consumer was up to %v behind",
		audits+1, writes, lasted.Round(time.Second), float64(writes)/lasted.Seconds(), w.lag.most().Round(100*time.Millisecond))
	if w.lag.most() < *busyLag/2 {
		t.Errorf("the consumer was at most %v behind, which is less than half of -busy-lag", w.lag.most())
	}
	w.stop()
}

// Without the wait for the consumers audits call late changes differences.
func TestBusy_NeedsTheWait(t *testing.T) {
	t.Parallel()
	w := begin(t)
	stop := w.load(t, *busyRate, *busyLag)
	wrong := 0
	for end := time.Now().Add(*busyFor); wrong == 0 && time.Now().Before(end); {
		found := w.audit(t, "without the wait", w.scanned, func(context.Context, time.Time) error { return nil })
		wrong = int(found.Differing)
	}
	if wrong == 0 {
		t.Error("no audit reported a difference: the test of busy tables proves nothing")
	}
	stop()
	w.stop()
}

// begin returns a world whose sinks hold what the table holds.
func begin(t *testing.T) *world {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	if *busyLog {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	w := newWorld(t, *busyItems, *busyItems/2, log)
	w.stop = w.consume(t)
	w.fill(t)
	return w
}

// lose has the stream lose changes of quiet items: an update, a delete and an insert. It returns their items, and whether
// each sink must show it: another item may rightly have the row of an address that the deleted one left.
func (w *world) lose() map[string]bool {
	updated, deleted, inserted := shop.PK(firstQuiet), shop.PK(firstQuiet+1), shop.PK(firstQuiet+w.quiet)
	w.shop.Lose(updated, false)
	w.shop.Lose(deleted, true)
	w.shop.Lose(inserted, false)
	return map[string]bool{updated: true, deleted: false, inserted: true}
}

// audited is what an audit found.
type audited struct {
	*run.Summary
	name     string
	findings []finding
}

type finding struct {
	sink string
	audit.Finding
}

func (f finding) String() string {
	return fmt.Sprintf("%s: %s is %s: found %s, differs %v, %s", f.sink, f.Where, f.Verdict, f.Found, f.Differs, f.Why)
}

// audit makes an audit and reads its report.
func (w *world) audit(t *testing.T, name string, of func(t *testing.T, o *run.Options), wait func(context.Context, time.Time) error) *audited {
	t.Helper()
	opened, err := audit.Open(t.Context(), w.cfg, w.stores, audit.Options{})
	check(t, err)
	o := run.Options{
		Header: run.Header{Pipeline: w.cfg.Name, Source: "the table"}, Report: filepath.Join(t.TempDir(), "report.jsonl"),
		Sinks: opened, Lookup: run.NewTableLookup(w.client, "shop", w.decoder(), run.NewBudget(0)), Wait: wait,
	}
	of(t, &o)
	began := time.Now()
	a := &audited{name: name}
	a.Summary, err = run.Audit(t.Context(), o)
	check(t, err)
	_, _, err = run.ReadReport(o.Report, func(sink string, f *audit.Finding) error {
		a.findings = append(a.findings, finding{sink, *f})
		return nil
	})
	check(t, err)
	counts := make(map[audit.Verdict]int)
	for _, f := range a.findings {
		counts[f.Verdict]++
	}
	t.Logf("%s: %d items in %v: %v", name, a.Items, time.Since(began).Round(time.Second), counts)
	return a
}

func (w *world) wait(ctx context.Context, at time.Time) error {
	return leases.WaitPassed(ctx, w.leases.Read, at, time.Second, func(string) {})
}

// scanned has everything audited.
func (w *world) scanned(t *testing.T, o *run.Options) {
	t.Helper()
	o.Items = w.scan(t)
}

func (w *world) scan(t *testing.T) snapshot.Snapshot {
	t.Helper()
	const segments = 16
	s, err := scan.New(t.Context(), scan.Options{Client: w.client, Table: "shop", Segments: segments, Time: time.Now().UTC().Truncate(time.Second), Decoder: w.decoder()})
	check(t, err)
	return s
}

// sampled has a quarter of the segments audited.
func (w *world) sampled(t *testing.T, o *run.Options) {
	t.Helper()
	o.Items = w.scan(t)
	o.Sample = &run.Sample{Of: len(o.Items.Parts())}
	o.Sample.Segments = slices.Sorted(slices.Values(rand.Perm(o.Sample.Of)[:o.Sample.Of/4]))
	o.Header.Sample = o.Sample
}

// exported has everything audited, by an export, which is of a moment before.
func (w *world) exported(t *testing.T, o *run.Options) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "export")
	table, _, _ := strings.Cut(w.stream.ARN(), "/stream/")
	check(t, w.shop.Export(dir, table))
	e, err := export.Open(t.Context(), export.Options{Layers: []string{dir}, Decoder: w.decoder()})
	check(t, err)
	o.Items = e
}

// none checks that no difference was found, and that all that stood still was judged.
func (a *audited) none(t *testing.T) {
	t.Helper()
	a.onlyLost(t, nil)
}

// onlyLost checks that the differences are those of items whose changes were lost, in each sink that has a place for the
// item, and that all that stood still was judged.
func (a *audited) onlyLost(t *testing.T, lost map[string]bool) {
	t.Helper()
	busy, compared := 0, int64(0)
	seen := make(map[string]map[string]bool) // by sink and PK
	for _, s := range a.Sinks {
		compared += s.Compared
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
		case f.Kind != audit.Group: // groups of the items that are written change all the time
			busy++
		}
	}
	for sink, pks := range seen {
		for pk, everywhere := range lost {
			if !pks[pk] && (everywhere || sink != "by_email") {
				t.Errorf("%s: %s: the lost change of %s was not found", a.name, sink, pk)
			}
		}
	}
	if int64(busy)*100 > compared {
		t.Errorf("%s: %d of %d places were busy, which is more than one of 100", a.name, busy, compared)
	}
}
