package consume

import (
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/shop"
)

// A backfill takes five times as long as the stream retains records. The stream also keeps the records that the
// consumer has not passed yet, however slow the machine is, because this test is not about records that the consumer
// loses. Records from before the floor are delivered again during the backfill and after it, like redriven dead
// letters. They change nothing, although the new sinks never saw the later changes of the same items.
func TestBackfill_OutlivesStream(t *testing.T) {
	const retention = 10 * time.Second
	s := startStream(t, "-table", "shop", "-shards", "4")
	w := newWorld(t, "shop", s.endpoint, "")
	w.only(t, "orders")
	task := w.start(t, "task-1", w.dynamo)
	task.reads(t)
	source := newSource(t, s)
	source.fill(t, 300)
	late := filepath.Join(t.TempDir(), "late.jsonl")
	if code, out := w.runAlone(t, "record", "-c", w.config, "--out", late); code != 0 {
		t.Fatalf("record ends with %d:\n%s", code, out)
	}
	for i := range 150 { // the changes after the recorded ones are made before the floor, too
		if pk := shop.PK(2 * i); i%2 == 0 {
			source.must(t, source.Remove(pk, i%4 == 0))
		} else {
			source.must(t, source.Put(pk))
		}
	}
	for i := 300; i < 1200; i++ {
		source.must(t, source.Put(shop.PK(i)))
	}
	task.stop(t)
	w.only(t, "orders", "by_status", "per_customer")
	task = w.start(t, "task-1", w.dynamo)
	task.says(t, "it waits, and writes nothing until it is filled")
	task.reads(t)

	source.write(t, 1200, 20)
	time.Sleep(time.Until(w.prepare(t).Add(time.Second)))
	items, shown := source.list(t)
	fill := w.command(t, "fill", w.dynamo, backfillArgs("--items", items, "--shown-at", shown.UTC().Format(time.RFC3339), "--parts", "1")...)
	began := w.trim(t, s, 0)
	// The backfill reads a little and stands still.
	for end, round := time.Now().Add(5*retention), 0; time.Now().Before(end); round++ {
		if round < 5 {
			fill.signal(t, syscall.SIGCONT)
			time.Sleep(40 * time.Millisecond)
			fill.signal(t, syscall.SIGSTOP)
		}
		time.Sleep(time.Second)
		w.trim(t, s, retention)
	}
	w.replaysLate(t, late)
	fill.signal(t, syscall.SIGCONT)
	if read := fill.fills(t); read == 0 {
		t.Error("the backfill read nothing")
	}
	if trimmed := w.trim(t, s, retention) - began; trimmed < 300 {
		t.Errorf("the stream lost %d records meanwhile: the backfill does not outlive it", trimmed)
	}
	w.replaysLate(t, late)
	source.stop()
	w.converge(t, func() []item { return s.items(t) })
	w.healthy(t)
	task.stop(t)
}

// replaysLate delivers records from before the floor once more. They must have no effect on the sinks that were added
// later.
func (w *world) replaysLate(t *testing.T, path string) {
	t.Helper()
	code, out := w.run(t, "replay", "-o", "json", path)
	if code != 0 || !strings.Contains(out, "before_floor") {
		t.Fatalf("replay of what was made before the floor ends with %d:\n%s", code, out)
	}
}

// trim removes the records that are older than the retention and that the consumer has passed. It returns how many
// records the stream has lost so far.
func (w *world) trim(t *testing.T, s *stream, retention time.Duration) int {
	t.Helper()
	before := time.Now().Add(-retention)
	for _, l := range w.leases(t) {
		if l.LastRecord == nil {
			before = time.Time{}
		} else if l.LastRecord.Before(before) {
			before = *l.LastRecord
		}
	}
	if !before.IsZero() {
		s.do(t, http.MethodPost, "/admin/trim", map[string]any{"before": before}, nil)
	}
	return s.trimmed(t)
}

// trimmed returns how many records the stream has removed.
func (s *stream) trimmed(t *testing.T) (n int) {
	t.Helper()
	var shards []struct{ Trimmed int }
	s.do(t, http.MethodGet, "/admin/shards", nil, &shards)
	for _, sh := range shards {
		n += sh.Trimmed
	}
	return n
}
