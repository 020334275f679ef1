package redrive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// printSelected prints the letters of --list, or the letter of --show. If the letters are in a queue, it releases the
// messages at the end, so that other readers get them.
func (o *options) printSelected(
	ctx context.Context, cfg *config.Config, store deadletter.Store, s cli.Streams,
) error {
	var hidden *mask.Mask // nil hides nothing
	var err error
	if !o.unmasked {
		hidden, err = sinks.Mask(cfg)
	}
	if err == nil {
		out := cli.NewResults(s, o.format, 0)
		err = out.End(o.printLetters(ctx, cfg, store, hidden, s.Out, out), s.Err)
	}
	return errors.Join(err, deadletter.Release(ctx, store))
}

// printLetters prints the letter of --show to w, or the letters that the flags select to out.
func (o *options) printLetters(
	ctx context.Context, cfg *config.Config, store deadletter.Store, mask *mask.Mask, w io.Writer, out *cli.Results,
) error {
	if o.show != "" {
		return o.printShown(ctx, store, mask, w)
	}
	for l, err := range store.Read(ctx) {
		if err != nil {
			return err
		}
		if !o.selectsLetter(cfg, &l) {
			continue
		}
		letter := letters.MaskedJSON(mask, l)
		if err := out.Add(letter, letter.Line); err != nil {
			return err
		}
	}
	if out.Written == 0 && o.format == cli.FormatText {
		o.writeNoLetters(w)
	}
	return nil
}

// printShown prints the letter of --show.
func (o *options) printShown(ctx context.Context, store deadletter.Store, mask *mask.Mask, w io.Writer) error {
	for l, err := range store.Read(ctx) {
		if err != nil {
			return err
		}
		if deadletter.ID(&l) == o.show {
			return cli.WriteJSON(w, letters.MaskedJSON(mask, l))
		}
	}
	return fmt.Errorf("no dead letter has the ID %s: --list shows those that are there", o.show)
}

// selectsLetter reports whether the flags select a letter.
func (o *options) selectsLetter(cfg *config.Config, l *pipeline.DeadLetter) bool {
	isOwn := l.Pipeline == "" || l.Pipeline == cfg.Name
	matchesSink := o.sink == "" || o.sink == l.Sink
	matchesKey := o.key == "" || o.key == string(l.Key)
	matchesClass := len(o.classes) == 0 || slices.Contains(o.classes, l.Class)
	return isOwn && matchesSink && matchesKey && matchesClass
}
