package file

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// lines caches the JSON line of each lease. Few leases change between two writes, and only their lines are encoded
// again.
type lines struct {
	shards  []string          // sorted
	json    map[string][]byte // line by shard
	touched map[string]bool   // shards whose lines may be outdated
}

func newLines() lines {
	return lines{json: make(map[string][]byte), touched: make(map[string]bool)}
}

// touch marks the line of a shard as outdated. Call it before the lease is changed.
func (l *lines) touch(shard string) { l.touched[shard] = true }

// stale returns the shards with outdated lines.
func (l *lines) stale() []string { return slices.Collect(maps.Keys(l.touched)) }

// renew encodes the outdated lines from current, the present leases of the outdated shards. If an outdated shard is not
// in current, its lease was removed, and renew removes its line.
func (l *lines) renew(now []leases.Lease) error {
	for _, lease := range now {
		line, err := json.Marshal(rowOf(lease))
		if err != nil {
			return err
		}
		if _, known := l.json[lease.Shard]; !known {
			i, _ := slices.BinarySearch(l.shards, lease.Shard)
			l.shards = slices.Insert(l.shards, i, lease.Shard)
		}
		l.json[lease.Shard] = line
		delete(l.touched, lease.Shard)
	}
	for shard := range l.touched {
		if _, known := l.json[shard]; known {
			i, _ := slices.BinarySearch(l.shards, shard)
			l.shards = slices.Delete(l.shards, i, i+1)
			delete(l.json, shard)
		}
	}
	clear(l.touched)
	return nil
}
