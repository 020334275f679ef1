package query

import (
	"context"
	"fmt"
	"iter"
	"log/slog"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	archivedir "github.com/tablewake/tablewake/sinks/archive/dir"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/notify/jsonl"
	searchsqlite "github.com/tablewake/tablewake/sinks/search/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

// overview prints the stores of a folder, each with a count.
type overview struct {
	dir local.Dir
	out *cli.Results
}

// list prints all kinds of stores.
func (o overview) list(ctx context.Context, log *slog.Logger) error {
	for _, printKind := range []func(context.Context) error{o.views, o.indexes, o.archives, o.events} {
		if err := printKind(ctx); err != nil {
			return err
		}
	}
	return o.dead(ctx, log)
}

// add prints a line for a store with n units. unit is the word for one unit, such as row.
func (o overview) add(kind, name string, n int64, unit string) error {
	type entry struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
		N    int64  `json:"count"`
	}
	return o.out.Add(entry{kind, name, n}, func() string {
		return fmt.Sprintf("%-8s %-24s %s", kind, name, cli.Count(n, unit))
	})
}

// addUnlessNone prints a line for a store, unless it has no units.
func (o overview) addUnlessNone(kind, name string, n int64, unit string) error {
	if n == 0 {
		return nil
	}
	return o.add(kind, name, n, unit)
}

// addCount prints a line for a store. Its number of units is the number of values in the sequence all.
func addCount[T any](o overview, kind, name string, all iter.Seq2[T, error], unit string) error {
	n, err := count(all)
	if err != nil {
		return err
	}
	return o.add(kind, name, n, unit)
}

// count returns the number of values in a sequence.
func count[T any](all iter.Seq2[T, error]) (n int64, err error) {
	for _, err := range all {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

func (o overview) views(ctx context.Context) error {
	if target.IsMissing(o.dir.Views()) {
		return nil
	}
	return target.WithViews(ctx, o.dir, func(db *sqlite.Store) error {
		tables, err := db.Tables(ctx)
		if err != nil {
			return err
		}
		for _, t := range tables {
			if err := addCount(o, "view", t.Name, db.Rows(ctx, t, view.Query{}), "row"); err != nil {
				return err
			}
		}
		return nil
	})
}

func (o overview) indexes(ctx context.Context) error {
	if target.IsMissing(o.dir.Views()) {
		return nil
	}
	return withSearchStore(ctx, o.dir, func(store *searchsqlite.Store) error {
		indexes, err := store.Indexes(ctx)
		if err != nil {
			return err
		}
		for _, index := range indexes {
			hits, err := store.Search(ctx, index, "*", 1)
			if err != nil {
				return err
			}
			if err := o.add("search", index, int64(hits.Total), "document"); err != nil {
				return err
			}
		}
		return nil
	})
}

func (o overview) archives(ctx context.Context) error {
	buckets, err := names(o.dir.Archives(), "")
	if err != nil {
		return err
	}
	for _, b := range buckets {
		store, err := archivedir.New(archivedir.Options{Dir: o.dir.Archive(b)})
		if err != nil {
			return err
		}
		if err := addCount(o, "archive", b, store.List(ctx, ""), "object"); err != nil {
			return err
		}
	}
	return nil
}

func (o overview) events(context.Context) error {
	sinks, err := names(o.dir.EventFiles(), ".jsonl")
	if err != nil {
		return err
	}
	for _, sink := range sinks {
		if err := addCount(o, "events", sink, jsonl.Read(o.dir.Events(sink)), "event"); err != nil {
			return err
		}
	}
	return o.setAside("events", o.dir.EventFiles())
}

// setAside prints the number of broken lines that were set aside from the files of a folder, unless it is 0.
func (o overview) setAside(kind, folder string) error {
	n, err := target.CountSetAside(folder)
	if err != nil {
		return err
	}
	return o.addUnlessNone(kind, "set aside", n, "broken line")
}

// dead prints the number of dead letters, of quarantined keys and of broken lines, unless they are 0. An interrupted
// redrive can leave quarantined keys without letters.
func (o overview) dead(ctx context.Context, log *slog.Logger) error {
	box := folderBox(ctx, o.dir, log)
	letters, err := count(box.letters)
	if err != nil {
		return err
	}
	if err := o.addUnlessNone("dead", "letters", letters, "record"); err != nil {
		return err
	}
	keys, err := quarantinedKeys(box)
	if err != nil {
		return err
	}
	if err := o.addUnlessNone("dead", "quarantined", int64(len(keys)), "key"); err != nil {
		return err
	}
	return o.setAside("dead", o.dir.DeadLetters())
}
