package view_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// ledger has the expected totals of lines by product, in the simplest form.
type ledger struct {
	units, lines, best map[string]int
	ranks              map[string]map[string]bool
}

// reckon adds up images of items: the existing items, and the last images of expired items.
func reckon(images []sinktest.Item) map[string]string {
	l := ledger{map[string]int{}, map[string]int{}, map[string]int{}, map[string]map[string]bool{}}
	for _, it := range images {
		list, _ := it["Lines"]["L"].([]sinktest.Attr)
		for _, a := range list {
			line, _ := a["M"].(sinktest.Item)
			sku := line.Text("sku")
			if sku == "" || it.Text("Type") == "" {
				continue
			}
			key := "PRODUCT%23" + sku + "," + it.Text("Type")
			l.lines[key]++
			if l.ranks[key] == nil {
				l.ranks[key] = map[string]bool{}
				l.best[key] = -1
			}
			l.ranks[key][it.Text("PK")] = true
			if qty, err := strconv.Atoi(line.Number("qty")); err == nil {
				l.units[key] += qty
				l.best[key] = max(l.best[key], qty)
			}
		}
	}
	rows := make(map[string]string)
	for key, n := range l.lines {
		text := fmt.Sprintf("buyers=%d lines=%d units=%d", len(l.ranks[key]), n, l.units[key])
		if l.best[key] >= 0 {
			text = fmt.Sprintf("best=%d ", l.best[key]) + text
		}
		rows[key] = text
	}
	return rows
}

// Only existing and expired items count. Expired items count permanently, also after replays and while a second worker
// lags.
func TestAggregateKeep_IsWhatExpiredAndWhatExists(t *testing.T) {
	streams := sinktest.Streams(sinktest.StreamOptions{Snapshots: true})
	rapid.Check(t, func(rt *rapid.T) {
		stream := streams.Draw(rt, "stream")
		images := stream.Items()
		for _, r := range stream.Records {
			if r.TTL {
				images = append(images, r.Old)
			}
		}
		want := reckon(images)
		store := newGroupMemory()
		o := sold(t, store)
		o.KeepOnTTL = true
		alive, lagging := newAggregate(t, o), newAggregate(t, o)
		behind := 0 // number of changes that lagging has written again
		for at := 0; at < len(stream.Changes); {
			n := min(rapid.IntRange(1, 6).Draw(rt, "batch"), len(stream.Changes)-at)
			contribute(t, alive, stream.Changes[at:at+n]...)
			at += n
			if rapid.Bool().Draw(rt, "zombie") {
				to := rapid.IntRange(behind, at).Draw(rt, "to")
				contribute(t, lagging, stream.Changes[behind:to]...)
				behind = to
			}
		}
		if got := store.show(); !maps.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
		from := rapid.IntRange(0, len(stream.Changes)).Draw(rt, "from")
		contribute(t, newAggregate(t, o), stream.Changes[from:]...)
		if got := store.show(); !maps.Equal(got, want) {
			rt.Fatalf("after a replay: got %v, want %v", got, want)
		}
	})
}

// Two workers that write the same stream at the same time count each item once.
func TestAggregateKeep_TwoWorkersAtOnce(t *testing.T) {
	for seed := range 20 {
		stream := sinktest.Streams(sinktest.StreamOptions{}).Example(seed)
		images := stream.Items()
		for _, r := range stream.Records {
			if r.TTL {
				images = append(images, r.Old)
			}
		}
		store := newGroupMemory()
		o := sold(t, store)
		o.KeepOnTTL = true
		done := make(chan error, 2)
		for n := range 2 {
			go func() {
				a := newAggregate(t, o)
				for cs := range slices.Chunk(stream.Changes, 1+n) {
					ds := make([]pipeline.Delivery, len(cs))
					for i := range cs {
						ds[i].Change = cs[i]
						if err := a.Plan(&ds[i]); err != nil {
							done <- err
							return
						}
					}
					if err := a.Write(t.Context(), ds); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if got, want := store.show(), reckon(images); !maps.Equal(got, want) {
			t.Fatalf("seed %d: got %v, want %v", seed, got, want)
		}
	}
}
