package stream

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// paceInterval is the time between two looks at how far consumers are behind.
const paceInterval = 10 * time.Second

// GiveWay returns what blocks while consumers are further behind the stream than maxLag. It is safe for concurrent use,
// and tells w why it blocks.
func GiveWay(read LeaseReader, maxLag time.Duration, w io.Writer) func(ctx context.Context) {
	var mu sync.Mutex
	var looked time.Time
	return func(ctx context.Context) {
		mu.Lock()
		defer mu.Unlock()
		for time.Since(looked) >= paceInterval {
			seen, err := read(ctx)
			lag := time.Duration(0)
			if err == nil {
				lag = longestLag(seen, time.Now())
			}
			if err != nil {
				fmt.Fprintf(w, "it is unknown how far consumers are behind: %v\n", err)
			}
			if err != nil || lag <= maxLag {
				looked = time.Now()
				return
			}
			fmt.Fprintf(w, "the stream comes first: consumers are %s behind, and --max-lag is %s\n", lag.Round(time.Second), maxLag)
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
