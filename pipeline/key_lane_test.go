package pipeline

import (
	"context"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
)

// TestLane_WhatWaitsIsNotCopied checks that a change that waits behind another of its key costs no more memory than its
// place in its page.
func TestLane_WhatWaitsIsNotCopied(t *testing.T) {
	const pages, size = 200, 100
	counts := map[string]int{}
	page := pageOf(counts, "p", 1, slices.Repeat([]string{"a"}, size)...)
	first := pageOf(counts, "p", 0, "a")
	inWrite, goOn := make(chan struct{}), make(chan struct{})
	var written int
	sink := SinkFunc(func(_ context.Context, ds []Delivery) error {
		if written == 0 {
			close(inWrite)
			<-goOn
		}
		written += len(ds)
		return nil
	})
	p, err := New(Options{Name: "bench", Routes: []Route{{Name: "s", Sink: sink, Concurrency: 2}}, MaxChanges: 2 * pages * size})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	n := 0
	err = p.Run(t.Context(), SourceFunc(func(context.Context) (*Page, error) {
		n++
		switch {
		case n == 1:
			return first, nil
		case n == 2:
			<-inWrite
			runtime.ReadMemStats(&before)
		case n > pages:
			for waiting(p, "s") < (pages-2)*size {
				runtime.Gosched()
			}
			runtime.ReadMemStats(&after)
			close(goOn)
			return nil, io.EOF
		}
		again := *page
		return &again, nil
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if each := (after.TotalAlloc - before.TotalAlloc) / (pages * size); each > 300 {
		t.Errorf("a change that waits took %d bytes, and its item has 144", each)
	}
}

// waiting returns how many changes of a sink wait in lanes.
func waiting(p *Pipeline, sink string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.run.schedulers {
		if s.route.Name != sink {
			continue
		}
		for l := range s.lanes.all() {
			for range l.queue.all() {
				n++
			}
		}
	}
	return n
}

// TestLaneSet compares a set of lanes, most of whose hashes collide, with a map.
func TestLaneSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set laneSet
		want := map[item.Key]*lane{}
		for range rapid.IntRange(0, 400).Draw(t, "steps") {
			n := rapid.IntRange(0, 150).Draw(t, "key")
			key, hash := item.Key(strconv.Itoa(n)), uint64(n%40)
			l := set.find(hash, key)
			if l != want[key] {
				t.Fatalf("the lane of %s is %p, want %p", key, l, want[key])
			}
			if l == nil {
				l = &lane{key: key, hash: hash}
				want[key] = l
				set.add(l)
			} else {
				delete(want, key)
				set.remove(l)
			}
			all := slices.Collect(set.all())
			if len(all) != len(want) {
				t.Fatalf("it has %d lanes, want %d", len(all), len(want))
			}
			for _, l := range all {
				if want[l.key] != l {
					t.Fatalf("it has a lane of %s that was dropped; it should have those of %v", l.key, slices.Sorted(maps.Keys(want)))
				}
			}
			if set.count != len(want) || set.count > len(set.chains) {
				t.Fatalf("it counts %d lanes in %d chains, want %d", set.count, len(set.chains), len(want))
			}
		}
	})
}
