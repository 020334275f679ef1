package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/sinks/archive"
	archivedir "github.com/tablewake/tablewake/sinks/archive/dir"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/notify/jsonl"
)

func (o *options) newArchive(s cli.Streams) *cobra.Command {
	var prefix string
	c := &cobra.Command{
		Use:   "archive [BUCKET]",
		Short: "Archived changes by item, each version once",
		Example: `  tablewake query archive shop-archive --local out
  tablewake query archive shop-archive -c tablewake.yaml --live --prefix changes/ -n 20
  tablewake query archive --local out --prefix changes/ -o json | tablewake replay -c other.yaml --local other -`,
		Args: cli.ArgumentRange(0, 1, "[BUCKET] (--local DIR | -c FILE --live)"),
		RunE: func(c *cobra.Command, args []string) error {
			showLocal := func(dir local.Dir, out *cli.Results) error {
				return showLocalArchive(c.Context(), dir, args, prefix, out)
			}
			showLive := func(l liveStores, out *cli.Results) error {
				store, err := l.openArchive(c.Context(), args)
				if err != nil {
					return err
				}
				tableInKey := len(l.cfg.Source.Tables) > 1
				return showArchive(c.Context(), store, archive.ReadOptions{Prefix: prefix, TableInKey: tableInKey}, out)
			}
			return o.run(c.Context(), s, showLocal, showLive)
		},
	}
	c.Flags().StringVar(&prefix, "prefix", "", "only objects whose names begin with this")
	return c
}

// showLocalArchive prints the archive of the bucket that args name, or the only archive if args are empty.
func showLocalArchive(ctx context.Context, dir local.Dir, args []string, prefix string, out *cli.Results) error {
	bucket, err := chooseFile(args, dir.Archives(), "bucket", "")
	if err != nil {
		return err
	}
	store, err := archivedir.New(archivedir.Options{Dir: dir.Archive(bucket)})
	if err != nil {
		return err
	}
	owner, err := target.ReadOwner(string(dir))
	if err != nil {
		return err
	}
	return showArchive(ctx, store, archive.ReadOptions{Prefix: prefix, TableInKey: owner.TableInKey}, out)
}

// showArchive prints the changes in an archive.
func showArchive(ctx context.Context, store archive.Lister, o archive.ReadOptions, out *cli.Results) error {
	for e, err := range archive.Read(ctx, store, o) {
		if err != nil {
			return err
		}
		if err := out.Add(json.RawMessage(e.Line), func() string { return entryText(e) }); err != nil {
			return err
		}
	}
	return nil
}

// entryText formats an archived change: key, version and operation.
func entryText(e archive.Entry) string {
	if e.Change == nil { // the line is a projection, which is plain JSON and not a record
		return string(e.Line)
	}
	return fmt.Sprintf("%s  %s  %s", e.Key, e.Version, e.Change.Op)
}

func (o *options) newEvents(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "events [SINK]",
		Short: "Events that a notify sink published (replay --notify); with --live how many wait in its queue",
		Example: `  tablewake query events on_completed --local out
  tablewake query events -c tablewake.yaml --live`,
		Args: cli.ArgumentRange(0, 1, "[SINK] (--local DIR | -c FILE --live)"),
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c.Context(), s,
				func(dir local.Dir, out *cli.Results) error {
					return errors.Join(showEvents(dir, args, out), printSetAside(s.Err, dir.EventFiles()))
				},
				func(l liveStores, out *cli.Results) error { return l.showQueues(c.Context(), args, out) })
		},
	}
}

// showEvents prints the events of the sink that args name, or of the only sink with events if args are empty.
func showEvents(dir local.Dir, args []string, out *cli.Results) error {
	sink, err := chooseFile(args, dir.EventFiles(), "sink", ".jsonl")
	if err != nil {
		return err
	}
	for line, err := range jsonl.Read(dir.Events(sink)) {
		if err != nil {
			return err
		}
		if err := out.Add(json.RawMessage(line), func() string { return string(line) }); err != nil {
			return err
		}
	}
	return nil
}

// chooseFile returns the name in args, or the only name in the folder if args are empty. noun is the word for a name.
// The names leave out suffix, the end of the files' names.
func chooseFile(args []string, folder, noun, suffix string) (string, error) {
	existing, err := names(folder, suffix)
	if err != nil {
		return "", err
	}
	return choose(args, existing, "the folder holds none: its configuration has no such sink", noun, "name one "+noun)
}
