package sinks_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
)

// A live pipeline commits the only change of a quiet table within an hour under each valid file, whatever its sinks
// wait for. With the default settings, it commits the change within five minutes.
func TestLive_QuietTableIsCommitted(t *testing.T) {
	type settings struct {
		sink string
		most time.Duration // longest time until the change is committed
	}
	var all []settings
	for _, linger := range []string{"", "0s", "250ms", "1h", "61m", "2d"} {
		batch := ""
		if linger != "" {
			batch = fmt.Sprintf(", batch: {count: 100000, bytes: 64MiB, linger: %s}", linger)
		}
		all = append(all, settings{"custom: {name: discard" + batch + "}", time.Hour},
			settings{"archive: {bucket: history, layout: per_item, key: '{@key}/{@version}.json'" + batch + "}", time.Hour})
		for _, roll := range []string{"", ", roll: {bytes: 64MiB}", ", roll: {age: 1s}", ", roll: {age: 0s}", ", roll: {age: 1h}", ", roll: {age: 3601s}", ", roll: {age: 30d}"} {
			most := time.Hour
			if linger == "" && (roll == "" || roll == ", roll: {bytes: 64MiB}") {
				most = 5 * time.Minute // the default in the documentation
			}
			all = append(all, settings{"archive: {bucket: history" + roll + batch + "}", most})
		}
	}
	valid := 0
	for _, s := range all {
		cfg, err := config.Parse("tablewake.yaml", []byte("version: 1\nname: shop\nsource: {table: shop}\nsinks:\n  s: {"+s.sink+"}\n"), func(string) (string, bool) { return "", false })
		if err != nil {
			continue
		}
		valid++
		t.Run(s.sink, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, err := sinks.Assemble(t.Context(), cfg, &objectNames{Stores: sinks.PlanOnly()}, sinks.Live())
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				var read time.Time
				took := time.Duration(-1)
				committed := pipeline.CommitterFunc(func(context.Context, string, pipeline.Position) error {
					took = time.Since(read)
					stop()
					return nil
				})
				time.AfterFunc(24*time.Hour, stop) // after 24 hours the stream drops the change
				if err := p.Run(ctx, quiet(&read), committed); err != nil {
					t.Fatal(err)
				}
				if took < 0 || took > s.most {
					t.Errorf("committed after %v, want %v at most", took, s.most)
				}
			})
		})
	}
	if valid < 20 {
		t.Errorf("%d of %d files are valid", valid, len(all))
	}
}

// quiet returns a source that reads one change and then nothing until the run stops. It sets read to the time of the
// change.
func quiet(read *time.Time) pipeline.Source {
	one := hourly(1)
	return pipeline.SourceFunc(func(ctx context.Context) (*pipeline.Page, error) {
		if !read.IsZero() {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		page, err := one.Read(ctx)
		*read = time.Now()
		return page, err
	})
}
