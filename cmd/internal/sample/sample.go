package sample

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/inputs"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
)

const (
	maxItems     = 20_000 // maximum number of items that are read from files
	scanSegments = 32     // a scan reads items of each segment; segments divide the table by a hash of the key
	scanPage     = 32     // maximum number of items of a page
	maxScanned   = scanSegments * scanPage
	scanTime     = 2 * time.Minute
)

// Sample has some items of a table.
type Sample struct {
	Items []item.Image
	Table string   // name of the table; "" if the records do not name it
	Noun  string   // "item", or "record" if several elements of Items may be states of one item
	Keys  []string // names of the key attributes; nil if unknown. From Scan the partition key is first
}

// Read reads a sample from files and folders. A file may have records, the lines of an export, one item per line, or an
// answer of Scan. The path "-" means records from s.In.
func Read(ctx context.Context, s cli.Streams, paths []string) (*Sample, error) {
	sample := &Sample{Noun: "item"}
	var unread []string // paths without items
	for _, path := range paths {
		hasItems, err := sample.readLines(path)
		if err != nil {
			return nil, err
		}
		if !hasItems {
			unread = append(unread, path)
		}
	}
	if len(unread) > 0 && len(sample.Items) < maxItems {
		sample.Noun = "record"
		if err := sample.readRecords(ctx, s, unread); err != nil {
			return nil, err
		}
	}
	if len(sample.Items) == 0 {
		return nil, fmt.Errorf(
			"the sample has no item: name a file of records, of an export, or with an item in DynamoDB JSON in each line")
	}
	return sample, nil
}

// readRecords adds the newest image of each record. A file may be cut, because a sample may be a part of it.
func (sample *Sample) readRecords(ctx context.Context, s cli.Streams, paths []string) error {
	src, err := replay.Open(replay.Options{
		Paths: paths, Stdin: s.In, Decoder: record.DecoderOptions{EpochZero: true},
		Skipped: records.SkippedPrinter(s.Err),
	})
	if err != nil {
		return err
	}
	defer src.Close()
	for page, err := range pipeline.DecodedPages(ctx, src) {
		if err != nil && !isOnlyCut(err) {
			return err
		}
		for i := range page.Changes {
			sample.add(&page.Changes[i])
		}
		if len(sample.Items) >= maxItems {
			break
		}
	}
	return nil
}

// isOnlyCut reports whether err is that of files which were all cut.
func isOnlyCut(err error) bool {
	broken, ok := errors.AsType[*replay.BrokenError](err)
	isOther := func(f *replay.FileError) bool { return !errors.Is(f.Err, inputs.ErrCut) }
	return ok && !slices.ContainsFunc(broken.Files, isOther)
}

// add adds the item of a change. The item is the new image. Without a new image it is the old image, and without both
// it is the keys.
func (sample *Sample) add(c *record.Change) {
	m := c.New
	if !m.Exists() {
		m = c.Old
	}
	if !m.Exists() {
		m = c.Keys
	}
	sample.Table = cmp.Or(sample.Table, c.Table)
	if sample.Keys == nil {
		for name := range c.Keys.All() {
			sample.Keys = append(sample.Keys, name)
		}
		slices.Sort(sample.Keys)
	}
	sample.Items = append(sample.Items, m.Clone())
}

// Scan reads a sample of up to 1,024 items from a table. It reads a page of each segment in turn, so that the sample
// has items of the whole table. At the end it prints the number of items to s.Err.
func Scan(ctx context.Context, s cli.Streams, name string) (*Sample, error) {
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, scanTime, fmt.Errorf("the table did not answer within %s", scanTime))
	defer cancel()
	table, err := scan.New(ctx, scan.Options{
		Client: dynamodb.NewFromConfig(sdk), Table: name, Time: time.Now(), Segments: scanSegments, PageItems: scanPage,
		Decoder: record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true}},
		OnRetry: records.RetryPrinter(s.Err, "a request of the scan"),
	})
	if err != nil {
		return nil, err
	}
	sample := &Sample{Noun: "item", Table: table.Table().Name, Keys: table.Table().Keys}
	isWholeTable := true
	for page, err := range Pages(ctx, table, scanSegments) {
		if err != nil {
			return nil, err
		}
		for i := range page.Changes {
			sample.Items = append(sample.Items, page.Changes[i].New.Clone())
		}
		if len(sample.Items) >= maxScanned {
			isWholeTable = false
			break
		}
	}
	if len(sample.Items) == 0 {
		return nil, fmt.Errorf("the table %s has no items to learn from", name)
	}
	fmt.Fprintf(s.Err, "read %s of the table %s, %s, for %g read units\n", cli.Count(len(sample.Items), "item"), sample.Table,
		cli.Choose(isWholeTable, "which are all", "which has more"), table.Units())
	return sample, nil
}

// Pages yields the decoded pages of a snapshot, which consists of parts, such as the segments of a scan. Up to width
// parts are open at once, and Pages reads one page of each in turn. Parts have different numbers of items, so the next
// part is opened when one ends. An error ends the sequence.
func Pages(ctx context.Context, snap snapshot.Snapshot, width int) iter.Seq2[*record.Page, error] {
	return func(yield func(*record.Page, error) bool) {
		parts := partReader{snap: snap, width: width, unopened: snap.Parts()}
		defer parts.close()
		for {
			page, err := parts.read(ctx)
			isEnd := page == nil && err == nil
			if isEnd || !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// partReader reads the parts of a snapshot in turn.
type partReader struct {
	snap     snapshot.Snapshot
	width    int // maximum number of open parts
	unopened []snapshot.Part
	open     []snapshot.Reader
	turn     int // number of earlier reads
}

// read reads the next page of the part whose turn it is. It returns nil at the end of all parts.
func (r *partReader) read(ctx context.Context) (*record.Page, error) {
	for {
		if err := r.openParts(ctx); err != nil || len(r.open) == 0 {
			return nil, err
		}
		i := r.turn % len(r.open)
		r.turn++
		page, err := r.open[i].Read(ctx)
		switch {
		case pipeline.IsEnd(err):
			_ = r.open[i].Close()
			r.open = slices.Delete(r.open, i, i+1)
		case err != nil:
			return nil, err
		default:
			return page.Decoded()
		}
	}
}

// openParts opens parts until width of them are open.
func (r *partReader) openParts(ctx context.Context) error {
	for len(r.open) < r.width && len(r.unopened) > 0 {
		part, err := r.snap.Open(ctx, r.unopened[0].ID, "")
		if err != nil {
			return err
		}
		r.open, r.unopened = append(r.open, part), r.unopened[1:]
	}
	return nil
}

func (r *partReader) close() {
	for _, part := range r.open {
		_ = part.Close()
	}
}
