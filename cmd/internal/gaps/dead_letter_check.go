package gaps

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/local"
)

// CheckLetters returns an error if dead letters of the named sinks wait, or if keys are quarantined at these sinks.
// Without names it checks all sinks that can be repaired. It writes warnings to w.
func CheckLetters(
	ctx context.Context, t *target.Flags, cfg *config.Config, stores *target.Stores, names []string, w io.Writer,
) error {
	flags := t.CommandLine(cfg)
	if len(names) == 0 {
		names = cfg.SinksToRepair()
	}
	store, err := stores.State(ctx, cfg)
	if err != nil {
		return err
	}
	if store != nil {
		if err := CheckQuarantine(ctx, store, names, flags); err != nil {
			return err
		}
	}

	hasQueue := cfg.DeadLetters != nil && cfg.DeadLetters.Queue != ""
	if t.Live && hasQueue {
		fmt.Fprintln(w, cli.Warning+"dead letters of a queue are not counted: `tablewake redrive "+flags+
			" --list` shows them")
		return nil
	}
	all, err := storedLetters(ctx, t, cfg, stores)
	if err != nil {
		return err
	}
	for l, err := range all {
		if err != nil {
			return err
		}
		wasWritten := l.Class == pipeline.ClassCollision
		if slices.Contains(names, l.Sink) && !wasWritten {
			return waitingLettersError(l.Sink, flags)
		}
	}
	return nil
}

// storedLetters returns the dead letters of a pipeline. The sequence is empty if none are configured.
func storedLetters(
	ctx context.Context, t *target.Flags, cfg *config.Config, stores *target.Stores,
) (iter.Seq2[pipeline.DeadLetter, error], error) {
	switch {
	case !t.Live:
		return target.Letters(ctx, local.Dir(t.Local), slog.New(slog.DiscardHandler)), nil
	case cfg.DeadLetters == nil:
		return func(func(pipeline.DeadLetter, error) bool) {}, nil
	}
	opened, err := letters.Open(ctx, cfg, stores)
	if err != nil {
		return nil, err
	}
	return letters.Read(ctx, cfg, opened), nil
}
