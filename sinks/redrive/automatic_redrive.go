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
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// outage has the classes of letters that an outage of a sink leaves. Letters of other classes fail again until their
// cause is fixed.
var outage = []string{"held", "quarantined"}

// OutageClasses returns the classes of letters that an outage of a sink leaves. One class has the letters that expired
// (max_hold). The other class has the letters that were quarantined after an expired letter.
func OutageClasses() []string { return slices.Clone(outage) }

// AutoOptions are the options of [Auto].
type AutoOptions struct {
	// Options are the options of each redrive. Auto refuses Sink, Key, Classes, DryRun and Discard. The default of
	// Attempts is 1, because Auto tries again anyway.
	Options

	Every  time.Duration    // time between two checks of a sink. Default: 1m
	Wait   pipeline.Backoff // backoff after a redrive that left letters, at least Every. Default: from 1m to 30m
	Logger *slog.Logger     // Default: nothing is logged
}

// Auto redrives the dead letters that an outage left (see [OutageClasses]) once their sink is well again. Letters that
// failed permanently stay until their cause is fixed and they are redriven by hand. Auto runs in the process of the
// pipeline. It can run in several processes. If two processes deliver a letter at once, it reaches the sink twice, as
// with any redelivery.
//
// A sink is well if nothing has failed temporarily since its last successful Write ([pipeline.RouteInfo.Healthy]). Auto
// redrives the letters of a sink at the next check after the sink becomes well again. A sink to which nothing is
// written cannot become well in this sense. So Auto also tries a redrive for a sink that is not well, with the backoff
// Wait between tries that fail.
//
// Auto blocks until ctx ends, or until an error marked with pipeline.Fatal. It returns nil in the first case, and the
// error in the second. It logs other errors, and tries again.
func Auto(ctx context.Context, o AutoOptions) error {
	switch {
	case o.Pipeline == nil || o.Letters == nil:
		return errs.New("redrive: Auto needs Pipeline and Letters")
	case o.Sink != "" || o.Key != "" || o.Classes != nil || o.DryRun || o.Discard:
		return errs.New(
			"redrive: Auto redrives every sink's letters of an outage: leave out Sink, Key, Classes, DryRun and Discard")
	case o.Every < 0 || o.Wait.Base < 0 || o.Wait.Max < 0:
		return errs.New("redrive: Every and Wait must not be negative")
	}
	o.Attempts = cmp.Or(o.Attempts, 1)
	o.Classes = outage
	o.Every = cmp.Or(o.Every, time.Minute)
	o.Wait.Base, o.Wait.Max = cmp.Or(o.Wait.Base, time.Minute), cmp.Or(o.Wait.Max, 30*time.Minute)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	a := auto{AutoOptions: o, sinks: map[string]*sinkProgress{}}
	wait := rand.N(o.Every) // processes that start together do not check together
	for pipeline.Sleep(ctx, wait) == nil {
		var err error
		if wait, err = a.checkAll(ctx); err != nil {
			return err
		}
	}
	return nil
}

// refusedEvery is the longest pause between two reads that are refused for missing rights. After a longer pause,
// [pipeline.DenialTracker] would start a new period.
const refusedEvery = time.Minute

// auto is a running Auto.
type auto struct {
	AutoOptions
	sinks map[string]*sinkProgress
}

// sinkProgress is the state of a sink in Auto.
type sinkProgress struct {
	attempt int                    // number of consecutive checks that failed or left letters
	next    time.Time              // time of the next check, unless the sink becomes well again earlier
	ended   time.Time              // end of the last redrive
	reads   pipeline.DenialTracker // decides how long refused reads of letters and marks are tolerated
	refused bool                   // the last check was refused
}

// checkAll checks every sink. It returns the pause before the next check, or a fatal error.
func (a *auto) checkAll(ctx context.Context) (wait time.Duration, err error) {
	wait = a.Every
	for _, info := range a.Pipeline.Routes() {
		if info.Suppressed || ctx.Err() != nil {
			continue
		}
		if err := a.check(ctx, info); err != nil {
			return 0, fmt.Errorf("redrive: sink %q: %w", info.Name, err)
		}
		if a.sinks[info.Name].refused {
			wait = min(wait, refusedEvery)
		}
	}
	return wait, nil
}

// check redrives the letters of a sink if the next check of the sink is due, and it may have letters. It returns fatal
// errors only.
func (a *auto) check(ctx context.Context, info pipeline.RouteInfo) error {
	s := a.sinks[info.Name]
	if s == nil {
		s = &sinkProgress{}
		a.sinks[info.Name] = s
	}
	now := time.Now()
	becameHealthy := info.Healthy() && info.Failed.After(s.ended) // it failed after the last redrive
	if becameHealthy {
		s.attempt = 0
	} else if now.Before(s.next) {
		return nil
	}

	hasLetters, err := a.mayHaveLetters(ctx, info.Name)
	if err == nil && hasLetters {
		hasLetters, err = a.redrive(ctx, info.Name)
		s.ended = time.Now()
	}
	if ctx.Err() != nil {
		err = nil // Auto is being stopped
	}

	s.refused = pipeline.IsDenied(err)
	err = s.reads.Classify(err)
	if pipeline.IsFatal(err) {
		return err
	}
	if err != nil {
		a.Logger.LogAttrs(ctx, slog.LevelError, "dead letters are not redriven; it comes again",
			slog.String("sink", info.Name), slog.String("error", redact.LogText(err)))
	}
	a.planNext(s, now, hasLetters, err)
	return nil
}

// planNext sets the time of the next check of a sink, after a check that began at started. err is the error of the
// check.
func (a *auto) planNext(s *sinkProgress, started time.Time, hasLetters bool, err error) {
	switch {
	case s.refused:
		s.next = started // the next read decides whether the refusal lasts
	case err == nil && !hasLetters:
		s.attempt, s.next = 0, started.Add(a.Every)
	default:
		after, _ := pipeline.Retryable(err)
		s.next = time.Now().Add(max(a.Every, a.Wait.Delay(s.attempt, after)))
		s.attempt++
	}
}

// mayHaveLetters reports whether a sink may have letters of an outage. With a Quarantine it looks for a quarantined
// key, which is cheap. Without a Quarantine it reads letters.
func (a *auto) mayHaveLetters(ctx context.Context, sink string) (mayHave bool, err error) {
	if a.Quarantine != nil {
		for _, err := range a.Quarantine.Marks(ctx, sink) {
			return err == nil, err
		}
		return false, nil
	}
	defer func() { err = errors.Join(err, deadletter.Release(ctx, a.Letters)) }()
	for letter, err := range a.Letters.Read(ctx) {
		if err != nil {
			return false, err
		}
		if letter.Sink == sink && slices.Contains(outage, letter.Class) {
			return true, nil
		}
	}
	return false, nil
}

// redrive redrives a sink's letters once. hasLetters reports whether letters or quarantined keys stay.
func (a *auto) redrive(ctx context.Context, sink string) (hasLetters bool, err error) {
	options := a.Options
	options.Sink = sink
	report, err := Run(ctx, options)
	result := report.Sinks[sink]
	staying := result.Failed + result.Waiting
	if result.Letters > 0 || result.Released > 0 {
		level := slog.LevelInfo
		if staying > 0 {
			level = slog.LevelWarn
		}
		a.Logger.LogAttrs(ctx, level, "dead letters of an outage are redriven", slog.String("sink", sink),
			slog.Int("delivered", result.Delivered), slog.Int("failed", result.Failed), slog.Int("waiting", result.Waiting),
			slog.Int("keys_let_go", result.Released))
	}
	return staying+result.Held > 0, err
}
