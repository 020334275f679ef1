package busy

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/shop"
)

var (
	busyFor   = flag.Duration("busy-for", 30*time.Second, "how long the table is written and audited")
	busyRate  = flag.Int("busy-rate", 60, "writes a second")
	busyLag   = flag.Duration("busy-lag", 6*time.Second, "how far the consumer is behind at most, about")
	busyItems = flag.Int("busy-items", 2000, "items that are written all the time; half as many more are not")
	busyWays  = flag.String("busy-ways", "scan,export,sample", "ways of audits that run side by side")
	busyLog   = flag.Bool("busy-log", false, "show what the consumer and the audits log")
)

// The full size of this test takes half an hour. .ci/run runs it for three minutes, with scans only.
//
//	go test ./test/e2e/audit/busy -run TestBusy$ -v -timeout 1h \
//		-busy-for 30m -busy-rate 500 -busy-lag 20s -busy-items 20000

// The table is written all the time, and its consumer lags. Audits of every kind run side by side. They report no
// differences but the changes that the stream lost. Each audit judges the items that did not change.
func TestBusy(t *testing.T) {
	t.Parallel()
	w := begin(t)
	stop := w.load(t, *busyRate, *busyLag)
	began := time.Now()
	lost := w.lose()
	audits := w.auditAll(t, "with lost changes", lost)
	for pk := range lost {
		check(t, w.shop.Put(pk))
	}
	for time.Since(began) < *busyFor {
		audits += w.auditAll(t, "busy", nil)
	}
	lasted := time.Since(began)
	writes := stop()
	w.passed(t, time.Now())
	still, err := w.audit(t, "at rest", w.scanned, w.wait)
	check(t, err)
	if still.Differing > 0 || !still.Complete() {
		t.Errorf("at rest: %d differ, %d open: %v", still.Differing, still.Open, still.findings)
	}
	t.Logf("%d audits", audits+1)
	w.wasBusy(t, writes, lasted)
	w.stop()
}

// wasBusy checks that the table was written at least half as often, and the consumer was at least half as far behind,
// as the flags say.
func (w *world) wasBusy(t *testing.T, writes int, lasted time.Duration) {
	t.Helper()
	rate, behind := float64(writes)/lasted.Seconds(), w.lag.most()
	t.Logf("%d writes in %v, %.0f a second; the consumer was up to %v behind", writes, lasted.Round(time.Second), rate, behind.Round(100*time.Millisecond))
	if rate < float64(*busyRate)/2 {
		t.Errorf("the table was written %.0f times a second, which is less than half of -busy-rate", rate)
	}
	if behind < *busyLag/2 {
		t.Errorf("the consumer was at most %v behind, which is less than half of -busy-lag", behind)
	}
}

// auditAll runs one audit in each of the ways at the same time, because an audit mostly waits. It checks that each
// audit finds exactly the lost changes, and returns the number of audits.
func (w *world) auditAll(t *testing.T, name string, lost map[string]bool) (audits int) {
	t.Helper()
	known := map[string]way{"scan": w.scanned, "export": w.exported, "sample": w.sampled}
	ways := strings.Split(*busyWays, ",")
	for _, of := range ways {
		if known[of] == nil {
			t.Fatalf("-busy-ways: there is no way %q", of)
		}
	}
	var all sync.WaitGroup
	for _, of := range ways {
		all.Go(func() {
			found, err := w.audit(t, name+", "+of, known[of], w.wait)
			if err != nil {
				t.Errorf("%s, %s: %v", name, of, err)
				return
			}
			found.onlyLost(t, lost)
		})
	}
	all.Wait()
	return len(ways)
}

// An audit that does not wait for the consumers reports late changes as differences. This shows that the table of
// TestBusy is busy enough.
func TestBusy_NeedsTheWait(t *testing.T) {
	t.Parallel()
	w := begin(t)
	stop := w.load(t, *busyRate, *busyLag)
	wrong := 0
	for end := time.Now().Add(*busyFor); wrong == 0 && time.Now().Before(end); {
		found, err := w.audit(t, "without the wait", w.scanned, func(context.Context, time.Time) error { return nil })
		check(t, err)
		wrong = int(found.Differing)
	}
	if wrong == 0 {
		t.Error("no audit reported a difference: the test of busy tables proves nothing")
	}
	stop()
	w.stop()
}

// begin returns a world whose sinks hold what follows from its table.
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

// lose makes the stream lose an update, a delete and an insert of quiet items. It returns the keys of these items, and
// for each of them whether every sink must show the difference. The deleted item need not be shown, because another
// item may rightly have the row of its e-mail address.
func (w *world) lose() map[string]bool {
	updated, deleted, inserted := shop.PK(firstQuiet), shop.PK(firstQuiet+1), shop.PK(firstQuiet+w.quiet)
	w.shop.Lose(updated, false)
	w.shop.Lose(deleted, true)
	w.shop.Lose(inserted, false)
	return map[string]bool{updated: true, deleted: false, inserted: true}
}
