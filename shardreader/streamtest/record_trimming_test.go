package streamtest_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// Fact 8: records live 24 hours.
func TestFact8_RecordsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		root := st.Shards()[0]
		var put8 []string // one every 4 hours
		for range 8 {
			put8 = append(put8, st.Put(root, put("a"))...)
			time.Sleep(4 * time.Hour)
		}
		// The first is 32 hours old, the third 24 hours.
		if s := st.State(root); s.Records != 8 || s.Trimmed != 2 || s.Oldest != put8[2] || s.Newest != put8[7] || time.Since(s.Written) != 4*time.Hour {
			t.Errorf("%+v", s)
		}
		if changes, err := readShard(t.Context(), server, st.ARN(), root, true); err != nil || len(changes) != 6 {
			t.Errorf("%d records, %v", len(changes), err)
		}
		at := shardreader.ShardPosition{StreamARN: st.ARN(), Shard: root, Type: shardreader.AfterSequence, Sequence: put8[0]}
		if _, err := server.GetShardIterator(t.Context(), at); !errors.Is(err, shardreader.ErrTrimmed) {
			t.Errorf("behind a record that is gone, before another that is: %v", err)
		}
		// Closed, it disappears when its last record may have; its child stays.
		child := st.Rollover(root)
		time.Sleep(24 * time.Hour)
		if s := st.State(root); s.Trimmed != 8 || s.Oldest != "" || s.Last != put8[7] {
			t.Errorf("%+v", s)
		}
		time.Sleep(time.Nanosecond)
		if got := listed(t, server, shardreader.DescribeQuery{StreamARN: st.ARN()}); got != child+"+" {
			t.Errorf("listed are %s", got)
		}
		at.Type, at.Sequence = shardreader.TrimHorizon, ""
		if _, err := server.GetShardIterator(t.Context(), at); !errors.Is(err, shardreader.ErrNotFound) {
			t.Errorf("an iterator of a shard that is gone: %v", err)
		}
	})
}

// Fact 10: a disabled stream stays readable for 24 hours.
func TestFact10_DisabledStreamsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := streamtest.New(streamtest.Options{})
		st := server.AddStream("shop")
		st.Put(st.Shards()[0], put("a"))
		st.Disable()
		st.Disable() // again: nothing more
		for _, step := range []struct {
			wait time.Duration
			gone bool
		}{{24 * time.Hour, false}, {time.Second, true}} {
			time.Sleep(step.wait)
			_, err := server.DescribeStream(t.Context(), shardreader.DescribeQuery{StreamARN: st.ARN()})
			if errors.Is(err, shardreader.ErrNotFound) != step.gone {
				t.Errorf("%s later: %v", step.wait, err)
			}
			page, err := server.ListStreams(t.Context(), "shop", "")
			if err != nil || (len(page.Streams) == 0) != step.gone || (len(server.Streams()) == 0) != step.gone {
				t.Errorf("%s later: %v, %v", step.wait, page, err)
			}
		}
		if again := server.AddStream("shop"); again.ARN() <= st.ARN() {
			t.Errorf("%s comes behind %s", again.ARN(), st.ARN())
		}
	})
}

// A position must be within its shard, and what it stands for must be left.
func TestServer_Positions(t *testing.T) {
	for _, strict := range []bool{false, true} {
		server := streamtest.New(streamtest.Options{StrictTrim: strict})
		st := server.AddStream("shop")
		root := st.Shards()[0]
		seqs := st.Put(root, put("a"), put("b"), put("c"))
		child := st.Rollover(root)
		below := st.Put(child, put("d"))
		st.Trim(root, 1)
		first := st.State(root).First
		const invalid = "ValidationException"
		trimmed := "TrimmedDataAccessException"
		atHorizon := ""
		if strict {
			atHorizon = trimmed
		}
		for _, tt := range []struct {
			shard    string
			kind     shardreader.IteratorType
			sequence string
			want     string // the error's code
		}{
			{root, shardreader.AtSequence, seqs[1], ""},
			{root, shardreader.AtSequence, "000" + seqs[1], ""},
			{root, shardreader.AfterSequence, seqs[2], ""},
			{root, shardreader.AtSequence, seqs[0], trimmed},
			{root, shardreader.AfterSequence, seqs[0], atHorizon},
			{root, shardreader.AfterSequence, first, trimmed},
			{root, shardreader.AtSequence, below[0], invalid},
			{child, shardreader.AfterSequence, seqs[2], invalid},
			{child, shardreader.AfterSequence, st.State(child).First, ""},
			{child, shardreader.AtSequence, strings.Repeat("9", 40), invalid},
			{child, shardreader.AtSequence, strings.Repeat("9", 41), invalid},
			{child, shardreader.AtSequence, "1", invalid},
			{child, shardreader.AtSequence, "one", invalid},
			{child, shardreader.AtSequence, "", invalid},
			{child, shardreader.Latest, below[0], invalid},
			{child, "NOW", "", invalid},
		} {
			_, err := server.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: st.ARN(), Shard: tt.shard, Type: tt.kind, Sequence: tt.sequence})
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("strict %v: %s %s: %v, want %q", strict, tt.kind, tt.sequence, err, tt.want)
			}
			if _, again := pipeline.Retryable(err); again {
				t.Errorf("%v is transient", err)
			}
		}
	}
}

func TestServer_Trim(t *testing.T) {
	server := streamtest.New(streamtest.Options{})
	st := server.AddStream("shop")
	shard := st.Shards()[0]
	at := shardreader.ShardPosition{StreamARN: st.ARN(), Shard: shard, Type: shardreader.TrimHorizon}
	old, err := server.GetShardIterator(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	seqs := st.Put(shard, put("a"), put("b"), put("c"), put("d"))
	st.Trim(shard, 2)
	if _, err := server.GetRecords(t.Context(), shardreader.RecordsQuery{Iterator: old}); !errors.Is(err, shardreader.ErrTrimmed) {
		t.Errorf("an iterator before the horizon: %v", err)
	}
	for _, step := range []struct {
		more int
		want []string
	}{{0, seqs[2:]}, {1, seqs[3:]}, {9, nil}} {
		st.Trim(shard, step.more)
		changes, err := readShard(t.Context(), server, st.ARN(), shard, true)
		if err != nil || len(changes) != len(step.want) || len(changes) > 0 && changes[0].Sequence != step.want[0] {
			t.Errorf("%d more: %v, %v; want %v", step.more, changes, err, step.want)
		}
	}
	st.Put(shard, put("e"))
	if changes, err := readShard(t.Context(), server, st.ARN(), shard, true); err != nil || len(changes) != 1 {
		t.Errorf("%v, %v; want one", changes, err)
	}
}

func TestStream_TrimBeforeRemovesWhatWasWrittenBefore(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	server := streamtest.New(streamtest.Options{Now: func() time.Time { return now }})
	st := server.AddStream("shop")
	shard := st.Shards()[0]
	st.Put(shard, put("a"), put("b"))
	now = now.Add(time.Second)
	kept := st.Put(shard, put("c"))
	st.TrimBefore(now)
	changes, err := readShard(t.Context(), server, st.ARN(), shard, true)
	if err != nil || len(changes) != 1 || changes[0].Sequence != kept[0] {
		t.Errorf("%v, %v; want the last record alone", changes, err)
	}
}
