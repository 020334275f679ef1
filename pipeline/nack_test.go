package pipeline

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// tracked gives a page a Tracker, so that its source can ask for each record whether it is finished.
func tracked(page *Page) (*Page, *Tracker) {
	page.Tracker = new(Tracker)
	return page, page.Tracker
}

// Without a store for dead letters, a failed record goes back at once, with the later records of its key. All others
// are finished. The run does not wait for a result that cannot change.
func TestNack_WithoutDeadLetters(t *testing.T) {
	for name, tt := range map[string]struct {
		set  func(*Options)
		sink *recorder
	}{
		"a filter fails": {set: func(o *Options) { o.Routes[0].Filters = []Filter{failsOn("b")} }, sink: &recorder{keepsOrder: true}},
		"a Write fails":  {sink: &recorder{keepsOrder: true, fail: refuses("b")}},
		"a Write fails, one change of a key at a time": {sink: &recorder{fail: refuses("b")}},
		"small batches": {set: func(o *Options) { o.Routes[0].Batch.Count, o.Routes[0].Concurrency = 1, 1 }, sink: &recorder{fail: refuses("b")}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set := tt.set
				if set == nil {
					set = func(*Options) {}
				}
				p := newPipeline(t, tt.sink, set)
				page, tracker := tracked(pageOf(map[string]int{}, "p", 1, "a", "b", "c", "b", "a", "b"))
				start := time.Now()
				if err := p.Run(t.Context(), pages(nil, page), nil); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != 0 {
					t.Errorf("it waited for %v", took)
				}
				if got := finished(tracker, 6); !slices.Equal(got, []int{0, 2, 4}) {
					t.Errorf("finished are %v", got)
				}
				checkLedger(t, p, none(SinkLedger{Routed: 6, Written: 3, Revoked: 3}))
			})
		})
	}
}

type failsOn item.Key

func (f failsOn) Check(c *record.Change) (Verdict, error) {
	if c.Key == item.Key(f) {
		return Verdict{}, errBad
	}
	return Verdict{}, nil
}

// refuses returns a Write that fails the first change of a key permanently, and the later changes of the key
// temporarily.
func refuses(key item.Key) func(context.Context, []Delivery) error {
	return func(_ context.Context, ds []Delivery) error {
		var failed BatchError
		behind := false
		for i := range ds {
			switch {
			case ds[i].Change.Key != key:
			case behind:
				failed.Add(i, Transient(errDown))
			default:
				failed.Add(i, errBad)
				behind = true
			}
		}
		return failed.OrNil()
	}
}

// A page with a record that cannot be decoded goes back with all later pages. Earlier pages are finished.
func TestNack_UndecodableWithoutDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipeline(t, &recorder{})
		n := map[string]int{}
		first, before := tracked(pageOf(n, "p", 1, "a"))
		bad, within := tracked(withBad(pageOf(n, "p", 2, "b")))
		last, behind := tracked(pageOf(n, "p", 3, "c"))
		if err := p.Run(t.Context(), pages(nil, first, bad, last), nil); err != nil {
			t.Fatal(err)
		}
		if !before.Finished(0) || within.Finished(0) || within.Finished(1) || behind.Finished(0) {
			t.Errorf("finished: before %v, within %v, behind %v", before.Finished(0), finished(within, 2), behind.Finished(0))
		}
		checkLedger(t, p, none(SinkLedger{Routed: 1, Written: 1}))
	})
}

// Letters of records that cannot be decoded are counted like others, but for no sink.
func TestTelemetry_LettersOfUndecodableRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		p := newPipeline(t, &recorder{}, func(o *Options) {
			o.DeadLetters, o.Meter = &graveyard{}, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
		})
		if err := p.Run(t.Context(), pages(nil, withBad(pageOf(map[string]int{}, "p", 1, "a"))), nil); err != nil {
			t.Fatal(err)
		}
		var m metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
		for _, s := range m.ScopeMetrics {
			for _, m := range s.Metrics {
				if m.Name != "tablewake.sink.letters" {
					continue
				}
				points := m.Data.(metricdata.Sum[int64]).DataPoints
				class, _ := points[0].Attributes.Value("class")
				if len(points) != 1 || points[0].Value != 1 || class.AsString() != "undecodable" {
					t.Errorf("%+v", points)
				}
				return
			}
		}
		t.Error("no letters are counted")
	})
}

// A change that Accept refuses ends the run, and no change of its page is written.
func TestAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &recorder{}
		p := newPipeline(t, s, func(o *Options) {
			o.Accept = func(c *record.Change) error {
				if c.Key == "x" {
					return errBad
				}
				return nil
			}
		})
		err := p.Run(t.Context(), pages(nil, pageOf(map[string]int{}, "p", 1, "a", "x")), nil)
		if !IsFatal(err) || len(s.all()) != 0 {
			t.Errorf("error %v, written %v", err, s.all())
		}
	})
}
