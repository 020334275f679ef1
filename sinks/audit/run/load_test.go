package run

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/audit"
)

const (
	testLag    = 2 * time.Second // of the consumer at most
	busyItems  = 200             // that are written all the time
	quietItems = 100             // that have the injected differences
)

// underLoad audits a table that is written a hundred times a second, to few values, so that many items go back to the value
// of before. Its consumer is up to testLag behind, in the order of each item's changes. wait is how long each round waits.
func underLoad(t *testing.T, seed uint64, wait time.Duration) (injected, found map[string]audit.Verdict) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.jsonl")
	r := rand.New(rand.NewPCG(seed, 5))
	w := newTestWorld(busyItems + quietItems)
	w.pause = 3 * time.Millisecond
	injected = make(map[string]audit.Verdict)
	for i := range quietItems / 4 {
		k := fmt.Sprintf("k%05d", busyItems+4*i)
		if i%2 == 0 {
			delete(w.rows, k)
			injected[k] = audit.Missing
		} else {
			w.rows[k] = storedRow{item.Key(k), "drifted", 1}
			injected[k] = audit.Wrong
		}
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			last := make(map[item.Key]time.Time) // when the last change of an item arrives
			for pipeline.Sleep(ctx, 10*time.Millisecond) == nil {
				k := item.Key(fmt.Sprintf("k%05d", r.IntN(busyItems)))
				value := fmt.Sprintf("v%d", r.IntN(2))
				w.mu.Lock()
				w.items[k] = value
				w.mu.Unlock()
				arrives := time.Now().Add(rand.N(testLag))
				if !arrives.After(last[k]) {
					arrives = last[k].Add(time.Millisecond)
				}
				last[k] = arrives
				go func() {
					if pipeline.Sleep(ctx, time.Until(arrives)) != nil {
						return
					}
					w.mu.Lock()
					defer w.mu.Unlock()
					w.version++
					w.rows[string(k)] = storedRow{k, value, w.version}
				}()
			}
		}()
		o := w.auditOptions(path)
		o.Wait = func(ctx context.Context, since time.Time) error {
			return pipeline.Sleep(ctx, time.Until(since.Add(wait)))
		}
		if _, err := Audit(ctx, o); err != nil {
			t.Error(err)
		}
		cancel()
	})
	return injected, findings(t, path)
}

// A table that is written all the time, behind a consumer that lags: what the injected differences are is found, and nothing
// else is called a difference.
func TestAudit_NoFalseAlarm(t *testing.T) {
	for seed := range uint64(30) {
		injected, found := underLoad(t, seed, testLag+100*time.Millisecond)
		maps.DeleteFunc(found, func(_ string, v audit.Verdict) bool { return v == audit.Busy })
		if !maps.Equal(found, injected) {
			t.Errorf("seed %d: %d differences, want %d: %v", seed, len(found), len(injected), slices.Sorted(maps.Keys(found)))
		}
	}
}

// Without the wait for the consumers the same test raises false alarms.
func TestAudit_TheWaitIsNeeded(t *testing.T) {
	alarms := 0
	for seed := range uint64(10) {
		injected, found := underLoad(t, seed, 0)
		for place, v := range found {
			if v.Differs() && injected[place] == "" {
				alarms++
			}
		}
	}
	if alarms == 0 {
		t.Error("no false alarm in ten audits that do not wait: the test of false alarms proves nothing")
	}
}

// An item that changes between the reads of itself and of its place, and back before the next round, looks the same in
// both rounds, beside a place that stood still. That is not a difference: the change back is in flight.
func TestAudit_ItemIsReadAfterItsPlace(t *testing.T) {
	w := newTestWorld(1)
	const k = item.Key("k00000")
	was := w.items[k]
	delete(w.rows, string(k)) // the row is a moment late, so that the item is suspect
	w.onLook = func(w *world) {
		if w.looks == 1 {
			w.put(k, "changed")
		}
	}
	path := filepath.Join(t.TempDir(), "report.jsonl")
	o := w.auditOptions(path)
	waits := 0
	o.Wait = func(context.Context, time.Time) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if waits++; waits == 1 {
			w.items[k] = was
		} else {
			w.put(k, was)
		}
		return nil
	}
	if _, err := Audit(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if found := findings(t, path); len(found) > 0 || waits != 2 {
		t.Errorf("found %v after %d waits", found, waits)
	}
}
