package streamtest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// listed is what DescribeStream lists, each shard with a + while it is listed as open.
func listed(t *testing.T, api shardreader.API, q shardreader.DescribeQuery) string {
	t.Helper()
	var ids []string
	for {
		d, err := api.DescribeStream(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, sh := range d.Shards {
			id := sh.ID
			if sh.Open() {
				id += "+"
			}
			ids = append(ids, id)
		}
		if q.After = d.After; q.After == "" {
			return strings.Join(ids, " ")
		}
	}
}

// Fact 6: a listing lags behind: a child comes late, and its parent is still listed
// as open beside it.
func TestFact6_ListingsLagBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{ListDelay: 2 * time.Second, CloseDelay: 5 * time.Second})
		st := server.AddStream("shop")
		root := st.Shards()[0]
		child := st.Rollover(root)
		all, below := shardreader.DescribeQuery{StreamARN: st.ARN()}, shardreader.DescribeQuery{StreamARN: st.ARN(), ChildrenOf: root}
		for _, step := range []struct {
			wait        time.Duration
			want, below string
		}{
			{0, root + "+", ""},
			{2 * time.Second, root + "+ " + child + "+", child + "+"},
			{3 * time.Second, root + " " + child + "+", child + "+"},
		} {
			time.Sleep(step.wait)
			if got := listed(t, server, all); got != step.want {
				t.Errorf("%s: listed are %s, want %s", step.wait, got, step.want)
			}
			if got := listed(t, server, below); got != step.below {
				t.Errorf("%s: below it %s, want %s", step.wait, got, step.below)
			}
		}
	})
}

func TestStream_HideAndListOpen(t *testing.T) {
	server := streamtest.New(streamtest.Options{ListDelay: time.Hour})
	st := server.AddStream("shop")
	root := st.Shards()[0]
	children := st.Split(root, 2)
	all := shardreader.DescribeQuery{StreamARN: st.ARN()}
	want := func(want ...string) {
		t.Helper()
		if got := listed(t, server, all); got != strings.Join(want, " ") {
			t.Errorf("listed are %s, want %v", got, want)
		}
	}
	want(root)
	st.Show(children...)
	st.ListOpen(true, root)
	want(root+"+", children[0]+"+", children[1]+"+")
	st.ListOpen(false, root)
	st.Hide(root, children[1])
	want(children[0] + "+")
	if _, err := readShard(t.Context(), server, st.ARN(), root, false); err != nil {
		t.Errorf("a shard that is not listed: %v", err)
	}
	st.SetStatus(shardreader.Disabling)
	if d, err := server.DescribeStream(t.Context(), all); err != nil || d.Status != shardreader.Disabling {
		t.Errorf("%+v, %v", d, err)
	}
}

// Fact 7: children are found by CHILD_SHARDS, where the server knows it.
func TestFact7_ChildFilter(t *testing.T) {
	for filter, want := range map[streamtest.ChildFilter]int{
		streamtest.FilterHonoured: 3, streamtest.FilterIgnored: 5, streamtest.FilterEmpty: 0, streamtest.FilterRefused: -1,
	} {
		server := streamtest.New(streamtest.Options{ChildFilter: filter, PageShards: 2})
		st := server.AddStream("shop")
		st.Rollover(st.Split(st.Shards()[0], 3)[0])
		for name, api := range map[string]shardreader.API{"API": server, "http.RoundTripper": through(server, "")} {
			got, after := 0, ""
			for {
				d, err := api.DescribeStream(t.Context(), shardreader.DescribeQuery{StreamARN: st.ARN(), ChildrenOf: st.Shards()[0], After: after})
				if err != nil {
					got = -1
				}
				got += len(d.Shards)
				if after = d.After; after == "" {
					break
				}
			}
			if got != want {
				t.Errorf("%s, filter %d: %d shards, want %d", name, filter, got, want)
			}
		}
	}
}

// Fact 7: 100 shards a page, however many there are.
func TestFact7_ThousandsOfShards(t *testing.T) {
	for _, newestFirst := range []bool{false, true} {
		server := streamtest.New(streamtest.Options{NewestFirst: newestFirst})
		st := server.Enable("shop", streamtest.StreamOptions{Shards: 500})
		for _, id := range st.Shards() {
			st.Split(id, 3)
		}
		want := st.Shards()
		if newestFirst {
			slices.Reverse(want)
		}
		var got []string
		q := shardreader.DescribeQuery{StreamARN: st.ARN()}
		for {
			d, err := server.DescribeStream(t.Context(), q)
			if err != nil || len(d.Shards) != 100 {
				t.Fatal(len(d.Shards), err)
			}
			for _, sh := range d.Shards {
				got = append(got, sh.ID)
			}
			if q.After = d.After; q.After == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || server.Calls("DescribeStream") != 20 {
			t.Errorf("%d calls, shards (-want +got):\n%s", server.Calls("DescribeStream"), diff)
		}
		// A page continues even if the shard that it starts after is gone.
		st.Drop(want[99])
		if d, err := server.DescribeStream(t.Context(), shardreader.DescribeQuery{StreamARN: st.ARN(), After: want[99]}); err != nil || d.Shards[0].ID != want[100] {
			t.Errorf("behind a shard that is gone: %v, %v", d.Shards[:1], err)
		}
	}
}

// Records of the keys of a dropped shard go to a child of it: a shard exists whose parent is gone.
func TestStream_DropsHistory(t *testing.T) {
	server := streamtest.New(streamtest.Options{})
	table, st := server.Table("shop"), server.AddStream("shop")
	if _, err := table.Put(item(1, 1)); err != nil {
		t.Fatal(err)
	}
	root := st.Shards()[0]
	st.Drop(root)
	if len(st.Shards()) != 0 || len(st.Open()) != 0 {
		t.Errorf("shards %v", st.Shards())
	}
	w, err := table.Put(item(1, 2))
	if s := st.State(w.Shard); err != nil || s.Parent != root || s.Records != 1 || s.Newest != w.Sequence || s.Oldest != w.Sequence || s.Last != "" {
		t.Errorf("%+v, %v", s, err)
	}
	st.Rollover(st.Rollover(w.Shard))
	st.DropEnded()
	if states := st.States(); len(states) != 1 || !states[0].Open() || states[0].Parent == w.Shard {
		t.Errorf("what is left is %+v", states)
	}
	if got := listed(t, server, shardreader.DescribeQuery{StreamARN: st.ARN(), ChildrenOf: w.Shard}); got != "" {
		t.Errorf("below what is gone is %s", got)
	}
	st.Delete()
	if _, err := server.DescribeStream(t.Context(), shardreader.DescribeQuery{StreamARN: st.ARN()}); !errors.Is(err, shardreader.ErrNotFound) || len(server.Streams()) != 0 {
		t.Errorf("a stream that is gone: %v", err)
	}
}

// Fact 1: sequence numbers are longer than any integer, and they get longer.
func TestFact1_SequenceNumbers(t *testing.T) {
	server := streamtest.New(streamtest.Options{})
	st := server.AddStream("shop")
	var last string
	lengths := map[int]bool{}
	shard := st.Shards()[0]
	for n := range 100 {
		if n%10 == 9 {
			shard = st.Rollover(shard)
		}
		got := st.Put(shard, put("a"))[0]
		if lengths[len(got)] = true; record.CompareSequence(got, last) <= 0 {
			t.Fatalf("%s comes behind %s", got, last)
		}
		last = got
	}
	if !lengths[21] || !lengths[22] || len(lengths) != 2 {
		t.Errorf("their lengths are %v, want 21 and 22", lengths)
	}
}

// A stream that breaks what versions rest on can be had.
func TestStream_SplitBelow(t *testing.T) {
	server := streamtest.New(streamtest.Options{})
	st := server.AddStream("shop")
	root := st.Shards()[0]
	before := st.Put(root, put("a"), put("b"))
	child := st.SplitBelow(root, 1)[0]
	first := st.Put(child, put("a"))[0]
	s := st.State(child)
	if record.CompareSequence(s.First, before[0]) >= 0 || record.CompareSequence(first, s.First) <= 0 {
		t.Errorf("the child starts at %s with %s, the parent's are %v", s.First, first, before)
	}
	if changes, err := readShard(t.Context(), server, st.ARN(), child, true); err != nil || len(changes) != 1 {
		t.Errorf("%v, %v", changes, err)
	}
}
