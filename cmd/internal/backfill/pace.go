package backfill

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// paceInterval is the time between two looks at how far consumers are behind.
const paceInterval = 10 * time.Second

// slow returns what blocks while consumers are further behind the stream than --max-lag; nil if nothing has to.
func (j *job) slow() func(ctx context.Context) {
	if !j.o.Live || j.cfg.Leases == nil || j.o.maxLag == 0 {
		return nil
	}
	var mu sync.Mutex
	var looked time.Time
	return func(ctx context.Context) {
		mu.Lock()
		defer mu.Unlock()
		for time.Since(looked) >= paceInterval {
			seen, err := j.readLeases(ctx)
			lag := time.Duration(0)
			if err == nil {
				lag = longestLag(seen, time.Now())
			}
			if err != nil {
				fmt.Fprintf(j.streams.Err, "it is unknown how far consumers are behind: %v\n", err)
			}
			if err != nil || lag <= j.o.maxLag {
				looked = time.Now()
				return
			}
			fmt.Fprintf(j.streams.Err, "the stream comes first: consumers are %s behind, and --max-lag is %s\n", lag.Round(time.Second), j.o.maxLag)
			if pipeline.Sleep(ctx, paceInterval) != nil {
				return
			}
		}
	}
}

// longestLag returns how old the last read record is of the shard that is furthest behind.
func longestLag(s leases.Snapshot, now time.Time) (longest time.Duration) {
	for _, m := range s.Members {
		for _, read := range m.Behind {
			if !read.IsZero() {
				longest = max(longest, now.Sub(read))
			}
		}
	}
	return longest
}
