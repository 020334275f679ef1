package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
)

// SelectionFlags are the flags --type, --key-prefix and --filter, which select items of a table.
type SelectionFlags struct {
	Types             []string
	KeyPrefix, Filter string
}

// Add adds the flags.
func (f *SelectionFlags) Add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringSliceVar(&f.Types, "type", nil,
		"only items with this value of the attribute Type, or ATTRIBUTE=VALUE; several are alternatives")
	flags.StringVar(&f.KeyPrefix, "key-prefix", "", "only items whose partition key begins with this")
	flags.StringVar(&f.Filter, "filter", "", "only items for which this expression is true: 'item.Total > 100'")
}

// Given reports whether at least one of the flags is given.
func (f *SelectionFlags) Given() bool { return len(f.Types) > 0 || f.KeyPrefix != "" || f.Filter != "" }

// Build returns the selection of the flags; nil if they select all items. partitionKey is that of the table.
func (f *SelectionFlags) Build(cfg *config.Config, partitionKey string) (*snapshot.ItemSelection, error) {
	selection, err := snapshot.NewItemSelection(snapshot.NarrowingOptions{
		Types: f.Types, KeyPrefix: f.KeyPrefix, PartitionKey: partitionKey, Filter: f.Filter,
		Env: expr.Env{Attributes: cfg.Attributes},
	})
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	return selection, nil
}

// OpenExport opens an export in folders or in S3. It prints warnings to w, and also which requests it repeats.
func OpenExport(ctx context.Context, sdk awssdk.Config, o export.Options, w io.Writer) (snapshot.Snapshot, error) {
	o.OnWarning = func(text string) { fmt.Fprintln(w, cli.Warning+text) }
	o.OnRetry = RetryPrinter(w, "a request to S3")
	if slices.ContainsFunc(o.Layers, target.IsS3) {
		o.S3 = target.S3(sdk)
	}
	return export.Open(ctx, o)
}

// RetryPrinter returns a function that prints to w why and when a request is repeated. request names the request.
func RetryPrinter(w io.Writer, request string) func(err error, wait time.Duration) {
	return func(err error, wait time.Duration) {
		fmt.Fprintf(w, "%s failed, and is repeated in %s: %v\n", request, wait.Round(time.Millisecond), err)
	}
}

// WaitForExport waits until a requested export is complete, and returns the path of its files. It prints to w once a
// minute that it waits. An error names the files if the export may still complete.
func WaitForExport(ctx context.Context, client export.RequestClient, r export.Requested, w io.Writer) (string, error) {
	began, lastPrinted, latest := time.Now(), time.Time{}, r
	done, err := export.Wait(ctx, client, r.ARN, func(current export.Requested) {
		latest = current
		if !current.Complete && time.Since(lastPrinted) > time.Minute {
			lastPrinted = time.Now()
			fmt.Fprintf(w, "waiting for the export since %s\n", time.Since(began).Round(time.Second))
		}
	})
	switch {
	case err == nil:
		return done.Path, nil
	case latest.Path == "" || errors.Is(err, export.ErrFailed):
		return "", err
	}
	return "", fmt.Errorf("%w (`--export %s` reads it when it is there)", err, latest.Path)
}
