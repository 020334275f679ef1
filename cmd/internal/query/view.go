package query

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
)

func (o *options) view(s cli.Streams) *cobra.Command {
	var pk, pkPrefix, skPrefix string
	var typed bool
	c := &cobra.Command{
		Use:   "view [TABLE]",
		Short: "Rows of a view table, in the order of their keys",
		Long:  "Rows of a view table, in the order of their keys. A group that is spread over shards is one row.",
		Example: `  tablewake query view shop-views --local out
  tablewake query view shop-views --local out --pk STATUS#paid --limit 5
  tablewake query view shop-views --local out --sk-prefix 2026-03 -o json`,
		Args: cli.ArgumentRange(0, 1, "[TABLE] --local DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			q := view.Query{PKPrefix: pkPrefix, SKPrefix: skPrefix}
			if pk != "" {
				q.PK = item.StringValue(pk)
			}
			return o.withFolder(s, func(dir local.Dir, out *cli.Results) error {
				return target.WithViews(c.Context(), dir, func(db *sqlite.Store) error {
					t, err := chooseTable(c.Context(), db, args)
					if err != nil {
						return err
					}
					groups, err := shardedGroups(c.Context(), db, t)
					if err != nil {
						return err
					}
					for row, err := range view.Merged(c.Context(), db, t, q, groups...) {
						if err != nil {
							return err
						}
						if err := out.Add(itemJSON(row.Item, typed), func() string { return rowText(t, row) }); err != nil {
							return err
						}
					}
					return nil
				})
			})
		},
	}
	f := c.Flags()
	f.StringVar(&pk, "pk", "", "only rows with this partition key")
	f.StringVar(&pkPrefix, "pk-prefix", "", "only rows whose partition key begins so")
	f.StringVar(&skPrefix, "sk-prefix", "", "only rows whose sort key begins so")
	f.BoolVar(&typed, "typed", false, "JSON with DynamoDB's types")
	return c
}

// chooseTable returns the table in args, or the only table.
func chooseTable(ctx context.Context, db *sqlite.Store, args []string) (view.Table, error) {
	tables, err := db.Tables(ctx)
	if err != nil {
		return view.Table{}, err
	}
	have := make([]string, len(tables))
	for i, t := range tables {
		have[i] = t.Name
	}
	name, err := choose(args, have, "the folder holds no views: its configuration has none", "view table", "name one of the view tables")
	if err != nil {
		return view.Table{}, err
	}
	return tables[slices.Index(have, name)], nil
}

func itemJSON(item item.Image, typed bool) json.RawMessage {
	if typed {
		return item.AppendDynamoDBJSON(nil)
	}
	return item.AppendJSON(nil)
}

// rowText formats a row: its key, then the other attributes as plain JSON.
func rowText(t view.Table, row view.Row) string {
	var b strings.Builder
	b.WriteString(plainText(row.PK))
	if row.SK.Exists() {
		b.WriteString("  " + plainText(row.SK))
	}
	for name, v := range row.Item.All() {
		if name != t.PK && name != t.SK {
			fmt.Fprintf(&b, "  %s=%s", name, v.AppendJSON(nil))
		}
	}
	return b.String()
}

// plainText formats a value. A string has no quotes; other values are JSON.
func plainText(v item.Value) string {
	if s, ok := v.Text(); ok {
		return s
	}
	return string(v.AppendJSON(nil))
}
