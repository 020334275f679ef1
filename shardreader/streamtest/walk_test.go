package streamtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
)

// readShard reads a shard from its oldest record on, up to its end or to an empty page of an open one.
func readShard(ctx context.Context, api shardreader.API, arn, shard string, open bool) (changes []*record.Change, err error) {
	it, err := api.GetShardIterator(ctx, shardreader.ShardPosition{StreamARN: arn, Shard: shard, Type: shardreader.TrimHorizon})
	for empty := 0; err == nil && it != ""; {
		var a record.GetRecordsPage
		if a, err = api.GetRecords(ctx, shardreader.RecordsQuery{Iterator: it, StreamARN: arn, Shard: shard}); err != nil {
			break
		}
		for i := range a.Page.Changes {
			changes = append(changes, &a.Page.Changes[i])
		}
		if empty++; len(a.Page.Changes) > 0 {
			empty = 0
		}
		if it = a.NextIterator; open && empty > 3 {
			break
		}
	}
	return changes, err
}

// replay is what a stream's records make of items, parents before children.
func replay(t testing.TB, api shardreader.API, arn string, items map[string]string) (records int) {
	t.Helper()
	desc, err := shardreader.ListShards(t.Context(), api, arn)
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]string{} // sequence numbers by shard
	newest := map[string]string{}
	done := map[string]bool{}
	listed := map[string]bool{}
	for _, sh := range desc.Shards {
		listed[sh.ID] = true
	}
	for read := true; read; {
		read = false
		for _, sh := range desc.Shards {
			if done[sh.ID] || listed[sh.Parent] && !done[sh.Parent] {
				continue
			}
			done[sh.ID], read = true, true
			changes, err := readShard(t.Context(), api, arn, sh.ID, sh.Open())
			if err != nil {
				t.Fatal(err)
			}
			if record.CompareSequence(sh.First, last[sh.Parent]) <= 0 {
				t.Fatalf("shard %s starts at %s, not behind its parent's %s", sh.ID, sh.First, last[sh.Parent])
			}
			last[sh.ID] = sh.First
			for _, c := range changes {
				apply(t, c, items)
				if record.CompareSequence(c.Sequence, last[sh.ID]) <= 0 || record.CompareSequence(c.Sequence, newest[string(c.Key)]) <= 0 {
					t.Fatalf("record %s of item %s is not behind %s of its shard and %s of its item", c.Sequence, c.Key, last[sh.ID], newest[string(c.Key)])
				}
				last[sh.ID], newest[string(c.Key)] = c.Sequence, c.Sequence
			}
			records += len(changes)
		}
	}
	if len(done) != len(desc.Shards) {
		t.Fatalf("%d of %d shards have parents that are never read", len(desc.Shards)-len(done), len(desc.Shards))
	}
	return records
}

// apply makes a record's new image the item, whose state before must be its old image.
func apply(t testing.TB, c *record.Change, items map[string]string) {
	t.Helper()
	var r struct {
		EventName string
		Dynamodb  struct{ Keys, NewImage, OldImage json.RawMessage }
	}
	if err := json.Unmarshal(c.Raw, &r); err != nil {
		t.Fatal(err)
	}
	key, before, after := string(r.Dynamodb.Keys), string(r.Dynamodb.OldImage), string(r.Dynamodb.NewImage)
	if items[key] != before {
		t.Fatalf("record %s: its old image is not what the record before left", c.Sequence)
	}
	if want := map[[2]bool]string{{false, true}: "INSERT", {true, true}: "MODIFY", {true, false}: "REMOVE"}[[2]bool{before != "", after != ""}]; want != r.EventName {
		t.Fatalf("record %s is %s, want %s", c.Sequence, r.EventName, want)
	}
	if items[key] = after; after == "" {
		delete(items, key)
	}
}

func item(key, n int) string {
	return fmt.Sprintf(`{"N":{"N":"%d"},"PK":{"S":"k%d"},"SK":{"S":"v"}}`, n, key)
}
