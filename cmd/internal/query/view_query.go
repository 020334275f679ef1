package query

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

func (o *options) newView(s cli.Streams) *cobra.Command {
	var q viewQuery
	c := &cobra.Command{
		Use:   "view [TABLE]",
		Short: "Rows of a view table, in the order of their keys",
		Long: `Rows of a view table, in the order of their keys. A group that is spread over shards is one row.

A partition of a view that is spread over shards is read as one, in the order of the sort key.
With the partition key 'STATUS#{Status}#{@shard}' it is --pk STATUS#paid, without the shard and
the punctuation before it, or --pk 'STATUS#paid#{@shard}', which also names a shard that is not
the end of the key. A text that is one partition and, with the shard, another one answers both.
A key that is a number or binary is written as DynamoDB JSON: --pk '{"N":"10"}'. With --limit, a
read with --pk prints a cursor if there are more rows, and --after continues there, in the
direction of the read.

With --live a read without --pk scans the whole table.`,
		Example: `  tablewake query view shop-views --local out
  tablewake query view shop-views --local out --pk STATUS#paid --limit 5
  tablewake query view shop-views --local out --pk 'STATUS#paid#{@shard}' --reverse --limit 5
  tablewake query view shop-views --local out --begins-with 2026-03 -o json
  tablewake query view shop-views -c tablewake.yaml --live --pk STATUS#paid --between 2026-03,2026-04 --reverse -n 20`,
		Args: cli.ArgumentRange(0, 1, "[TABLE] (--local DIR | -c FILE --live)"),
		RunE: func(c *cobra.Command, args []string) error {
			q.limit = o.limit
			if err := q.parse(); err != nil {
				return err
			}
			showLocal := func(dir local.Dir, out *cli.Results) error {
				return q.showLocal(c.Context(), dir, args, out, s.Err)
			}
			showLive := func(l liveStores, out *cli.Results) error {
				t, err := l.openView(c.Context(), args)
				if err != nil {
					return err
				}
				return q.show(c.Context(), t, out, s.Err)
			}
			return o.run(c.Context(), s, showLocal, showLive)
		},
	}
	f := c.Flags()
	f.StringVar(&q.pk, "pk", "",
		"only rows with this partition key; for a view with shards, without the shard or with {@shard}")
	f.StringVar(&q.pkPrefix, "pk-prefix", "", "only rows whose partition key begins with this")
	f.StringVar(&q.beginsWith, "begins-with", "", "only rows whose sort key begins with this")
	f.StringVar(&q.between, "between", "",
		"with --pk: only rows whose sort key is between A and B or one of them; A or B may be empty: `A,B`")
	f.BoolVar(&q.reverse, "reverse", false, "rows in descending order of their keys")
	f.StringVar(&q.after, "after", "", "with --pk: continue at the cursor that an earlier read printed")
	f.BoolVar(&q.typed, "typed", false, "JSON with DynamoDB's types")
	return c
}

// showLocal prints the rows of the table that args name, or of the only table if args are empty.
func (q viewQuery) showLocal(
	ctx context.Context, dir local.Dir, args []string, out *cli.Results, stderr io.Writer,
) error {
	return target.WithViews(ctx, dir, func(db *sqlite.Store) error {
		table, err := chooseTable(ctx, db, args)
		if err != nil {
			return err
		}
		t, err := newViewTable(db, table, db.Fingerprints(ctx))
		if err != nil {
			return err
		}
		return q.show(ctx, t, out, stderr)
	})
}

// show prints the rows of a table. If it finds none, it may print a hint to stderr.
func (q viewQuery) show(ctx context.Context, t viewTable, out *cli.Results, stderr io.Writer) error {
	rows, partition, err := q.readRows(ctx, t)
	if err != nil {
		return err
	}
	for row, err := range rows {
		if err != nil {
			return q.explainError(err)
		}
		if err := out.Add(itemJSON(row.Item, q.typed), func() string { return rowText(t.Table, row) }); err != nil {
			return err
		}
		hasCursor, isLastRow := len(partition.Keys) > 0, out.Written == q.limit
		if hasCursor && isLastRow {
			out.NextFlags = "--after " + partition.Cursor(row)
		}
	}
	isEmptyPartition := q.pk != "" && q.after == "" && out.Written == 0
	if hint := q.hint(t); isEmptyPartition && hint != "" {
		fmt.Fprintln(stderr, hint)
	}
	return nil
}

// chooseTable returns the table that args name, or the only table if args are empty.
func chooseTable(ctx context.Context, db *sqlite.Store, args []string) (view.Table, error) {
	tables, err := db.Tables(ctx)
	if err != nil {
		return view.Table{}, err
	}
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.Name
	}
	name, err := choose(args, names, "the folder holds no views: its configuration has none", "view table",
		"name one of the view tables")
	if err != nil {
		return view.Table{}, err
	}
	return tables[slices.Index(names, name)], nil
}

func itemJSON(item item.Image, typed bool) json.RawMessage {
	if typed {
		return minimalEscapes(item.AppendDynamoDBJSON(nil))
	}
	return minimalEscapes(item.AppendJSON(nil))
}

var quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// minimalEscapes returns JSON in which texts have only the escapes that JSON needs: K\u00f6ln becomes Köln. So equal
// texts look the same.
func minimalEscapes(document []byte) []byte {
	if bytes.IndexByte(document, '\\') < 0 {
		return document
	}
	return quotedText.ReplaceAllFunc(document, func(quoted []byte) []byte {
		var text string
		isText := json.Unmarshal(quoted, &text) == nil && !strings.ContainsRune(text, utf8.RuneError)
		if !isText { // half of a surrogate pair is decoded as RuneError, and would be lost
			return quoted
		}
		return item.AppendJSONText(nil, text)
	})
}

// rowText formats a row. First is its key, then the other attributes as plain JSON.
func rowText(t view.Table, row view.Row) string {
	var b strings.Builder
	b.WriteString(plainText(row.PK))
	if row.SK.Exists() {
		b.WriteString("  " + plainText(row.SK))
	}
	for name, v := range row.Item.All() {
		if name != t.PK && name != t.SK {
			fmt.Fprintf(&b, "  %s=%s", name, minimalEscapes(v.AppendJSON(nil)))
		}
	}
	return b.String()
}

// plainText formats a value. A string has no quotes; other values are JSON.
func plainText(v item.Value) string {
	if s, ok := v.Text(); ok {
		return s
	}
	return string(minimalEscapes(v.AppendJSON(nil)))
}
