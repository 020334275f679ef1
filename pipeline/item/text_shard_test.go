package item_test

import (
	"hash/fnv"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Stored keys contain the shard of a text, so the shard must never change.
func TestShard(t *testing.T) {
	for text, want := range map[string]int{"": 7, "a": 6, "USER%23001,ORDER%23000001": 4, "+17": 2} {
		if got := item.Shard(text, 10); got != want {
			t.Errorf("%q is in shard %d, want %d", text, got, want)
		}
		h := fnv.New64a()
		h.Write([]byte(text))
		for _, shards := range []int{1, 2, 7, 256} {
			if got, want := item.Shard(text, shards), int(h.Sum64()%uint64(shards)); got != want {
				t.Errorf("%q is in shard %d of %d, want %d", text, got, shards, want)
			}
		}
	}
}
