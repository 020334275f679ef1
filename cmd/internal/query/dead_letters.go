package query

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

func (o *options) newDead(s cli.Streams) *cobra.Command {
	var d deadOptions
	c := &cobra.Command{
		Use:   "dead",
		Short: "What could not be decoded or delivered, and why",
		Long: `dead shows the dead letters of a folder, or with --live those of the configured bucket or queue; with
-o json, it includes their records. A letter has the whole record. dead masks the attributes that
are sensitive in the configuration that wrote the folder, or in the one of -c. It leaves out records
that cannot be decoded, because it cannot mask them. --unmasked shows everything.

With --quarantined, it shows the quarantined keys, whose later changes become dead letters too. Each
has the first letter that failed: solve that problem before you run tablewake redrive.`,
		Example: `  tablewake query dead --local out
  tablewake query dead --local out --quarantined
  tablewake query dead -c tablewake.yaml --live
  tablewake query dead --local out --unmasked -o json | jq -c .record | tablewake replay -c tablewake.yaml --local again -`,
		Args: cli.ArgumentRange(0, 0, "(--local DIR | -c FILE --live)"),
		RunE: func(c *cobra.Command, _ []string) error {
			return o.run(c.Context(), s, func(dir local.Dir, out *cli.Results) error {
				box := folderBox(dir, cli.NewWarnLogger(s.Err, false))
				if !d.unmasked {
					var err error
					if box.mask, err = target.FolderMask(o.local); err != nil {
						return err
					}
				}
				return d.show(c.Context(), box, out)
			}, func(l liveStores, out *cli.Results) error { return d.showLive(c.Context(), l, out) })
		},
	}
	f := c.Flags()
	f.BoolVar(&d.unmasked, "unmasked", false, "do not mask sensitive attributes")
	f.BoolVar(&d.keys, "quarantined", false, "show the quarantined keys, not the letters")
	return c
}

// deadOptions are the flags of `query dead`.
type deadOptions struct {
	unmasked, keys bool
}

// letterBox reads dead letters, and the marks that record which keys are quarantined. It reads a folder or real stores.
type letterBox struct {
	letters func(ctx context.Context, do func(pipeline.DeadLetter) error) error
	marks   func(ctx context.Context, pipelines []string, do func(state.Mark) error) error
	mask    *mask.Mask
}

// folderBox returns the letterBox of a --local folder. It logs lines that are not dead letters.
func folderBox(dir local.Dir, log *slog.Logger) letterBox {
	return letterBox{
		letters: func(ctx context.Context, do func(pipeline.DeadLetter) error) error {
			return target.EachLetter(ctx, dir, log, do)
		},
		marks: func(ctx context.Context, pipelines []string, do func(state.Mark) error) error {
			owner, err := target.ReadOwner(string(dir))
			if err == nil && !slices.Contains(pipelines, owner.Pipeline) {
				pipelines = append(pipelines, owner.Pipeline) // marks can be left after all letters are delivered
			}
			for _, name := range pipelines {
				err := target.ReadState(ctx, dir, name, func(store *sqlite.State) error { return target.EachMark(ctx, store, do) })
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// showLive prints the letters of the real stores.
func (d *deadOptions) showLive(ctx context.Context, l liveStores, out *cli.Results) (err error) {
	letterStore, err := letters.Open(ctx, l.cfg, l.Stores)
	if err != nil {
		return err
	}
	if releaser, ok := letterStore.(deadletter.Releaser); ok {
		defer func() { err = errors.Join(err, releaser.Release(context.WithoutCancel(ctx))) }()
	}
	box := letterBox{
		letters: func(ctx context.Context, do func(pipeline.DeadLetter) error) error {
			return letters.Each(ctx, l.cfg, letterStore, do)
		},
		marks: func(ctx context.Context, _ []string, do func(state.Mark) error) error {
			stateStore, err := l.State(ctx, l.cfg)
			if err != nil || stateStore == nil {
				return err
			}
			return target.EachMark(ctx, stateStore, do)
		},
	}
	if !d.unmasked {
		if box.mask, err = sinks.Mask(l.cfg); err != nil {
			return err
		}
	}
	return d.show(ctx, box, out)
}

// show prints the letters. With --quarantined it prints the quarantined keys instead.
func (d *deadOptions) show(ctx context.Context, box letterBox, out *cli.Results) error {
	if d.keys {
		return printQuarantined(ctx, box, out)
	}
	return box.letters(ctx, func(l pipeline.DeadLetter) error {
		letter := letters.MaskedJSON(box.mask, l)
		return out.Add(letter, func() string {
			return fmt.Sprintf("%s  %s  %s: %s", letters.EverySink(letter.Sink), letter.Key, letter.Class,
				firstLine(letter.Error))
		})
	})
}

// firstLine returns the first line of an error. The further lines are the stack of a panic, which only -o json prints.
func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// quarantinedKey is a key in `query dead --quarantined -o json`. Later changes of such a key go to dead letters.
type quarantinedKey struct {
	Sink    string    `json:"sink"`
	Key     item.Key  `json:"key"`
	Since   time.Time `json:"since"`
	Letters int       `json:"letters"`         // number of the key's letters; 0 if they are delivered
	Class   string    `json:"class,omitempty"` // class of the key's first letter
	Error   string    `json:"error,omitempty"`

	version record.Version
}

func (k quarantinedKey) text() string {
	reason := cli.Choose(k.Letters == 0, "its letters are delivered; a redrive releases it", k.Class+": "+firstLine(k.Error))
	return fmt.Sprintf("%s  %s  %s since %s  %s", k.Sink, k.Key, cli.Count(k.Letters, "letter"),
		k.Since.Format(time.RFC3339), reason)
}

func printQuarantined(ctx context.Context, box letterBox, out *cli.Results) error {
	keys, err := quarantinedKeys(ctx, box)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if err := out.Add(k, k.text); err != nil {
			return err
		}
	}
	return nil
}

// quarantinedKeys returns the quarantined keys, each with the error of its first letter. After an interrupted redrive,
// a key can be quarantined without a letter. quarantinedKeys reads the marks of each pipeline that a letter names.
func quarantinedKeys(ctx context.Context, box letterBox) ([]quarantinedKey, error) {
	type keyOfSink struct {
		sink string // "": every sink
		key  item.Key
	}
	withLetters := map[keyOfSink]quarantinedKey{}
	pipelines := map[string]bool{}
	err := box.letters(ctx, func(l pipeline.DeadLetter) error {
		pipelines[l.Pipeline] = true
		id := keyOfSink{l.Sink, l.Key}
		l = letters.Mask(box.mask, l)
		k := withLetters[id]
		isFirst := k.Letters == 0 || l.Version.Compare(k.version) < 0
		if isFirst {
			k.Key, k.Class, k.Error, k.version = l.Key, l.Class, l.Error, l.Version
		}
		k.Letters++
		withLetters[id] = k
		return nil
	})
	if err != nil {
		return nil, err
	}
	var keys []quarantinedKey
	err = box.marks(ctx, slices.Sorted(maps.Keys(pipelines)), func(m state.Mark) error {
		k := withLetters[keyOfSink{m.Sink, m.Key}]
		ofEverySink := withLetters[keyOfSink{"", m.Key}]
		switch {
		case k.Letters+ofEverySink.Letters == 0:
			k.Key = item.Key(box.mask.Text(string(m.Key)))
		case k.Letters == 0, ofEverySink.Letters > 0 && ofEverySink.version.Compare(k.version) < 0:
			k.Key, k.Class, k.Error = ofEverySink.Key, ofEverySink.Class, ofEverySink.Error
		}
		k.Letters += ofEverySink.Letters
		k.Sink, k.Since = m.Sink, m.Since
		keys = append(keys, k)
		return nil
	})
	return keys, err
}
