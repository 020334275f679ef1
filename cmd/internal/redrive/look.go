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

// look shows letters, and gives back what a queue keeps for who reads it.
func (o *options) look(ctx context.Context, cfg *config.Config, kept deadletter.Store, s cli.Streams) (err error) {
	if l, ok := kept.(deadletter.Releaser); ok {
		defer func() { err = errors.Join(err, l.Release(context.WithoutCancel(ctx))) }()
	}
	var mask *mask.Mask
	if !o.bare {
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
			return cli.WriteJSON(s.Out, letters.Masked(mask, l))
		case o.list && o.wants(cfg, &l):
			one := letters.Masked(mask, l)
			if err := out.Add(one, one.Line); err != nil {
				return err
			}
		}
	}
	switch {
	case o.show != "":
		return fmt.Errorf("no dead letter has the ID %s: --list shows those that are there", o.show)
	case out.N == 0 && o.format == cli.FormatText:
		fmt.Fprintln(s.Out, "there are no such dead letters")
	}
	return nil
}

// wants tells whether a letter is one that the flags ask for.
func (o *options) wants(cfg *config.Config, l *pipeline.DeadLetter) bool {
	return (l.Pipeline == "" || l.Pipeline == cfg.Name) && (o.sink == "" || o.sink == l.Sink) &&
		(o.key == "" || o.key == string(l.Key)) && (len(o.classes) == 0 || slices.Contains(o.classes, l.Class))
}
