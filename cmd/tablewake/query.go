package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/sinks/local"
)

// queryOptions are the flags that every kind of query has.
type queryOptions struct {
	local  string
	limit  int
	format format
}

func newQuery(s streams) *cobra.Command {
	var o queryOptions
	c := &cobra.Command{
		Use:   "query [view | search | archive | events | dead] --local DIR",
		Short: "Look into what a replay wrote into a folder",
		Long: `query shows what stands in a --local folder: rows of views, documents of search
indexes, archived changes (each version of an item once), events, dead letters. Without
a kind it lists what there is. Of dead letters it shows real ones too. Deleted rows and documents are not shown.`,
		Example: `  tablewake query --local out
  tablewake query view shop-views --local out --pk-prefix STATUS#paid
  tablewake query search products lamp --local out
  tablewake query archive shop-archive --local out -o json
  tablewake query events --local out
  tablewake query dead --local out
  tablewake query dead -c tablewake.yaml --live`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("%q is nothing to query: view, search, archive, events or dead", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			return o.in(s, func(dir local.Dir, out *results) error { return overview(c.Context(), dir, logger(s.err, false), out) })
		},
	}
	f := c.PersistentFlags()
	f.StringVar(&o.local, "local", "", "the folder that a replay wrote (required)")
	f.IntVarP(&o.limit, "limit", "n", 0, "at most so many results (0: all; default all, of a search 10)")
	_ = c.MarkPersistentFlagDirname("local")
	o.format = formatText
	f.VarP(&o.format, "output", "o", "text or json")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	c.AddCommand(o.view(s), o.search(s), o.archive(s), o.events(s), o.dead(s))
	return c
}

// in runs a query in the folder, which no replay may be writing meanwhile.
func (o *queryOptions) in(s streams, query func(local.Dir, *results) error) (err error) {
	if o.limit < 0 {
		return usageError("--limit is a number of results, or 0 for all")
	}
	if o.local == "" {
		return usageError("--local is missing: name the folder that a replay wrote")
	}
	if err := wroteLocal(o.local); err != nil {
		return err
	}
	release, err := local.Share(o.local)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	out := &results{w: bufio.NewWriter(s.out), format: o.format, limit: o.limit}
	return out.end(query(local.Dir(o.local), out), s.err)
}

// wroteLocal is an error where dir is no folder that a replay wrote.
func wroteLocal(dir string) error {
	_, err := os.Stat(filepath.Join(dir, ownerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is no folder that a replay wrote: run `tablewake replay -c FILE --local %s PATH` first", dir, dir)
	}
	return err
}

// results writes what a query finds, a line each.
type results struct {
	w      *bufio.Writer
	format format
	limit  int // 0: none
	n      int
	more   bool // than were written
}

// end ends a query that ended with err: it says on errs where there is more than was written.
func (r *results) end(err error, errs io.Writer) error {
	if errors.Is(err, errEnough) {
		err = nil
	}
	if failed := r.w.Flush(); err == nil { // what was found before an error is shown
		err = failed
	}
	if err == nil && r.more {
		fmt.Fprintf(errs, "there are more: these are the first %s; --limit 0 shows all\n", thousands(int64(r.n)))
	}
	return err
}

// errEnough ends a query that has found as much as was asked for.
var errEnough = errors.New("enough")

// add writes one result: v as JSON, or text.
func (r *results) add(v any, text func() string) error {
	if r.limit > 0 && r.n == r.limit {
		r.more = true
		return errEnough
	}
	var err error
	if r.format == formatJSON {
		err = writeJSON(r.w, v)
	} else {
		_, err = fmt.Fprintln(r.w, text())
	}
	if err != nil {
		return err
	}
	r.n++
	return nil
}

// exactly is cobra's check of the number of arguments, with a usage error.
func exactly(least, most int, usage string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usageError("usage: %s %s", c.CommandPath(), usage)
		}
		return nil
	}
}

// adds adds a line to an overview: n of what there are in a store of that kind and name.
type adds func(kind, name string, n int64, what string) error

// count adds what the folder holds of one kind.
type count func(ctx context.Context, dir local.Dir, add adds) error

// overview lists what the folder holds.
func overview(ctx context.Context, dir local.Dir, log *slog.Logger, out *results) error {
	type entry struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
		N    int64  `json:"count"`
	}
	add := func(kind, name string, n int64, what string) error {
		return out.add(entry{kind, name, n}, func() string {
			return fmt.Sprintf("%-8s %-24s %s %s", kind, name, thousands(n), what)
		})
	}
	counts := []count{
		countViews, countSearch, countArchive, countEvents, countDead(log), countQuarantined(log),
	}
	for _, count := range counts {
		if err := count(ctx, dir, add); err != nil {
			return err
		}
	}
	return nil
}

// names are the entries of a folder that end with suffix, without it, but for what begins with
// a dot; none where the folder is missing.
func names(folder, suffix string) ([]string, error) {
	es, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ns := make([]string, 0, len(es))
	for _, e := range es {
		if name, is := strings.CutSuffix(e.Name(), suffix); is && !strings.HasPrefix(name, ".") {
			ns = append(ns, name)
		}
	}
	return ns, nil
}
