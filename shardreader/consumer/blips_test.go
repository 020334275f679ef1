package consumer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// Failures of a call that is rarely made, days apart, do not add up to minutes of it.
func TestJudge_FailuresFarApartDoNotAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Options{
			API: streamtest.New(streamtest.Options{}), Table: leases.NewMemory(leases.Snapshot{}),
			Gaps:        pipeline.GapFunc(func(context.Context, record.Gap) error { return nil }),
			Coordinator: coordinator.Options{ID: "a", Sources: []coordinator.Source{{Table: "shop"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		refused := pipeline.Fatal(errors.New("refused"))
		fatal := func() error {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.fatal
		}
		for range 10 {
			c.noteCallResult("rare", "", neededLater, refused)
			time.Sleep(48 * time.Hour)
		}
		if err := fatal(); err != nil {
			t.Errorf("ten failures, two days apart, ended it: %v", err)
		}
		for range 10 {
			c.noteCallResult("rare", "", neededLater, refused)
			time.Sleep(time.Minute)
		}
		if !errors.Is(fatal(), refused) {
			t.Errorf("after ten minutes of failures: %v", fatal())
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
