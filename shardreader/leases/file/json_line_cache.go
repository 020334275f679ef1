package file

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// lineCache caches the JSON line of each lease. Few leases change between two writes, and only their lines are encoded
// again.
type lineCache struct {
	shards   []string          // sorted
	json     map[string][]byte // line by shard
	outdated map[string]bool   // shards whose lines may be outdated
}

func newLines() lineCache {
	return lineCache{json: make(map[string][]byte), outdated: make(map[string]bool)}
}

// markOutdated marks the line of a shard as outdated. Call it before the lease is changed.
func (l *lineCache) markOutdated(shard string) { l.outdated[shard] = true }

// outdatedShards returns the shards with outdated lines.
func (l *lineCache) outdatedShards() []string { return slices.Collect(maps.Keys(l.outdated)) }

// encodeOutdated encodes the outdated lines. current has the leases of the outdated shards. An outdated shard that is
// not in current has no lease any more, and loses its line.
func (l *lineCache) encodeOutdated(current []leases.Lease) error {
	for _, lease := range current {
		line, err := json.Marshal(leaseRow{lease.Shard, lease.Checkpoint.String(), lease.Checkpoint.Sub, lease})
		if err != nil {
			return err
		}
		if _, known := l.json[lease.Shard]; !known {
			i, _ := slices.BinarySearch(l.shards, lease.Shard)
			l.shards = slices.Insert(l.shards, i, lease.Shard)
		}
		l.json[lease.Shard] = line
		delete(l.outdated, lease.Shard)
	}
	for shard := range l.outdated { // these shards have no lease
		if _, known := l.json[shard]; known {
			i, _ := slices.BinarySearch(l.shards, shard)
			l.shards = slices.Delete(l.shards, i, i+1)
			delete(l.json, shard)
		}
	}
	clear(l.outdated)
	return nil
}
