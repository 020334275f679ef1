package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter"
	deaddir "github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

func (o *queryOptions) dead(s streams) *cobra.Command {
	var unmasked, keys bool
	c := &cobra.Command{
		Use:   "dead",
		Short: "What could not be decoded or delivered, and why",
		Long: `dead shows the letters of a folder; with -o json with their records. A letter holds the
whole record. What was sensitive in the configuration that wrote the folder is shown
masked, and a record that does not decode is left out then: --unmasked shows all as it is.

With --quarantined it shows the keys instead whose later changes go to dead letters too,
each with what was the first to fail: that is to be mended before tablewake redrive.`,
		Example: `  tablewake query dead --local out
  tablewake query dead --local out --quarantined
  tablewake query dead --local out --unmasked -o json | jq -c .record | tablewake replay -c tablewake.yaml --local again -`,
		Args: exactly(0, 0, "--local DIR"),
		RunE: func(c *cobra.Command, _ []string) error {
			log := logger(s.err, false)
			return o.in(s, func(dir local.Dir, out *results) error {
				var mask *pipeline.Mask
				if !unmasked {
					var err error
					if mask, err = folderMask(o.local); err != nil {
						return err
					}
				}
				if keys {
					return quarantined(c.Context(), dir, mask, log, out)
				}
				return eachLetter(c.Context(), dir, log, func(l pipeline.DeadLetter) error {
					id := deadletter.ID(&l)
					l = maskLetter(mask, l)
					one := letterOf(l)
					one.ID = id // the masked letter's own is another
					return out.add(one, func() string {
						sink := l.Sink
						if sink == "" {
							sink = "(every sink)"
						}
						return fmt.Sprintf("%s  %s  %s: %s", sink, l.Key, l.Class, l.Error)
					})
				})
			})
		},
	}
	c.Flags().BoolVar(&unmasked, "unmasked", false, "show sensitive attributes as they are")
	c.Flags().BoolVar(&keys, "quarantined", false, "show the quarantined keys, not the letters")
	return c
}

// letter is a dead letter as `query dead -o json` prints it.
type letter struct {
	ID       string          `json:"id"`
	Sink     string          `json:"sink,omitempty"`
	Class    string          `json:"class"`
	Error    string          `json:"error"`
	Key      pipeline.Key    `json:"key,omitempty"`
	Sequence string          `json:"sequence,omitempty"`
	Time     time.Time       `json:"time"`
	Record   json.RawMessage `json:"record,omitempty"`
	Bytes    []byte          `json:"record_base64,omitempty"` // of a record that is no JSON
}

func letterOf(l pipeline.DeadLetter) letter {
	out := letter{Sink: l.Sink, Class: l.Class, Error: l.Error, Key: l.Key, Sequence: l.Sequence, Time: l.Time}
	if json.Valid(l.Raw) {
		out.Record = l.Raw
	} else {
		out.Bytes = l.Raw
	}
	return out
}

// eachLetter hands each letter of a folder to do. Lines that are none are logged.
func eachLetter(ctx context.Context, dir local.Dir, log *slog.Logger, do func(pipeline.DeadLetter) error) error {
	if _, err := os.Stat(dir.DeadLetters()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	store, err := deaddir.New(deaddir.Options{Dir: dir.DeadLetters(), Logger: log})
	if err != nil {
		return err
	}
	defer store.Close()
	for l, err := range store.Read(ctx) {
		if err != nil {
			return err
		}
		if err := do(l); err != nil {
			return err
		}
	}
	return nil
}

func countDead(log *slog.Logger) count {
	return func(ctx context.Context, dir local.Dir, add adds) error {
		var n int64
		if err := eachLetter(ctx, dir, log, func(pipeline.DeadLetter) error { n++; return nil }); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		return add("dead", "letters", n, "records")
	}
}

// heldKey is a quarantined key as `query dead --quarantined -o json` prints it.
type heldKey struct {
	Sink    string       `json:"sink"`
	Key     pipeline.Key `json:"key"`
	Since   time.Time    `json:"since"`
	Letters int          `json:"letters"`         // of it
	Class   string       `json:"class,omitempty"` // of the first
	Error   string       `json:"error,omitempty"`

	version pipeline.Version
}

func (k heldKey) text() string {
	why := fmt.Sprintf("%s: %s", k.Class, k.Error)
	if k.Letters == 0 {
		why = "its letters are delivered; a redrive lets it go"
	}
	return fmt.Sprintf("%s  %s  %s letters since %s  %s", k.Sink, k.Key, thousands(int64(k.Letters)), k.Since.Format(time.RFC3339), why)
}

func quarantined(ctx context.Context, dir local.Dir, mask *pipeline.Mask, log *slog.Logger, out *results) error {
	keys, err := heldKeys(ctx, dir, mask, log)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if err := out.add(k, k.text); err != nil {
			return err
		}
	}
	return nil
}

// heldKeys are the quarantined keys by sink and key, with what the letters say of
// them. The letters tell the pipelines, too.
func heldKeys(ctx context.Context, dir local.Dir, mask *pipeline.Mask, log *slog.Logger) ([]heldKey, error) {
	if _, err := os.Stat(dir.Views()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	type of struct {
		sink string // "": every sink
		key  pipeline.Key
	}
	letters := map[of]heldKey{}
	pipelines := map[string]bool{}
	err := eachLetter(ctx, dir, log, func(l pipeline.DeadLetter) error {
		pipelines[l.Pipeline] = true
		at := of{l.Sink, l.Key}
		k, found := letters[at]
		l = maskLetter(mask, l)
		if k.Letters++; !found || l.Version.Compare(k.version) < 0 {
			k.Key, k.Class, k.Error, k.version = l.Key, l.Class, l.Error, l.Version
		}
		letters[at] = k
		return nil
	})
	if err != nil || len(letters) == 0 {
		return nil, err
	}
	var keys []heldKey
	err = withViews(ctx, dir, func(db *sqlite.Store) error {
		for _, name := range slices.Sorted(maps.Keys(pipelines)) {
			for m, err := range db.State(name).Marks(ctx, "") {
				if err != nil {
					return err
				}
				k, every := letters[of{m.Sink, m.Key}], letters[of{"", m.Key}]
				if every.Letters > 0 && (k.Letters == 0 || every.version.Compare(k.version) < 0) {
					k.Key, k.Class, k.Error = every.Key, every.Class, every.Error
				}
				if k.Letters += every.Letters; k.Letters == 0 {
					k.Key = pipeline.Key(mask.Text(string(m.Key)))
				}
				k.Sink, k.Since = m.Sink, m.Since
				keys = append(keys, k)
			}
		}
		return nil
	})
	return keys, err
}

func countQuarantined(log *slog.Logger) count {
	return func(ctx context.Context, dir local.Dir, add adds) error {
		keys, err := heldKeys(ctx, dir, nil, log)
		if err != nil || len(keys) == 0 {
			return err
		}
		return add("dead", "quarantined", int64(len(keys)), "keys")
	}
}
