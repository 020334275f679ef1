package file

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// lines are the leases as the file has them, a line each. Few of many change between two
// writes: only those are made anew, and the others are copied as they are.
type lines struct {
	shards  []string          // sorted
	json    map[string][]byte // by shard
	touched map[string]bool   // shards whose lines may be out of date
}

func newLines() lines {
	return lines{json: make(map[string][]byte), touched: make(map[string]bool)}
}

// touch notes that the lease of a shard may change.
func (l *lines) touch(shard string) { l.touched[shard] = true }

// stale are the shards whose leases renew is to be given.
func (l *lines) stale() []string { return slices.Collect(maps.Keys(l.touched)) }

// renew makes the lines of the shards that are stale: of them these have leases, and the
// others have none.
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
