package plan

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/sample"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
)

// tableCost is the size of the source table and the cost of reading it.
type tableCost struct {
	Items       int64   `json:"items"` // DynamoDB's count, up to six hours old; 0 if it has not counted yet
	Bytes       int64   `json:"bytes"`
	SampleUnits float64 `json:"sample_read_units"`
	ScanUnits   float64 `json:"scan_read_units"` // read units that a complete scan of the table would consume
}

func (t *tableCost) write(w io.Writer) {
	fmt.Fprintf(w, "the table has %s of %s together, by DynamoDB's count, which is up to six hours old",
		cli.Count(t.Items, "item"), cli.Count(t.Bytes, "byte"))
	if t.SampleUnits > 0 {
		fmt.Fprintf(w, "; the sample took %g read units", t.SampleUnits)
	}
	fmt.Fprintln(w)
}

const (
	sampleSegments = 32      // a sample takes items of all segments, which divide the table by a hash of the key
	sampleBytes    = 2 << 20 // a sample ends after the page that reaches this many bytes
	sampleTime     = 2 * time.Minute
)

// sampleReader reads all items of files, or some items of a table.
type sampleReader struct {
	snapshot.Snapshot
	table    *scan.Scan // nil: the items are in files
	maxItems int        // maximum number of items of the table
	allRead  bool       // the table was read to its end
}

// openTable opens the source table and sets c.Table. If the table cannot be read, it sets c.Unknown and returns nil.
func (o *options) openTable(
	ctx context.Context, cfg *config.Config, decoder record.SnapshotOptions, c *cost,
) (*sampleReader, error) {
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return nil, err
	}
	table, err := scan.New(ctx, scan.Options{
		Client: dynamodb.NewFromConfig(sdk), Table: cmp.Or(cfg.Source.Tables[0].ARN, cfg.Source.Tables[0].Name),
		Decoder:  decoder,
		Segments: sampleSegments, PageItems: (o.sample + sampleSegments - 1) / sampleSegments, Time: time.Now(),
	})
	if err != nil {
		c.Unknown = unknownCost(err)
		return nil, ctx.Err()
	}
	c.Table = &tableCost{Items: table.Table().Items, Bytes: table.Table().Bytes}
	return &sampleReader{Snapshot: table, maxItems: o.sample, table: table}, nil
}

// unknownCost returns the reason for cost.Unknown, with what to do.
func unknownCost(err error) string {
	return fmt.Sprintf(
		"%v; `tablewake template -o policies --for backfill` prints the rights; or name some items of the table with --items FILE --keys PK,SK", err)
}

// pages yields the decoded pages of the sample. It reads all items of files, one file after the other. From a table it
// takes a page of each segment in turn, up to maxItems and sampleBytes. An error ends the sequence.
func (s *sampleReader) pages(ctx context.Context) iter.Seq2[*record.Page, error] {
	if s.table == nil {
		return sample.Pages(ctx, s, 1)
	}
	return func(yield func(*record.Page, error) bool) {
		ctx, cancel := context.WithTimeoutCause(ctx, sampleTime,
			fmt.Errorf("the table did not answer within %s", sampleTime))
		defer cancel()
		itemsRead, bytesRead := 0, 0
		for page, err := range sample.Pages(ctx, s, sampleSegments) {
			if err != nil {
				yield(nil, err)
				return
			}
			page.Changes = page.Changes[:min(len(page.Changes), s.maxItems-itemsRead)]
			itemsRead += len(page.Changes)
			bytesRead += page.Bytes
			if !yield(page, nil) || itemsRead == s.maxItems || bytesRead >= sampleBytes {
				return
			}
		}
		s.allRead = true
	}
}
