package stream

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// paceInterval is the time between two measurements of the lag of the consumers.
const paceInterval = 10 * time.Second

// GiveWay returns a function that blocks while live consumers are further behind the stream than maxLag. A consumer is
// live if its last heartbeat is at most silence ago. The function writes to w why it blocks. If the lag cannot be read,
// it does not block. It is safe for concurrent use.
func GiveWay(read LeaseReader, maxLag, silence time.Duration, w io.Writer) func(ctx context.Context) {
	watch := lagWatch{silence: silence, ownerless: make(map[string]time.Time)}
	return (&pacer{read: read, maxLag: maxLag, w: w, watch: watch}).giveWay
}

// pacer blocks a command while consumers are behind the stream.
type pacer struct {
	read   LeaseReader
	maxLag time.Duration
	w      io.Writer

	mu        sync.Mutex
	watch     lagWatch
	lastCheck time.Time // when the lag was last acceptable or unknown
}

func (p *pacer) giveWay(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for time.Since(p.lastCheck) >= paceInterval {
		snapshot, err := p.read(ctx)
		if err != nil {
			fmt.Fprintf(p.w, "it is unknown how far consumers are behind: %v\n", err)
			p.lastCheck = time.Now()
			return
		}
		lag := p.watch.longest(snapshot, time.Now())
		if lag <= p.maxLag {
			p.lastCheck = time.Now()
			return
		}
		fmt.Fprintf(p.w, "the stream comes first: consumers are %s behind, and --max-lag is %s\n", lag.Round(time.Second),
			p.maxLag)
		if pipeline.Sleep(ctx, paceInterval) != nil {
			return
		}
	}
}

// lagWatch measures the lag of live consumers. It compares the leases at several times.
type lagWatch struct {
	silence    time.Duration
	heartbeats HeartbeatWatch
	ownerless  map[string]time.Time // shards that could be read and have no live owner: when that was first seen
}

// longest returns the lag of the shard that is furthest behind. If the owner of a shard is live, the lag is the age of
// the last record that the owner read. If a shard has no live owner, the lag is the time since that was first seen. The
// true lag may be longer: the checkpoint does not show how old the next record is, or whether there is one. If no
// consumer is live, the lag is 0, because waiting would not help.
func (w *lagWatch) longest(s leases.Snapshot, now time.Time) (longest time.Duration) {
	silent := w.heartbeats.Observe(s.Members, now, w.silence)
	live := make(map[string]bool)
	for _, m := range s.Members {
		if _, isSilent := silent[m.ID]; isSilent {
			continue
		}
		live[m.ID] = true
		for _, read := range m.Behind {
			if !read.IsZero() {
				longest = max(longest, now.Sub(read))
			}
		}
	}
	if len(live) == 0 {
		return 0
	}
	w.noteOwnerless(s, live, now)
	for _, since := range w.ownerless {
		longest = max(longest, now.Sub(since))
	}
	return longest
}

// noteOwnerless notes the shards that have no live owner, though they could be read.
func (w *lagWatch) noteOwnerless(s leases.Snapshot, live map[string]bool, now time.Time) {
	unended := make(map[string]bool)
	for _, l := range s.Leases {
		unended[l.Shard] = !l.Ended()
	}
	before := w.ownerless
	w.ownerless = make(map[string]time.Time)
	for _, l := range s.Leases {
		waitsForParent := slices.ContainsFunc(l.Parents, func(parent string) bool { return unended[parent] })
		isReadable := !l.Ended() && l.Stopped == "" && !waitsForParent
		if isReadable && !live[l.Owner] {
			w.ownerless[l.Shard] = cmp.Or(before[l.Shard], now)
		}
	}
}
