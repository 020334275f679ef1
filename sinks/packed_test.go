package sinks_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
)

// heldObjects is an archive store that measures the largest memory in use, at each Put and at each call of look.
type heldObjects struct {
	objectNames
	bodies int64
	peak   atomic.Uint64
}

func (h *heldObjects) Archive(context.Context, *config.Config, config.Sink) (archive.Store, error) {
	return h, nil
}

func (h *heldObjects) Put(ctx context.Context, o archive.Object) error {
	h.look()
	h.bodies += int64(len(o.Body))
	return h.objectNames.Put(ctx, o)
}

// look measures the memory in use. What others allocate during a collection counts as in use, even if it is garbage by
// then. So look collects again until that is little.
func (h *heldObjects) look() {
	var m runtime.MemStats
	for range 10 {
		runtime.ReadMemStats(&m)
		before := m.TotalAlloc
		runtime.GC()
		runtime.ReadMemStats(&m)
		if m.TotalAlloc-before < 1<<20 {
			break
		}
	}
	if m.HeapAlloc > h.peak.Load() {
		h.peak.Store(m.HeapAlloc)
	}
}

// A pipeline that holds at most 32 MiB of pages can write objects of 64 MB of records. It uses at most twice this bound
// of memory.
func TestObjectsLargerThanTheBounds(t *testing.T) {
	cfg, err := config.Parse("tablewake.yaml", []byte(`
version: 1
name: shop
source: {table: shop}
sinks:
  history:
    archive: {bucket: history, roll: {bytes: 64MB, age: 1h}}
`), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	stores := &heldObjects{objectNames: objectNames{Stores: sinks.PlanOnly()}}
	p, err := sinks.Assemble(t.Context(), cfg, stores, sinks.Live(), sinks.WithBounds(0, 32<<20, 0))
	if err != nil {
		t.Fatal(err)
	}
	stores.look()
	before := stores.peak.Load()
	const pages = 192 // of one megabyte each
	src, n := megabytes(pages), 0
	err = p.Run(t.Context(), pipeline.SourceFunc(func(ctx context.Context) (*pipeline.Page, error) {
		page, err := src.Read(ctx)
		if n++; n%10 == 0 {
			stores.look()
		}
		return page, err
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if l := p.Ledger(); l.Sinks["history"].Written != pages*250 {
		t.Errorf("ledger %+v", l)
	}
	if len(stores.put) < 3 || len(stores.put) > 4 {
		t.Errorf("%d objects of %d MB", len(stores.put), pages)
	}
	if used := stores.peak.Load() - before; used > 64<<20 { // twice the bound: pages and compressed changes
		t.Errorf("%d MiB are in use", used>>20)
	}
	t.Logf("%d objects of %d KiB; %d MiB in use", len(stores.put), stores.bodies>>10, (stores.peak.Load()-before)>>20)
}
