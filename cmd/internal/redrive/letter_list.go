package redrive

import (
	"context"
	"errors"
	"fmt"
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
	ctx context.Context, cfg *config.Config, kept deadletter.Store, s cli.Streams,
) (err error) {
	if l, ok := kept.(deadletter.Releaser); ok {
		defer func() { err = errors.Join(err, l.Release(context.WithoutCancel(ctx))) }()
	}
	var mask *mask.Mask
	if !o.unmasked {
		if mask, err = sinks.Mask(cfg); err != nil {
			return err
		}
	}
	out := cli.NewResults(s, o.format, 0)
	defer func() { err = out.End(err, s.Err) }()
	for l, err := range kept.Read(ctx) {
		if err != nil {
			return err
		}
		switch {
		case o.show == deadletter.ID(&l):
			return cli.WriteJSON(s.Out, letters.MaskedJSON(mask, l))
		case o.list && o.selectsLetter(cfg, &l):
			letter := letters.MaskedJSON(mask, l)
			if err := out.Add(letter, letter.Line); err != nil {
				return err
			}
		}
	}
	switch {
	case o.show != "":
		return fmt.Errorf("no dead letter has the ID %s: --list shows those that are there", o.show)
	case out.Written == 0 && o.format == cli.FormatText:
		o.writeNone(s.Out)
	}
	return nil
}

// selectsLetter reports whether the flags select a letter.
func (o *options) selectsLetter(cfg *config.Config, l *pipeline.DeadLetter) bool {
	isOwn := l.Pipeline == "" || l.Pipeline == cfg.Name
	matchesSink := o.sink == "" || o.sink == l.Sink
	matchesKey := o.key == "" || o.key == string(l.Key)
	matchesClass := len(o.classes) == 0 || slices.Contains(o.classes, l.Class)
	return isOwn && matchesSink && matchesKey && matchesClass
}
