package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/sinks/local"
)

// options are the flags of all subcommands.
type options struct {
	local  string
	config string
	live   bool
	limit  int
	format cli.Format
}

// New returns the command query.
func New(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "query [view | search | archive | events | dead] (--local DIR | -c FILE --live)",
		Short: "Show what the sinks have written, in a folder or in the real stores",
		Long: `query shows the contents of a --local folder: rows of views, documents of search indexes, archived
changes (each version of an item once), events and dead letters. Without a kind, it lists what
exists. It does not show deleted rows and documents.

With --live, it shows the same from the configured real stores, with the AWS credentials of this
shell. Then a kind is needed. It writes and creates nothing. It leaves events in their queue: events
shows about how many messages wait there.`,
		Example: `  tablewake query --local out
  tablewake query view shop-views --local out --pk-prefix STATUS#paid
  tablewake query search products lamp --local out
  tablewake query archive shop-archive --local out -o json
  tablewake query events --local out
  tablewake query dead --local out
  tablewake query view shop-views -c tablewake.yaml --live --pk 'STATUS#paid'
  tablewake query search products lamp -c tablewake.yaml --live
  tablewake query events -c tablewake.yaml --live
  tablewake query dead -c tablewake.yaml --live`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usagef("%q is not a kind to query: view, search, archive, events or dead", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if o.live {
				return cli.Usagef("query --live needs a kind: view, search, archive, events or dead")
			}
			return o.run(c.Context(), s, func(dir local.Dir, out *cli.Results) error {
				return overview{dir, out}.list(c.Context(), cli.NewWarnLogger(s.Err, false))
			}, nil)
		},
	}
	f := c.PersistentFlags()
	f.StringVar(&o.local, "local", "", "the folder that a replay or a consumer wrote")
	f.BoolVar(&o.live, "live", false,
		"use the configured real stores, with the AWS credentials of this shell")
	f.StringVarP(&o.config, "config", "c", "", "with --live: the configuration file (default tablewake.yaml)")
	f.IntVarP(&o.limit, "limit", "n", 0, "maximum number of results (0: all; default all, for search 10)")
	_ = c.MarkPersistentFlagDirname("local")
	_ = c.MarkPersistentFlagFilename("config", "yaml", "yml")
	cli.AddPersistentFormat(c, &o.format)
	c.AddCommand(o.newView(s), o.newSearch(s), o.newArchive(s), o.newEvents(s), o.newDead(s))
	return c
}

// check returns a usage error if the flags are wrong.
func (o *options) check() error {
	switch {
	case o.local != "" && o.live:
		return cli.Usagef("--local and --live cannot be combined: embedded stores in a folder, or the real ones")
	case o.limit < 0:
		return cli.Usagef("--limit is a number of results, or 0 for all")
	case o.local == "" && !o.live:
		return cli.Usagef("--local is missing: name the folder that a replay wrote, or -c FILE --live for the real stores")
	case o.config != "" && !o.live:
		return cli.Usagef("-c goes with --live: a folder knows what wrote it")
	}
	return nil
}

// run calls folder with the --local folder. With --live it calls live with the real stores instead. It locks the folder
// during the query, so that no replay writes to the folder.
func (o *options) run(
	ctx context.Context, s cli.Streams, folder func(local.Dir, *cli.Results) error,
	live func(liveStores, *cli.Results) error,
) error {
	if err := o.check(); err != nil {
		return err
	}
	out := cli.NewResults(s, o.format, o.limit)
	if !o.live {
		if err := target.CheckLocalFolder(o.local); err != nil {
			return err
		}
		release, err := local.Share(o.local)
		if err != nil {
			return err
		}
		err = out.End(folder(local.Dir(o.local), out), s.Err)
		return errors.Join(err, release())
	}
	cfg, err := cli.LoadConfig(o.config)
	if err != nil {
		return err
	}
	opened, err := (&target.Flags{Live: true, ReadOnly: true}).OpenExisting(ctx, cfg, s.Err)
	if err != nil {
		return err
	}
	err = out.End(live(liveStores{opened, cfg}, out), s.Err)
	return errors.Join(err, opened.Close())
}

// printSetAside prints to w how many broken lines were set aside from the files of a folder, if there are any.
func printSetAside(w io.Writer, folder string) error {
	n, err := target.CountSetAside(folder)
	if n > 0 {
		fmt.Fprintf(w, cli.Warning+"%s set aside in %s: fix what the files *.broken say, or delete them\n",
			cli.Count(n, "broken line"), folder)
	}
	return err
}

// choose returns the name in args, which must be one of names. Without args it returns the only one of names.
//
// The texts are for its errors: emptyError if there are no names, and ambiguousError if args are empty and there are
// several. noun is the word for a name in the error about an unknown name.
func choose(args, names []string, emptyError, noun, ambiguousError string) (string, error) {
	switch {
	case len(names) == 0:
		return "", errors.New(emptyError)
	case len(args) == 1 && slices.Contains(names, args[0]):
		return args[0], nil
	case len(args) == 1:
		return "", cli.UnknownName(fmt.Sprintf("no %s %q", noun, args[0]), args[0], names)
	case len(names) == 1:
		return names[0], nil
	}
	return "", cli.Usagef("%s: %s", ambiguousError, strings.Join(names, ", "))
}

// names returns the names of the entries of a folder that end with suffix, without the suffix. Hidden files are left
// out. If the folder is missing, it returns nil.
func names(folder, suffix string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := make([]string, 0, len(entries))
	for _, e := range entries {
		name, hasSuffix := strings.CutSuffix(e.Name(), suffix)
		isHidden := strings.HasPrefix(name, ".")
		if hasSuffix && !isHidden {
			found = append(found, name)
		}
	}
	return found, nil
}
