package fleet

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

const (
	maxLetters   = 10_000          // status counts at most this many dead letters
	countTimeout = 5 * time.Second // status counts for at most this long
)

var errMaxLetters = errors.New("the limit of counted dead letters is reached")

// uncountable is the reason why some dead letters are never counted. It is not a failure.
type uncountable string

func (u uncountable) Error() string { return string(u) }

// countLetters counts the dead letters and the quarantined keys of a pipeline, if that is cheap and changes nothing.
// For a queue it reads the number of messages, because reading messages hides them from other readers.
func (o *statusOptions) countLetters(ctx context.Context, cfg *config.Config, shared *sharedStores) *Letters {
	l := &Letters{Sinks: map[string]int{}, Keys: map[string]int{}, Reasons: map[string]int{}}
	if cfg.DeadLetters == nil && o.Live { // a folder always has a store of dead letters
		l.None = true
		return l
	}
	ctx, cancel := cli.WithAnswerTimeout(ctx, countTimeout)
	defer cancel()
	n := 0
	add := func(d pipeline.DeadLetter) error {
		if n++; n > maxLetters {
			return errMaxLetters
		}
		l.Sinks[d.Sink]++
		l.Reasons[d.Class]++
		if l.Oldest == nil || d.Time.Before(*l.Oldest) {
			l.Oldest = cli.OptionalTime(d.Time.UTC())
		}
		return nil
	}
	if o.Live {
		l.setUnknown(ctx, n > 0, liveLetters(ctx, cfg, shared, l, add), nil)
		return l
	}
	folder := local.Dir(o.Local)
	err := target.EachLetter(ctx, folder, slog.New(slog.DiscardHandler), add)
	keysErr := target.ReadState(ctx, folder, cfg.Name, func(kept *sqlite.State) error { return countKeys(ctx, kept, l) })
	l.setUnknown(ctx, n > 0, err, keysErr)
	return l
}

// setUnknown notes that counts are incomplete. err ended the count of letters, and keysErr ended the count of
// quarantined keys. some reports whether letters were counted before err.
func (l *Letters) setUnknown(ctx context.Context, hasLetters bool, err, keysErr error) {
	if errors.Is(err, errMaxLetters) || err != nil && hasLetters && ctx.Err() != nil {
		l.More, err = true, nil
	}
	if err = errors.Join(err, keysErr); err == nil {
		return
	}
	l.Unknown = cli.ExplainTimeout(ctx, err).Error()
	_, isUncountable := errors.AsType[uncountable](err)
	l.Failed = !isUncountable
}

func liveLetters(
	ctx context.Context, cfg *config.Config, shared *sharedStores, l *Letters, add func(pipeline.DeadLetter) error,
) error {
	if shared.stores == nil {
		return uncountable("leases are in a file: `tablewake redrive --list` shows the letters")
	}
	if kept, err := shared.stores.State(ctx, cfg); err != nil {
		return err
	} else if kept != nil {
		if err := countKeys(ctx, kept, l); err != nil {
			return err
		}
	}
	kept, err := letters.Open(ctx, cfg, shared.stores)
	if err != nil {
		return err
	}
	if queue, ok := kept.(interface {
		Count(ctx context.Context) (n int, known bool, err error)
	}); ok {
		var known bool
		if l.Queued, known, err = queue.Count(ctx); err == nil && !known {
			err = uncountable("the credentials do not allow sqs:GetQueueAttributes: `tablewake redrive --list` shows them")
		}
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
