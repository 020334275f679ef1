package servers

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// The shop on servers is the shop embedded: row by row, document by document, record by
// record of the archive. Passes that come again, from anywhere, change nothing.
func TestTheShopOnServersIsTheShopEmbedded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, running(t))
	cfg, records := w.shop(t, w.to), begun(t, 1966)
	want := embedded(t, cfg, w.names, records)
	l := pass(t, w.worker(t, cfg, w.to), records)
	same(t, w.read(t, cfg), want)
	for name, s := range l.Sinks {
		if s.DeadLettered+s.Quarantined > 0 || s.Routed > 0 && s.Written == 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}

	told := want[events]
	want[events] = nil
	from := rand.IntN(len(records))
	pass(t, w.worker(t, cfg, w.to), records[from:])
	got := w.read(t, cfg)
	for id, event := range got[events] {
		if told[id] != event {
			t.Errorf("what is told again is told otherwise: %s", event)
		}
	}
	got[events] = nil // they were taken
	same(t, got, want)
	if t.Failed() {
		t.Logf("the second pass began at record %d", from+1)
	}
}

// Two workers have the same records, and one lags behind: it writes what the other has
// long overwritten. A third begins anywhere.
func TestALaggingSecondWriterChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, running(t))
	cfg, records := w.shop(t, w.to), begun(t, 400)
	want := embedded(t, cfg, w.names, records)
	ahead, behind := w.worker(t, cfg, w.to), w.worker(t, cfg, w.to)
	pass(t, ahead, records[:60])
	var both sync.WaitGroup
	both.Go(func() { pass(t, ahead, records[60:]) })
	both.Go(func() { pass(t, behind, records) })
	both.Wait()
	from := rand.IntN(len(records))
	pass(t, w.worker(t, cfg, w.to), records[from:])
	same(t, w.read(t, cfg), want)
	if t.Failed() {
		t.Logf("the third began at record %d", from+1)
	}
}
