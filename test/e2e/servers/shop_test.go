package servers

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/test/e2e/world"
)

// The shop on servers equals the shop in embedded stores: all rows, all documents, and all records of the archive. A
// repeated pass from any record changes nothing.
func TestTheShopOnServersIsTheShopEmbedded(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Running(t))
	cfg, records := w.Shop(t, w.To), world.Begun(t, 1966)
	want := world.Embedded(t, cfg, w.Names, records)
	l := world.Pass(t, w.Worker(t, cfg, w.To), records)
	world.Same(t, w.Read(t, cfg), want)
	for name, s := range l.Sinks {
		if s.DeadLettered+s.Quarantined > 0 || s.Routed > 0 && s.Written == 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}

	told := want[world.Events]
	want[world.Events] = nil
	from := rand.IntN(len(records))
	world.Pass(t, w.Worker(t, cfg, w.To), records[from:])
	got := w.Read(t, cfg)
	for id, event := range got[world.Events] {
		if told[id] != event {
			t.Errorf("what is told again is told otherwise: %s", event)
		}
	}
	got[world.Events] = nil // the first Read took the events
	world.Same(t, got, want)
	if t.Failed() {
		t.Logf("the second pass began at record %d", from+1)
	}
}

// Two workers write the same records, and one of them lags behind. It writes changes that the other worker has long
// overwritten. A third worker begins at any record. The result is that of a clean pass.
func TestALaggingSecondWriterChangesNothing(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Running(t))
	cfg, records := w.Shop(t, w.To), world.Begun(t, 400)
	want := world.Embedded(t, cfg, w.Names, records)
	ahead, behind := w.Worker(t, cfg, w.To), w.Worker(t, cfg, w.To)
	world.Pass(t, ahead, records[:60])
	var both sync.WaitGroup
	both.Go(func() { world.Pass(t, ahead, records[60:]) })
	both.Go(func() { world.Pass(t, behind, records) })
	both.Wait()
	from := rand.IntN(len(records))
	world.Pass(t, w.Worker(t, cfg, w.To), records[from:])
	world.Same(t, w.Read(t, cfg), want)
	if t.Failed() {
		t.Logf("the third began at record %d", from+1)
	}
}
