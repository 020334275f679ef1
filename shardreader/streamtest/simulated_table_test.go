package streamtest_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// Whatever happens to the shards, reading parents before children returns each item's records in the order of its
// writes, and ends with the content of the table.
func TestTable_ReadingBringsWhatItHolds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		server := streamtest.New(streamtest.Options{
			PageRecords: rapid.IntRange(1, 5).Draw(rt, "page"),
			PageBytes:   rapid.SampledFrom([]int{1, 300, 1 << 20}).Draw(rt, "bytes"),
			PageShards:  rapid.IntRange(1, 4).Draw(rt, "shards a page"),
			EmptyPages:  rapid.IntRange(0, 2).Draw(rt, "empty"),
			EmptyEnd:    rapid.Bool().Draw(rt, "empty end"),
			NewestFirst: rapid.Bool().Draw(rt, "newest first"),
			Now:         func() time.Time { return now },
		})
		table := server.Table("shop")
		st := server.Enable("shop", streamtest.StreamOptions{Shards: rapid.IntRange(1, 3).Draw(rt, "shards")})
		items, written, read := map[string]string{}, 0, 0
		wrote := func(w streamtest.Written, err error) {
			if err != nil {
				rt.Fatal(err)
			}
			if w.Event != "" {
				written++
			}
		}
		for n := range rapid.IntRange(0, 60).Draw(rt, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 2).Draw(rt, "ms")) * time.Millisecond)
			key := rapid.IntRange(0, 4).Draw(rt, "key")
			switch rapid.IntRange(0, 9).Draw(rt, "step") {
			case 0:
				open := st.Open()
				st.Split(open[rapid.IntRange(0, len(open)-1).Draw(rt, "shard")], rapid.IntRange(1, 3).Draw(rt, "children"))
			case 1:
				wrote(table.Delete(item(key, 0)))
			case 2:
				wrote(table.Expire(item(key, 0)))
			case 3:
				if rapid.IntRange(0, 3).Draw(rt, "again") == 0 {
					st.Disable()
					read += replay(t, server, st.ARN(), items)
					st = server.AddStream("shop")
				}
			default:
				wrote(table.Put(item(key, rapid.IntRange(0, 1).Draw(rt, "same")*n)))
			}
		}
		read += replay(t, server, st.ARN(), items)
		if diff := cmp.Diff(table.Items(), sorted(items)); diff != "" || read != written {
			rt.Errorf("%d records of %d; what is read (-table +read):\n%s", read, written, diff)
		}
	})
}

func sorted(items map[string]string) []string {
	all := make([]string, 0, len(items))
	for _, key := range slices.Sorted(maps.Keys(items)) {
		all = append(all, items[key])
	}
	return all
}

// Writers and readers side by side, while shards split.
func TestTable_SideBySide(t *testing.T) {
	server := streamtest.New(streamtest.Options{PageBytes: 4000})
	table := server.Table("shop")
	st := server.Enable("shop", streamtest.StreamOptions{Shards: 2})
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for n := range 500 {
				if _, err := table.Put(item(w*3+n%3, n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, s := range st.States() {
				if _, err := readShard(t.Context(), server, st.ARN(), s.ID, s.Open()); err != nil {
					t.Error(err)
				}
			}
		}
	})
	others.Go(func() {
		for n := range 20 {
			st.Split(st.Open()[n%2], 2)
		}
	})
	writers.Wait()
	close(stop)
	others.Wait()
	items := map[string]string{}
	if n := replay(t, server, st.ARN(), items); n != 2000 {
		t.Errorf("%d records, want 2000", n)
	}
	if diff := cmp.Diff(table.Items(), sorted(items)); diff != "" {
		t.Errorf("what is read (-table +read):\n%s", diff)
	}
}

func TestTable_Writes(t *testing.T) {
	server := streamtest.New(streamtest.Options{})
	table := server.Table("shop", "Id")
	if w, err := table.Put(`{"Id":{"N":"1"},"A":{"S":"<&>"}}`); err != nil || w != (streamtest.Written{}) {
		t.Errorf("a write without a stream makes %+v, %v", w, err)
	}
	st := server.AddStream("shop")
	if server.Table("shop") != table || table.Stream() != st || table.Name() != "shop" {
		t.Error("the table is another one")
	}
	for _, step := range []struct {
		do   func(string) (streamtest.Written, error)
		item string
		want string
	}{
		{table.Put, `{"A":{"S":"<&>"}, "Id":{"N":"1"}}`, ""}, // as it is
		{table.Put, `{"Id":{"N":"1"}}`, "MODIFY"},
		{table.Put, `{"Id":{"N":"2"}}`, "INSERT"},
		{table.Delete, `{"Id":{"N":"1"},"B":{"S":"x"}}`, "REMOVE"},
		{table.Delete, `{"Id":{"N":"1"}}`, ""},
		{table.Expire, `{"Id":{"N":"2"}}`, "REMOVE"},
		{table.Put, `{"Id":{"N":"3"}}`, "INSERT"},
	} {
		w, err := step.do(step.item)
		if err != nil || w.Event != step.want || (w.Sequence != "") != (step.want != "") || (w.Shard == st.Shards()[0]) != (step.want != "") {
			t.Errorf("%s makes %+v, %v; want %q", step.item, w, err, step.want)
		}
	}
	changes, err := readShard(t.Context(), server, st.ARN(), st.Shards()[0], true)
	if err != nil || len(changes) != 5 {
		t.Fatalf("%d records, %v", len(changes), err)
	}
	for i, c := range changes {
		if want := i == 3; c.TTLDelete() != want {
			t.Errorf("record %d is a TTL delete: %v", i, c.TTLDelete())
		}
	}
	if it, ok := table.Item(`{"Id":{"N":"3"}}`); !ok || it != `{"Id":{"N":"3"}}` {
		t.Errorf("the item is %q, %v", it, ok)
	}
	for _, wrong := range []string{``, `[]`, `null`, `{"A":{"S":"x"}}`, `{"Id":{"N":"1"}} {}`} {
		if _, err := table.Put(wrong); err == nil {
			t.Errorf("%q is an item", wrong)
		}
		if _, err := table.Delete(wrong); err == nil {
			t.Errorf("%q is a key", wrong)
		}
		if _, ok := table.Item(wrong); ok {
			t.Errorf("%q is a key", wrong)
		}
	}
}

// A record holds the images of its stream's view type.
func TestEnable_ViewTypes(t *testing.T) {
	for _, view := range []record.ViewType{record.KeysOnly, record.NewImage, record.OldImage, record.NewAndOldImages} {
		server := streamtest.New(streamtest.Options{})
		table, st := server.Table("shop"), server.Enable("shop", streamtest.StreamOptions{View: view})
		for n := range 2 {
			if _, err := table.Put(item(1, n)); err != nil {
				t.Fatal(err)
			}
		}
		changes, err := readShard(t.Context(), server, st.ARN(), st.Shards()[0], true)
		if err != nil || len(changes) != 2 {
			t.Fatal(changes, err)
		}
		c := changes[1]
		if c.ViewType != view || c.New.Exists() != view.HasNew() || c.Old.Exists() != view.HasOld() || c.Op != record.Modify {
			t.Errorf("%v: %+v", view, c)
		}
	}
}

// Each item stays in one lineage, and items are spread over the shards.
func TestStream_OwnersAreDescendants(t *testing.T) {
	server := streamtest.New(streamtest.Options{})
	st := server.Enable("shop", streamtest.StreamOptions{Shards: 4})
	owner := map[string]string{}
	count := map[string]int{}
	for n := range 1000 {
		key := fmt.Sprintf("k%d", n)
		owner[key] = st.OpenShardOf(key)
		count[owner[key]]++
	}
	for shard, n := range count {
		if n < 150 || n > 350 {
			t.Errorf("shard %s has %d of 1000 keys", shard, n)
		}
	}
	for _, shard := range st.Shards() {
		st.Split(st.Split(shard, 3)[1], 2)
	}
	parents := map[string]string{}
	for _, s := range st.States() {
		parents[s.ID] = s.Parent
	}
	for key, root := range owner {
		now := st.OpenShardOf(key)
		if now == root || parents[now] != root && parents[parents[now]] != root {
			t.Errorf("%s went from %s to %s", key, root, now)
		}
	}
}
