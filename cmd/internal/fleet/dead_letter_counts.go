package fleet

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
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
func (o *statusOptions) countLetters(ctx context.Context, shared *sharedStores) *Letters {
	l := &Letters{Sinks: map[string]int{}, Keys: map[string]int{}, Reasons: map[string]int{}}
	if shared.cfg.DeadLetters == nil && o.Live { // a folder always has a store of dead letters
		l.NotConfigured = true
		return l
	}
	ctx, cancel := cli.WithAnswerTimeout(ctx, countTimeout)
	defer cancel()
	var lettersErr, keysErr error // the errors that ended the count of letters and the count of keys
	if o.Live {
		lettersErr = l.countLive(ctx, shared)
	} else {
		folder := local.Dir(o.Local)
		lettersErr = l.add(target.Letters(ctx, folder, slog.New(slog.DiscardHandler)))
		keysErr = target.ReadState(ctx, folder, shared.cfg.Name,
			func(store *sqlite.State) error { return l.countKeys(ctx, store) })
	}
	l.setUnknown(ctx, lettersErr, keysErr)
	return l
}

// setUnknown notes that counts are incomplete. lettersErr ended the count of letters, and keysErr the count of
// quarantined keys. If a limit ended the count of letters, setUnknown only sets Truncated, because the letters counted
// so far are enough.
func (l *Letters) setUnknown(ctx context.Context, lettersErr, keysErr error) {
	reachedMax := errors.Is(lettersErr, errMaxLetters)
	timedOutWithSome := lettersErr != nil && ctx.Err() != nil && len(l.Sinks) > 0
	if reachedMax || timedOutWithSome {
		l.Truncated, lettersErr = true, nil
	}
	if err := errors.Join(lettersErr, keysErr); err != nil {
		l.Unknown = cli.ExplainTimeout(ctx, err).Error()
		_, isUncountable := errors.AsType[uncountable](err)
		l.Failed = !isUncountable
	}
}

// add counts dead letters. It returns errMaxLetters if the limit is reached.
func (l *Letters) add(all iter.Seq2[pipeline.DeadLetter, error]) error {
	for d, err := range all {
		switch {
		case err != nil:
			return err
		case Sum(l.Sinks) == maxLetters:
			return errMaxLetters
		}
		l.Sinks[d.Sink]++
		l.Reasons[d.Class]++
		if l.Oldest == nil || d.Time.Before(*l.Oldest) {
			l.Oldest = cli.OptionalTime(d.Time.UTC())
		}
	}
	return nil
}

// countLive counts the letters and the quarantined keys in the stores of AWS.
func (l *Letters) countLive(ctx context.Context, shared *sharedStores) error {
	if shared.stores == nil {
		return uncountable("leases are in a file: `tablewake redrive --list` shows the letters")
	}
	stateStore, err := shared.stores.State(ctx, shared.cfg)
	if err != nil {
		return err
	}
	if stateStore != nil {
		if err := l.countKeys(ctx, stateStore); err != nil {
			return err
		}
	}
	letterStore, err := letters.Open(ctx, shared.cfg, shared.stores)
	if err != nil {
		return err
	}
	if queue, isQueue := letterStore.(letterQueue); isQueue {
		return l.countQueued(ctx, queue)
	}
	return l.add(letters.Read(ctx, shared.cfg, letterStore))
}

// letterQueue is implemented by a store of dead letters that is a queue. Count returns false if the number is unknown.
type letterQueue interface {
	Count(ctx context.Context) (n int, known bool, err error)
}

// countQueued sets the number of messages in a queue.
func (l *Letters) countQueued(ctx context.Context, queue letterQueue) error {
	n, isKnown, err := queue.Count(ctx)
	l.Queued = n
	if err == nil && !isKnown {
		return uncountable("the credentials do not allow sqs:GetQueueAttributes: `tablewake redrive --list` shows them")
	}
	return err
}

// countKeys counts the quarantined keys by sink.
func (l *Letters) countKeys(ctx context.Context, store state.Quarantine) error {
	for m, err := range store.Marks(ctx, "") {
		if err != nil {
			return err
		}
		l.Keys[m.Sink]++
	}
	return nil
}
