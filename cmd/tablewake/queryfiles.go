package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/archive"
	archivedir "github.com/tablewake/tablewake/sinks/archive/dir"
	deaddir "github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/notify/jsonl"
)

func (o *queryOptions) archive(s streams) *cobra.Command {
	var prefix string
	c := &cobra.Command{
		Use:   "archive [BUCKET]",
		Short: "Archived changes by item, each version once",
		Example: `  tablewake query archive shop-archive --local out
  tablewake query archive --local out --prefix changes/ -o json | tablewake replay -c other.yaml --local other -`,
		Args: exactly(0, 1, "[BUCKET] --local DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			return o.in(s, func(dir local.Dir, out *results) error {
				buckets, err := chooseName(args, filepath.Dir(dir.Archive("x")), "bucket", "")
				if err != nil {
					return err
				}
				store, err := archivedir.New(archivedir.Options{Dir: dir.Archive(buckets)})
				if err != nil {
					return err
				}
				inKey, err := tableInKey(o.local)
				if err != nil {
					return err
				}
				for e, err := range archive.Read(c.Context(), store, archive.ReadOptions{Prefix: prefix, TableInKey: inKey}) {
					if err != nil {
						return err
					}
					line := json.RawMessage(e.Line)
					if err := out.add(line, func() string { return entryText(e) }); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&prefix, "prefix", "", "only objects whose names begin so")
	return c
}

// entryText is where an archived change stands in the life of its item.
func entryText(e archive.Entry) string {
	if e.Change == nil { // plain JSON: a projection
		return string(e.Line)
	}
	return fmt.Sprintf("%s  %s  %s", e.Key, e.Version, e.Change.Op)
}

func (o *queryOptions) events(s streams) *cobra.Command {
	return &cobra.Command{
		Use:     "events [SINK]",
		Short:   "Events that a notify sink published (replay --notify)",
		Example: `  tablewake query events on_completed --local out`,
		Args:    exactly(0, 1, "[SINK] --local DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			return o.in(s, func(dir local.Dir, out *results) error {
				sink, err := chooseName(args, filepath.Dir(dir.Events("x")), "sink", ".jsonl")
				if err != nil {
					return err
				}
				for line, err := range jsonl.Read(dir.Events(sink)) {
					if err != nil {
						return err
					}
					if err := out.add(json.RawMessage(line), func() string { return string(line) }); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func (o *queryOptions) dead(s streams) *cobra.Command {
	var unmasked bool
	c := &cobra.Command{
		Use:   "dead",
		Short: "What could not be decoded or delivered, and why",
		Long: `dead shows the letters of a folder; with -o json with their records. A letter holds the
whole record. What was sensitive in the configuration that wrote the folder is shown
masked, and a record that does not decode is left out then: --unmasked shows all as it is.`,
		Example: `  tablewake query dead --local out
  tablewake query dead --local out --unmasked -o json | jq -c .record | tablewake replay -c tablewake.yaml --local again -`,
		Args: exactly(0, 0, "--local DIR"),
		RunE: func(c *cobra.Command, _ []string) error {
			return o.in(s, func(dir local.Dir, out *results) error {
				var mask *pipeline.Mask
				if !unmasked {
					var err error
					if mask, err = folderMask(o.local); err != nil {
						return err
					}
				}
				return eachLetter(c.Context(), dir, func(l pipeline.DeadLetter) error {
					l = maskLetter(mask, l)
					return out.add(letterOf(l), func() string {
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
	return c
}

// letter is a dead letter as `query dead -o json` prints it.
type letter struct {
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

func eachLetter(ctx context.Context, dir local.Dir, do func(pipeline.DeadLetter) error) error {
	if _, err := os.Stat(dir.DeadLetters()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	store, err := deaddir.New(deaddir.Options{Dir: dir.DeadLetters()})
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

// chooseName is the name given, or the only one that the folder holds.
func chooseName(args []string, folder, what, suffix string) (string, error) {
	have, err := names(folder)
	if err != nil {
		return "", err
	}
	for i := range have {
		have[i] = strings.TrimSuffix(have[i], suffix)
		if len(args) == 1 && args[0] == have[i] {
			return have[i], nil
		}
	}
	switch {
	case len(have) == 0:
		return "", fmt.Errorf("the folder holds none: its configuration has no such sink")
	case len(args) == 1:
		return "", fmt.Errorf("no %s %q; there are: %s", what, args[0], strings.Join(have, ", "))
	case len(have) == 1:
		return have[0], nil
	}
	return "", usageError("name one %s: %s", what, strings.Join(have, ", "))
}

func countArchive(ctx context.Context, dir local.Dir, add func(kind, name string, n int64, what string) error) error {
	buckets, err := names(filepath.Dir(dir.Archive("x")))
	if err != nil {
		return err
	}
	for _, b := range buckets {
		store, err := archivedir.New(archivedir.Options{Dir: dir.Archive(b)})
		if err != nil {
			return err
		}
		var n int64
		for _, err := range store.Names(ctx, "") {
			if err != nil {
				return err
			}
			n++
		}
		if err := add("archive", b, n, "objects"); err != nil {
			return err
		}
	}
	return nil
}

func countEvents(_ context.Context, dir local.Dir, add func(kind, name string, n int64, what string) error) error {
	files, err := names(filepath.Dir(dir.Events("x")))
	if err != nil {
		return err
	}
	for _, f := range files {
		sink := strings.TrimSuffix(f, ".jsonl")
		var n int64
		for _, err := range jsonl.Read(dir.Events(sink)) {
			if err != nil {
				return err
			}
			n++
		}
		if err := add("events", sink, n, "events"); err != nil {
			return err
		}
	}
	return nil
}

func countDead(ctx context.Context, dir local.Dir, add func(kind, name string, n int64, what string) error) error {
	var n int64
	if err := eachLetter(ctx, dir, func(pipeline.DeadLetter) error { n++; return nil }); err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	return add("dead", "letters", n, "records")
}
