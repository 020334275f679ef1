package pipeline

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
)

// TestLaneSet holds a set of lanes, whose hashes collide more often than not, to a map.
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
			if set.n != len(want) || set.n > len(set.chains) {
				t.Fatalf("it counts %d lanes in %d chains, want %d", set.n, len(set.chains), len(want))
			}
		}
	})
}
