package redrive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// outage are the classes of letters that were given up because their sink did not
// work, and of those behind them. The others need somebody to mend something first.
var outage = []string{"held", "quarantined"}

// Outage are the classes of letters that an outage leaves: those that were given up
// for max_hold, and those that follow them in their key's quarantine.
func Outage() []string { return slices.Clone(outage) }

// AutoOptions describe what [Auto] does.
type AutoOptions struct {
	// Options are those of each redrive. Sink, Key, Classes, DryRun and Discard are
	// not for Auto: it says so. Attempts is by default 1: it comes again anyway.
	Options

	Every  time.Duration    // how often it looks at each sink. Default: 1m
	Wait   pipeline.Backoff // between redrives of a sink that leave something, at least Every. Default: from 1m to 30m
	Logger *slog.Logger     // Default: discards
}

// Auto redelivers what an outage left in dead letters, once its sink is well again:
// letters given up for max_hold, and those that follow them in their key's quarantine. What
// was refused for good stays for somebody to mend and redrive. It runs beside the pipeline
// whose process it shares, also in several processes: what two of them deliver
// at once a sink sees twice, as with any redelivery.
//
// A sink is well when nothing has failed for now since its last Write that succeeded;
// then its letters are redriven at once. One that is not, or that nothing is written to, is
// tried with what lies there, as seldom as Wait says while that fails.
//
// Auto blocks until ctx is done, and answers nil then, or until an error marked with
// pipeline.Fatal. Other errors are logged, and it comes again.
func Auto(ctx context.Context, o AutoOptions) error {
	switch {
	case o.Pipeline == nil || o.Letters == nil:
		return errs.New("redrive: Auto needs Pipeline and Letters")
	case o.Sink != "" || o.Key != "" || o.Classes != nil || o.DryRun || o.Discard:
		return errs.New("redrive: Auto redrives every sink's letters of an outage: leave out Sink, Key, Classes, DryRun and Discard")
	case o.Every < 0 || o.Wait.Base < 0 || o.Wait.Max < 0:
		return errs.New("redrive: Every and Wait must not be negative")
	}
	o.Attempts = cmp.Or(o.Attempts, 1)
	o.Classes = outage
	o.Every = cmp.Or(o.Every, time.Minute)
	o.Wait.Base, o.Wait.Max = cmp.Or(o.Wait.Base, time.Minute), cmp.Or(o.Wait.Max, 30*time.Minute)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := auto{AutoOptions: o, sinks: map[string]*watched{}}
	wait := rand.N(o.Every) // processes that start together do not look together
	for sleep(ctx, wait) {
		wait = o.Every
		for _, info := range o.Pipeline.Routes() {
			if info.Suppressed || ctx.Err() != nil {
				continue
			}
			if err := a.look(ctx, info); err != nil {
				return fmt.Errorf("redrive: sink %q: %w", info.Name, err)
			}
			if a.sinks[info.Name].refused {
				wait = min(wait, refusedEvery)
			}
		}
	}
	return nil
}

// refusedEvery is how often it reads what it may not read, at least: refusals that are farther apart do not count
// as one.
const refusedEvery = time.Minute

// auto is an Auto under way.
type auto struct {
	AutoOptions
	sinks map[string]*watched
}

// watched is what Auto knows of a sink.
type watched struct {
	attempt int               // redrives in a row that left something
	next    time.Time         // before it there is none, unless the sink got well
	ended   time.Time         // the last one
	reads   pipeline.Patience // with refusals of what is read of letters and quarantines
	refused bool              // the last one was
}

// look redrives a sink's letters where it is time to, and there are some. Its error
// is fatal.
func (a *auto) look(ctx context.Context, info pipeline.RouteInfo) error {
	s := a.sinks[info.Name]
	if s == nil {
		s = &watched{}
		a.sinks[info.Name] = s
	}
	now := time.Now()
	if info.Well() && info.Failed.After(s.ended) {
		s.attempt, s.next = 0, now // it failed since, and works again
	}
	if now.Before(s.next) {
		return nil
	}
	s.next = now.Add(a.Every)
	some, err := a.some(ctx, info.Name)
	if err == nil && some {
		some, err = a.redrive(ctx, info.Name)
		s.ended = time.Now()
	}
	if ctx.Err() != nil {
		err = nil // it was told to stop
	}
	s.refused = pipeline.IsDenied(err)
	err = s.reads.Take(err)
	switch {
	case pipeline.IsFatal(err):
		return err
	case err != nil:
		a.Logger.LogAttrs(ctx, slog.LevelError, "dead letters are not redriven; it comes again",
			slog.String("sink", info.Name), slog.String("error", pipeline.LogText(err)))
	}
	if s.refused {
		s.next = now // until it is known whether it passes
		return nil
	}
	if s.attempt++; err == nil && !some {
		s.attempt = 0
		return nil
	}
	after, _ := pipeline.Retryable(err)
	s.next = time.Now().Add(max(a.Every, a.Wait.Delay(s.attempt-1, after)))
	return nil
}

// some tells whether a sink may have letters of an outage: it has a key that is
// held, which is cheap to ask, or such a letter where keys are not.
func (a *auto) some(ctx context.Context, sink string) (some bool, err error) {
	if a.Quarantine != nil {
		for _, err := range a.Quarantine.Marks(ctx, sink) {
			return err == nil, err
		}
		return false, nil
	}
	defer func() { err = errors.Join(err, release(ctx, a.Letters)) }()
	for l, err := range a.Letters.Read(ctx) {
		if err != nil || l.Sink == sink && slices.Contains(outage, l.Class) {
			return err == nil, err
		}
	}
	return false, nil
}

// redrive redrives a sink's letters once; left tells whether some of them stay.
func (a *auto) redrive(ctx context.Context, sink string) (left bool, err error) {
	o := a.Options
	o.Sink = sink
	report, err := Run(ctx, o)
	r := report.Sinks[sink]
	if r.Letters > 0 || r.Released > 0 {
		level := slog.LevelInfo
		if r.Failed+r.Waiting > 0 {
			level = slog.LevelWarn
		}
		a.Logger.LogAttrs(ctx, level, "dead letters of an outage are redriven", slog.String("sink", sink),
			slog.Int("delivered", r.Delivered), slog.Int("failed", r.Failed), slog.Int("waiting", r.Waiting), slog.Int("keys_let_go", r.Released))
	}
	return r.Failed+r.Waiting+r.Held > 0, err
}
