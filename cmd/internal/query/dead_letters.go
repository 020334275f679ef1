package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
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
			return o.run(c.Context(), s,
				func(dir local.Dir, out *cli.Results) error { return d.showLocal(c.Context(), dir, s.Err, out) },
				func(l liveStores, out *cli.Results) error { return d.showLive(c.Context(), l, out) })
		},
	}
	f := c.Flags()
	f.BoolVar(&d.unmasked, "unmasked", false, "do not mask sensitive attributes")
	f.BoolVar(&d.quarantined, "quarantined", false, "show the quarantined keys, not the letters")
	return c
}

// deadOptions are the flags of `query dead`.
type deadOptions struct {
	unmasked, quarantined bool
}

// letterBox reads dead letters, and the marks that record which keys are quarantined. It reads a folder or real stores.
type letterBox struct {
	letters iter.Seq2[pipeline.DeadLetter, error]
	marks   func(pipelines []string) ([]state.Mark, error)
	mask    *mask.Mask
}

// folderBox returns the letterBox of a --local folder. It logs lines that are not dead letters.
func folderBox(ctx context.Context, dir local.Dir, log *slog.Logger) letterBox {
	return letterBox{
		letters: target.Letters(ctx, dir, log),
		marks:   func(pipelines []string) ([]state.Mark, error) { return folderMarks(ctx, dir, pipelines) },
	}
}

// folderMarks returns the marks of pipelines in a --local folder, and those of the pipeline that owns the folder. The
// owner can have marks after all its letters are delivered.
func folderMarks(ctx context.Context, dir local.Dir, pipelines []string) (all []state.Mark, err error) {
	owner, err := target.ReadOwner(string(dir))
	if err == nil && !slices.Contains(pipelines, owner.Pipeline) {
		pipelines = append(pipelines, owner.Pipeline)
	}
	for _, name := range pipelines {
		err := target.ReadState(ctx, dir, name, func(store *sqlite.State) error {
			marks, err := readMarks(ctx, store)
			all = append(all, marks...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readMarks returns all marks of a quarantine.
func readMarks(ctx context.Context, quarantine state.Quarantine) (marks []state.Mark, err error) {
	for m, err := range quarantine.Marks(ctx, "") {
		if err != nil {
			return nil, err
		}
		marks = append(marks, m)
	}
	return marks, nil
}

// showLocal prints the letters of a --local folder. It logs to stderr.
func (d *deadOptions) showLocal(ctx context.Context, dir local.Dir, stderr io.Writer, out *cli.Results) (err error) {
	box := folderBox(ctx, dir, cli.NewWarnLogger(stderr, false))
	if !d.unmasked {
		if box.mask, err = target.FolderMask(string(dir)); err != nil {
			return err
		}
	}
	return errors.Join(d.show(box, out), printSetAside(stderr, dir.DeadLetters()))
}

// showLive prints the letters of the real stores.
func (d *deadOptions) showLive(ctx context.Context, l liveStores, out *cli.Results) (err error) {
	letterStore, err := letters.Open(ctx, l.cfg, l.Stores)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, deadletter.Release(ctx, letterStore)) }()
	box := letterBox{
		letters: letters.Read(ctx, l.cfg, letterStore),
		marks: func([]string) ([]state.Mark, error) {
			stateStore, err := l.State(ctx, l.cfg)
			if err != nil || stateStore == nil {
				return nil, err
			}
			return readMarks(ctx, stateStore)
		},
	}
	if !d.unmasked {
		if box.mask, err = sinks.Mask(l.cfg); err != nil {
			return err
		}
	}
	return d.show(box, out)
}

// show prints the letters. With --quarantined it prints the quarantined keys instead.
func (d *deadOptions) show(box letterBox, out *cli.Results) error {
	if d.quarantined {
		return printQuarantined(box, out)
	}
	for l, err := range box.letters {
		if err != nil {
			return err
		}
		letter := letters.MaskedJSON(box.mask, l)
		err := out.Add(letter, func() string {
			return fmt.Sprintf("%s  %s  %s: %s", letters.EverySink(letter.Sink), letter.Key, letter.Class,
				firstLine(letter.Error))
		})
		if err != nil {
			return err
		}
	}
	return nil
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

	version record.Version // version of the first letter
}

// merge returns k with the letters of other. The first letter of the result is the first of both.
func (k quarantinedKey) merge(other quarantinedKey) quarantinedKey {
	merged := k
	otherIsFirst := other.Letters > 0 && other.version.Compare(k.version) < 0
	if k.Letters == 0 || otherIsFirst {
		merged = other
	}
	merged.Letters = k.Letters + other.Letters
	return merged
}

func (k quarantinedKey) text() string {
	reason := cli.Choose(k.Letters == 0, "its letters are delivered; a redrive releases it", k.Class+": "+firstLine(k.Error))
	return fmt.Sprintf("%s  %s  %s since %s  %s", k.Sink, k.Key, cli.Count(k.Letters, "letter"),
		k.Since.Format(time.RFC3339), reason)
}

func printQuarantined(box letterBox, out *cli.Results) error {
	keys, err := quarantinedKeys(box)
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

// keyOfSink is a sink and the key of an item.
type keyOfSink struct {
	sink string // "": every sink
	key  item.Key
}

// keysWithLetters returns the keys that have letters, each with its first letter and their number, and the pipelines
// that the letters name.
func (box letterBox) keysWithLetters() (
	withLetters map[keyOfSink]quarantinedKey, pipelines map[string]bool, err error,
) {
	withLetters, pipelines = make(map[keyOfSink]quarantinedKey), make(map[string]bool)
	for l, err := range box.letters {
		if err != nil {
			return nil, nil, err
		}
		pipelines[l.Pipeline] = true
		id := keyOfSink{l.Sink, l.Key}
		l = letters.Mask(box.mask, l)
		withLetters[id] = withLetters[id].merge(
			quarantinedKey{Key: l.Key, Letters: 1, Class: l.Class, Error: l.Error, version: l.Version})
	}
	return withLetters, pipelines, nil
}

// quarantinedKeys returns the quarantined keys, each with the error of its first letter. After an interrupted redrive,
// a key can be quarantined without a letter. quarantinedKeys reads the marks of each pipeline that a letter names.
func quarantinedKeys(box letterBox) ([]quarantinedKey, error) {
	withLetters, pipelines, err := box.keysWithLetters()
	if err != nil {
		return nil, err
	}
	marks, err := box.marks(slices.Sorted(maps.Keys(pipelines)))
	if err != nil {
		return nil, err
	}
	var keys []quarantinedKey
	for _, m := range marks {
		k := withLetters[keyOfSink{m.Sink, m.Key}].merge(withLetters[keyOfSink{"", m.Key}])
		if k.Letters == 0 {
			k.Key = item.Key(box.mask.Text(string(m.Key)))
		}
		k.Sink, k.Since = m.Sink, m.Since
		keys = append(keys, k)
	}
	return keys, nil
}
