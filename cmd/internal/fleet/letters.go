package fleet

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

const (
	countedLetters = 10_000          // how many letters status counts
	countingFor    = 5 * time.Second // and for how long, both at most
)

var errCounted = errors.New("enough are counted")

// uncountable is the reason why some dead letters are never counted. It is not a failure.
type uncountable string

func (u uncountable) Error() string { return string(u) }

// lettersOf counts the dead letters and the quarantined keys of a pipeline, if that is cheap and changes nothing. It
// does not count the letters of a queue, as a read of a queue hides its messages from other readers.
func (o *statusOptions) lettersOf(ctx context.Context, cfg *config.Config, f *opened) *Letters {
	l := &Letters{Sinks: map[string]int{}, Keys: map[string]int{}}
	if cfg.DeadLetters == nil && o.Live { // a folder keeps them in any case
		l.None = true
		return l
	}
	ctx, cancel := context.WithTimeout(ctx, countingFor)
	defer cancel()
	n := 0
	add := func(d pipeline.DeadLetter) error {
		if n++; n > countedLetters {
			return errCounted
		}
		l.Sinks[d.Sink]++
		return nil
	}
	var err error
	if o.Live {
		err = liveLetters(ctx, cfg, f, l, add)
	} else {
		err = errors.Join(target.EachLetter(ctx, local.Dir(o.Local), slog.New(slog.DiscardHandler), add), target.ReadState(ctx, local.Dir(o.Local), cfg.Name, func(kept *sqlite.State) error { return countKeys(ctx, kept, l) }))
	}
	switch {
	case errors.Is(err, errCounted), n > 0 && ctx.Err() != nil:
		l.More = true
	case err != nil:
		l.Unknown = err.Error()
		_, never := errors.AsType[uncountable](err)
		l.Failed = !never
	}
	return l
}

func liveLetters(ctx context.Context, cfg *config.Config, f *opened, l *Letters, add func(pipeline.DeadLetter) error) error {
	if f.stores == nil {
		return uncountable("leases are in a file: `tablewake redrive --list` shows the letters")
	}
	if kept, err := f.stores.State(ctx, cfg); err != nil {
		return err
	} else if kept != nil {
		if err := countKeys(ctx, kept, l); err != nil {
			return err
		}
	}
	if cfg.DeadLetters.Queue != "" {
		return uncountable("to count those of a queue hides them from a redrive: `tablewake redrive --list` shows them")
	}
	kept, err := letters.Open(ctx, cfg, f.stores)
	if err != nil {
		return err
	}
	return letters.Each(ctx, cfg, kept, add)
}

// countKeys counts the quarantined keys by sink.
func countKeys(ctx context.Context, kept state.Quarantine, l *Letters) error {
	return target.EachMark(ctx, kept, func(m state.Mark) error {
		l.Keys[m.Sink]++
		return nil
	})
}
