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
	testLag    = 2 * time.Second // largest lag of the consumer
	busyItems  = 200             // number of items that are written all the time
	quietItems = 100             // number of items that are not written; some have injected differences
)

// underLoad audits a table that receives a hundred writes a second. The writes have only two values, so many items
// return to their value of before. The consumer is up to testLag behind and keeps the order of each item's changes.
// Each round of the audit waits until its last look is longer ago than wait.
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
			last := make(map[item.Key]time.Time) // time at which the last change of an item arrives
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
		o.WaitForConsumers = func(ctx context.Context, since time.Time) error {
			return pipeline.Sleep(ctx, time.Until(since.Add(wait)))
		}
		if _, err := Audit(ctx, o); err != nil {
			t.Error(err)
		}
		cancel()
	})
	return injected, findings(t, path)
}

// While a table is written all the time and its consumer lags, the audit reports exactly the injected differences.
// Every other finding is busy.
func TestAudit_NoFalseAlarm(t *testing.T) {
	for seed := range uint64(30) {
		injected, found := underLoad(t, seed, testLag+100*time.Millisecond)
		maps.DeleteFunc(found, func(_ string, v audit.Verdict) bool { return v == audit.Busy })
		if !maps.Equal(found, injected) {
			t.Errorf("seed %d: %d differences, want %d: %v", seed, len(found), len(injected), slices.Sorted(maps.Keys(found)))
		}
	}
}

// An audit that does not wait for the consumers reports differences that are none. This proves that
// TestAudit_NoFalseAlarm can fail.
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

// If an item changes between the reads of the item and of its place, and changes back before the next round, the item
// looks the same in both rounds. The place does not change, because the change back has not arrived. The audit must not
// report a difference.
func TestAudit_ItemIsReadAfterItsPlace(t *testing.T) {
	w := newTestWorld(1)
	const k = item.Key("k00000")
	was := w.items[k]
	delete(w.rows, string(k)) // the row is late, so the item is a suspect
	w.onLook = func(w *world) {
		if w.looks == 1 {
			w.put(k, "changed")
		}
	}
	path := filepath.Join(t.TempDir(), "report.jsonl")
	o := w.auditOptions(path)
	waits := 0
	o.WaitForConsumers = func(context.Context, time.Time) error {
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
