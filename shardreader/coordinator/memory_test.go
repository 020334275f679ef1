package coordinator_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
)

// watchedAPI knows which of the pages that it answered with are in memory still.
type watchedAPI struct {
	shardreader.API
	pages []weak.Pointer[byte]
}

func (a *watchedAPI) GetRecords(ctx context.Context, q shardreader.RecordsQuery) (record.GetRecordsPage, error) {
	got, err := a.API.GetRecords(ctx, q)
	if err == nil && len(got.Page.Changes) > 0 {
		a.pages = append(a.pages, weak.Make(&got.Page.Changes[0].Raw[0]))
	}
	return got, err
}

// The notes of a worker about a page, such as where reading continues, are not texts of the page: that would keep a
// megabyte in memory.
func TestWorker_HoldsNoPageThatThePipelineHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wo := newWorld(t)
		watched := &watchedAPI{API: wo.server}
		wo.api = watched
		st := wo.server.AddStream("shop")
		a := wo.start("a", coordinator.Options{})
		for range 5 {
			st.Put(st.Shards()[0], put(3)...)
			wo.run(5 * time.Second)
		}
		runtime.GC()
		held := 0
		for _, p := range watched.pages {
			if p.Value() != nil {
				held++
			}
		}
		if len(watched.pages) < 5 || held > 0 {
			t.Errorf("%d of %d pages are held", held, len(watched.pages))
		}
		runtime.KeepAlive(a)
	})
}
