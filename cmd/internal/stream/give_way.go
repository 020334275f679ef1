package stream

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// paceInterval is the time between two looks at the lag of the consumers.
const paceInterval = 10 * time.Second

// GiveWay returns a function that blocks while live consumers are further behind the stream than maxLag. A consumer
// without a heartbeat for silence is not live. The function is safe for concurrent use, and writes to w why it blocks.
func GiveWay(read LeaseReader, maxLag, silence time.Duration, w io.Writer) func(ctx context.Context) {
	var mu sync.Mutex
	var looked time.Time
	watch := lagWatch{silence: silence, unread: make(map[string]time.Time)}
	return func(ctx context.Context) {
		mu.Lock()
		defer mu.Unlock()
		for time.Since(looked) >= paceInterval {
			seen, err := read(ctx)
			if err != nil {
				fmt.Fprintf(w, "it is unknown how far consumers are behind: %v\n", err)
				looked = time.Now()
				return
			}
			lag := watch.longest(seen, time.Now())
			if lag <= maxLag {
				looked = time.Now()
				return
			}
			fmt.Fprintf(w, "the stream comes first: consumers are %s behind, and --max-lag is %s\n", lag.Round(time.Second),
				maxLag)
			if pipeline.Sleep(ctx, paceInterval) != nil {
				return
			}
		}
	}
}

// lagWatch measures the lag of live consumers, by several looks at the leases.
type lagWatch struct {
	silence    time.Duration
	heartbeats HeartbeatWatch
	unread     map[string]time.Time // since when a shard was seen without a live owner
}

// longest returns the lag of the shard that is furthest behind. That of a shard with a live owner is the age of the
// last record that the owner read. A shard without a live owner lags at least since it was first seen so: its
// checkpoint does not show how old its next record is, as it may have none. If no consumer lives, nothing catches up,
// and the lag is 0.
func (w *lagWatch) longest(s leases.Snapshot, now time.Time) (longest time.Duration) {
	live, silent := make(map[string]bool), w.heartbeats.Observe(s.Members, now, w.silence)
	for _, m := range s.Members {
		if _, isSilent := silent[m.Worker]; isSilent {
			continue
		}
		live[m.Worker] = true
		for _, read := range m.Behind {
			if !read.IsZero() {
				longest = max(longest, now.Sub(read))
			}
		}
	}
	if len(live) == 0 {
		return 0
	}
	return max(longest, w.longestUnread(s, live, now))
}

// longestUnread returns the longest lag of the shards without a live owner.
func (w *lagWatch) longestUnread(s leases.Snapshot, live map[string]bool, now time.Time) (longest time.Duration) {
	unended := make(map[string]bool)
	for _, l := range s.Leases {
		unended[l.Shard] = !l.Ended()
	}
	for _, l := range s.Leases {
		waits := slices.ContainsFunc(l.Parents, func(p string) bool { return unended[p] })
		isUnread := !l.Ended() && l.Stopped == "" && !live[l.Owner] && !waits
		since, known := w.unread[l.Shard]
		switch {
		case !isUnread:
			delete(w.unread, l.Shard)
		case !known:
			w.unread[l.Shard] = now
		default:
			longest = max(longest, now.Sub(since))
		}
	}
	return longest
}
