package stream

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// fleet is a consumer a whose shard is behind, and another consumer b.
type fleet struct {
	behind time.Duration
	silent map[string]time.Time // time of a consumer's last heartbeat
	leases []leases.Lease
	err    error
	reads  int
}

func (f *fleet) read(context.Context) (leases.Snapshot, error) {
	f.reads++
	beat := func(id string) int64 {
		if died, dead := f.silent[id]; dead {
			return died.Unix()
		}
		return time.Now().Unix()
	}
	behind := map[string]time.Time{"s": time.Now().Add(-f.behind), "new": {}}
	members := []leases.Member{{ID: "a", Heartbeat: beat("a"), Behind: behind}, {ID: "b", Heartbeat: beat("b")}}
	return leases.Snapshot{Members: members, Leases: f.leases}, f.err
}

// blocks returns how long the function of GiveWay blocks, and its output.
func (f *fleet) blocks(t *testing.T) (time.Duration, string) {
	t.Helper()
	var told bytes.Buffer
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	GiveWay(f.read, time.Minute, 15*time.Second, &told)(ctx)
	return time.Since(began), told.String()
}

func TestGiveWay(t *testing.T) {
	die := func(who ...string) func(*fleet) {
		return func(f *fleet) {
			for _, id := range who {
				f.silent[id] = time.Now().Add(-time.Minute)
			}
		}
	}
	const stall = "the stream comes first: consumers are 2m0s behind, and --max-lag is 1m0s\n"
	for name, tt := range map[string]struct {
		change func(*fleet)
		least  time.Duration
		most   time.Duration
		told   string
	}{
		"no consumer is behind":       {change: func(f *fleet) { f.behind = time.Minute }},
		"a live consumer is behind":   {least: time.Hour, most: time.Hour, told: stall},
		"the consumer behind is dead": {least: 20 * time.Second, most: 20 * time.Second, told: stall, change: die("a")},
		"no consumer lives":           {least: 20 * time.Second, most: 20 * time.Second, told: stall, change: die("a", "b")},
		"it is unknown how far they are": {
			told:   "it is unknown how far consumers are behind: no network",
			change: func(f *fleet) { f.err = errors.New("no network") },
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fleet{behind: 2 * time.Minute, silent: make(map[string]time.Time)}
			if tt.change != nil {
				tt.change(f)
			}
			took, told := f.blocks(t)
			if took < tt.least || took > tt.most || !strings.Contains(told, tt.told) || tt.told == "" && told != "" {
				t.Errorf("%s: it blocks for %s and tells %q", name, took, told)
			}
		})
	}
}

// The leases are read every ten seconds, however often a page is read.
func TestGiveWayLooksEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{silent: make(map[string]time.Time)}
		wait := GiveWay(f.read, time.Minute, 15*time.Second, &bytes.Buffer{})
		for range 100 {
			wait(t.Context())
			time.Sleep(time.Second)
		}
		if f.reads != 10 {
			t.Errorf("%d reads of the leases in 100 s, want 10", f.reads)
		}
	})
}

// A shard that no live consumer reads lags since it was first seen without a reader, if a live consumer may take it.
func TestLagOfShardsWithoutOwner(t *testing.T) {
	ended := leases.Checkpoint{Kind: leases.ShardEnd}
	free := leases.Lease{Shard: "s"}
	for name, tt := range map[string]struct {
		leases []leases.Lease
		dead   bool // no consumer is live
		want   time.Duration
	}{
		"without an owner":             {leases: []leases.Lease{free}, want: time.Minute},
		"of a dead owner":              {leases: []leases.Lease{{Shard: "s", Owner: "gone"}}, want: time.Minute},
		"of a live owner":              {leases: []leases.Lease{{Shard: "s", Owner: "a"}}},
		"read to its end":              {leases: []leases.Lease{{Shard: "s", Checkpoint: ended}}},
		"behind a parent that is read": {leases: []leases.Lease{{Shard: "p", Owner: "a"}, {Shard: "s", Parents: []string{"p"}}}},
		"that is stopped":              {leases: []leases.Lease{{Shard: "s", Stopped: "gap"}}},
		"and no consumer":              {leases: []leases.Lease{free}, dead: true},
	} {
		f := &fleet{silent: make(map[string]time.Time), leases: tt.leases}
		w := lagWatch{silence: 15 * time.Second, ownerless: make(map[string]time.Time)}
		now, got := time.Now(), time.Duration(0)
		for i := range 7 {
			s, err := f.read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.Members[0].Behind = nil
			for m := range s.Members {
				if s.Members[m].Heartbeat = int64(i); tt.dead {
					s.Members[m].Heartbeat = 0
				}
			}
			got = w.longest(s, now.Add(time.Duration(i)*10*time.Second))
		}
		if got != tt.want {
			t.Errorf("a shard %s lags %s, want %s", name, got, tt.want)
		}
		f.leases = []leases.Lease{{Shard: "s", Owner: "a"}, {Shard: "p", Owner: "a"}}
		s, _ := f.read(t.Context())
		if w.longest(s, now); !tt.dead && len(w.ownerless) > 0 {
			t.Errorf("%s: %v are still ownerless after they have an owner", name, w.ownerless)
		}
	}
}
