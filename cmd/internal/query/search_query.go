package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/sqlite"
)

func (o *options) newSearch(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "search INDEX [QUERY]",
		Short: "Documents of an index that match a query, best first; all documents without a query",
		Long: `search finds the documents of an index that match a query. Without a query, it lists all by their ids.

  red shoe                       either word, in any field
  "red shoe"                     a phrase
  sho*                           words that begin with sho
  title:shoe  Lines.sku:x-1      in a field; in a field of an object, or of the elements of a list
  +shoe -red                     shoe must be there, red must not
  live:true                      a boolean
  Price:20  Price:>10            a number; > >= < <=
  CreatedAt:2026-01-15           a day in UTC; with a time, the instant
  CreatedAt:>="2026-01-15"       dates and times, likewise

A backslash takes the next character literally, quotes do so for all characters between them. Fuzzy
words, regular expressions, groups and boosts are not supported.

With --live the query is in OpenSearch's query string language, which has all of these forms, and
at most 10,000 documents match.`,
		Example: `  tablewake query search products --local out
  tablewake query search products 'title:lamp' --local out -o json
  tablewake query search products '+Price:>=20 +Price:<30' --local out
  tablewake query search products 'title:lamp' -c tablewake.yaml --live`,
		Args: cli.ArgumentRange(1, 2, "INDEX [QUERY] (--local DIR | -c FILE --live)"),
		RunE: func(c *cobra.Command, args []string) error {
			show := func(store search.Reader, limit int, out *cli.Results) error {
				if len(args) == 1 {
					return printAllDocuments(c.Context(), store, args[0], out) // out ends at --limit
				}
				return printMatches(c.Context(), store, args[0], args[1], limit, out)
			}
			showLocal := func(dir local.Dir, out *cli.Results) error {
				return withSearchStore(c.Context(), dir, func(store *sqlite.Store) error {
					return show(store, o.searchLimit(c), out)
				})
			}
			showLive := func(l liveStores, out *cli.Results) error {
				store, err := l.openSearch(c.Context(), args[0])
				if err != nil {
					return err
				}
				return show(store, min(o.searchLimit(c), maxLiveHits), out)
			}
			return o.run(c.Context(), s, showLocal, showLive)
		},
	}
}

// searchLimit returns the maximum number of documents to print. The default is 10, and with --limit 0 there is no
// maximum.
func (o *options) searchLimit(c *cobra.Command) int {
	if o.limit == 0 && c.Flags().Changed("limit") {
		return math.MaxInt
	}
	return cmp.Or(o.limit, 10)
}

// maxLiveHits is the largest number of documents that OpenSearch returns for a query (index.max_result_window).
const maxLiveHits = 10_000

// printMatches prints the documents of an index that match a query.
func printMatches(ctx context.Context, store search.Reader, index, query string, limit int, out *cli.Results) error {
	hits, err := store.Search(ctx, index, query, limit)
	if err != nil {
		return withIndexNames(ctx, store, index, err)
	}
	out.Truncated = int64(hits.Total) > int64(len(hits.Documents))
	for _, d := range hits.Documents {
		if err := addDocument(out, d); err != nil {
			return err
		}
	}
	return nil
}

func printAllDocuments(ctx context.Context, store search.Reader, index string, out *cli.Results) error {
	for d, err := range store.Documents(ctx, index) {
		if err != nil {
			return withIndexNames(ctx, store, index, err)
		}
		if err := addDocument(out, d); err != nil {
			return err
		}
	}
	return nil
}

func addDocument(out *cli.Results, d search.Document) error {
	d.Doc = minimalEscapes(d.Doc)
	return out.Add(d, func() string { return fmt.Sprintf("%s  %s", d.ID, d.Doc) })
}

// withIndexNames returns err. If err means that the index is missing, the result also names the existing indexes.
func withIndexNames(ctx context.Context, store search.Reader, index string, err error) error {
	if !errors.Is(err, search.ErrNoIndex) {
		return err
	}
	existing, _ := store.Indexes(ctx)
	if len(existing) == 0 {
		return fmt.Errorf("no index %q, and there is no other: has its sink written a document yet?", index)
	}
	return cli.UnknownName(fmt.Sprintf("no index %q", index), index, existing)
}

// withSearchStore opens the search indexes of a folder, calls do and closes them.
func withSearchStore(ctx context.Context, dir local.Dir, do func(*sqlite.Store) error) error {
	store, err := sqlite.OpenReader(ctx, dir.Views())
	if err != nil {
		return err
	}
	return errors.Join(do(store), store.Close())
}
