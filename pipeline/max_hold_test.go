package pipeline

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/tablewake/tablewake/pipeline/item"
)

// downUntil returns a Write that fails temporarily until the given time.
func downUntil(up time.Time) func(context.Context, []Delivery) error {
	return func(context.Context, []Delivery) error {
		if time.Now().Before(up) {
			return Transient(errDown)
		}
		return nil
	}
}

func TestMaxHold_CountsFromTheFirstTryInAReplay(t *testing.T) {
	for _, withMarks := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			n := map[string]int{}
			start := time.Now()
			var log bytes.Buffer
			reader := metric.NewManualReader()
			g, q := &graveyard{}, &marks{}
			s := &guarded{recorder{fail: downUntil(start.Add(90 * time.Minute))}}
			p := newPipeline(t, s, func(o *Options) {
				o.DeadLetters, o.MaxHold = g, time.Hour
				o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				o.Meter = metric.NewMeterProvider(metric.WithReader(reader))
				if withMarks {
					o.Quarantine = q
				}
			})
			if err := p.Run(t.Context(), pages(nil, pageOf(n, "p", 1, "a", "a", "b")), nil); err != nil {
				t.Fatal(err)
			}
			for _, l := range g.letters {
				if at := l.Time.Sub(start); at != time.Hour {
					t.Errorf("%s%s was given up after %v, want 1h", l.Key, l.Sequence, at)
				}
			}
			slices.SortFunc(g.letters, func(a, b DeadLetter) int { return strings.Compare(string(a.Key)+a.Sequence, string(b.Key)+b.Sequence) })
			want, class := []string{"s a1 held", "s b1 held"}, "class=held"
			// the outage ends before a2 has waited for an hour
			ledger := none(SinkLedger{Routed: 3, DeadLettered: 2, Written: 1})
			if withMarks {
				want = []string{"s a1 held", "s a2 quarantined", "s b1 held"}
				ledger = none(SinkLedger{Routed: 3, DeadLettered: 2, Quarantined: 1})
			}
			if !slices.Equal(g.lines(), want) || withMarks != (q.count["s"]["a"] == 2) {
				t.Errorf("letters %v, want %v; marks %v", g.lines(), want, q.count)
			}
			if !strings.Contains(g.letters[0].Error, "max_hold (1h0m0s)") || !strings.Contains(g.letters[0].Error, "down") {
				t.Errorf("the letter's error is %q", g.letters[0].Error)
			}
			if text := log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "max_hold passed") || !strings.Contains(text, "hint=") {
				t.Errorf("the log does not raise the alarm:\n%s", text)
			}
			if got := numbers(t, reader)["tablewake.sink.letters "+class+",pipeline=test,sink=s"]; got != 2 {
				t.Errorf("%v letters of class held are counted, want 2: %v", got, numbers(t, reader))
			}
			checkLedger(t, p, ledger)
		})
	}
}

// In a live pipeline, max_hold counts from the creation of the record. A record that is older than max_hold is still
// tried once.
func TestMaxHold_CountsFromTheCreationWhereLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		g := &graveyard{}
		page := pageOf(map[string]int{}, "p", 1, "a", "b")
		page.Changes[0].Time, page.Changes[1].Time = start.Add(-2*time.Hour), start.Add(-20*time.Minute)
		tries := map[item.Key]int{}
		s := &recorder{fail: func(_ context.Context, ds []Delivery) error {
			for _, d := range ds {
				tries[d.Change.Key]++
			}
			return RetryAfter(errDown, 5*time.Hour) // longer than the rest of max_hold
		}}
		p := newPipeline(t, s, func(o *Options) { o.DeadLetters, o.MaxHold, o.Live = g, time.Hour, true })
		if err := p.Run(t.Context(), pages(nil, page), nil); err != nil {
			t.Fatal(err)
		}
		at := map[item.Key]time.Duration{}
		for _, l := range g.letters {
			at[l.Key] = l.Time.Sub(start)
		}
		if at["a"] != 0 || at["b"] != 40*time.Minute || tries["a"] != 1 || tries["b"] != 1 {
			t.Errorf("given up after %v, tried %v", at, tries)
		}
	})
}

func TestMaxHold_NeedsDeadLetters(t *testing.T) {
	for _, o := range []Options{{MaxHold: time.Hour}, {MaxHold: -1, DeadLetters: &graveyard{}}, {Quarantine: &marks{}}} {
		o.Name, o.Routes = "test", []Route{{Name: "s", Sink: &recorder{}}}
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), "MaxHold") {
			t.Errorf("%+v is taken (%v)", o, err)
		}
	}
}

// Without dead letters, a live key blocks. The log says how many hours are left until the record is lost.
func TestMaxHold_TheLogTellsWhenTheRecordIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		page := pageOf(map[string]int{}, "p", 1, "a")
		page.Changes[0].Time = time.Now().Add(-4 * time.Hour)
		s := &recorder{fail: downUntil(time.Now().Add(time.Minute))}
		p := newPipeline(t, s, func(o *Options) { o.Live = true; o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		if err := p.Run(t.Context(), pages(nil, page), nil); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), "hours_to_loss=20") {
			t.Errorf("the log does not say that 20 hours are left:\n%s", log.String())
		}
	})
}
