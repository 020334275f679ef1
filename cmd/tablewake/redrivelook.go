package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// look shows letters, and gives back what a queue keeps for who reads it.
func (o *redriveOptions) look(ctx context.Context, cfg *config.Config, letters deadletter.Store, s cli.Streams) (err error) {
	if l, ok := letters.(deadletter.Releaser); ok {
		defer func() { err = errors.Join(err, l.Release(context.WithoutCancel(ctx))) }()
	}
	var mask *pipeline.Mask
	if !o.bare {
		if mask, err = sinks.Mask(cfg); err != nil {
			return err
		}
	}
	out := cli.NewResults(s, o.format, 0)
	defer func() { err = errors.Join(err, out.W.Flush()) }() // what was found before an error is shown
	for l, err := range letters.Read(ctx) {
		if err != nil {
			return err
		}
		id := deadletter.ID(&l)
		switch {
		case o.show == id:
			one := letterOf(maskLetter(mask, l))
			one.ID = id // the masked letter's own is another
			return cli.WriteJSON(out.W, one)
		case o.list && o.wants(cfg, &l):
			one := letterOf(maskLetter(mask, l))
			one.ID = id
			if err := out.Add(one, one.line); err != nil {
				return err
			}
		}
	}
	switch {
	case o.show != "":
		return fmt.Errorf("no dead letter has the ID %s: --list shows those that are there", o.show)
	case out.N == 0 && o.format == cli.FormatText:
		fmt.Fprintln(out.W, "there are no such dead letters")
	}
	return nil
}

// wants tells whether a letter is one that the flags ask for.
func (o *redriveOptions) wants(cfg *config.Config, l *pipeline.DeadLetter) bool {
	return (l.Pipeline == "" || l.Pipeline == cfg.Name) && (o.sink == "" || o.sink == l.Sink) &&
		(o.key == "" || o.key == string(l.Key)) && (len(o.classes) == 0 || slices.Contains(o.classes, l.Class))
}
