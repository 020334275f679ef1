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

	var all iter.Seq2[pipeline.DeadLetter, error]
	switch {
	case !t.Live:
		all = target.Letters(ctx, local.Dir(t.Local), slog.New(slog.DiscardHandler))
	case cfg.DeadLetters == nil:
		return nil
	case cfg.DeadLetters.Queue != "":
		fmt.Fprintln(w, cli.Warning+"dead letters of a queue are not counted: `tablewake redrive "+flags+
			" --list` shows them")
		return nil
	default:
		opened, err := letters.Open(ctx, cfg, stores)
		if err != nil {
			return err
		}
		all = letters.Read(ctx, cfg, opened)
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
