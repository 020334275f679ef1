package sample

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
)

const (
	mostItems    = 20_000 // of files
	scanSegments = 32     // a sample has items of each: segments divide the table by a hash of the key
	scanPage     = 32     // items of a page
	mostScanned  = scanSegments * scanPage
	scanTime     = 2 * time.Minute
)

// Sample is some items of a table.
type Sample struct {
	Items []item.Image
	Table string   // name of the table; "" if the sample does not have it
	Noun  string   // of what Items are: "item", or "record" if an item may have several
	Keys  []string // names of the key attributes; a table names the partition key first. Nil: unknown
}

// Read reads a sample from files and folders: records, lines of an export, or lines with an item each.
func Read(ctx context.Context, s cli.Streams, paths []string) (*Sample, error) {
	out := &Sample{Noun: "item"}
	var records []string
	for _, path := range paths {
		left, err := out.readLines(path)
		if err != nil {
			return nil, err
		}
		records = append(records, left...)
	}
	if len(records) > 0 && len(out.Items) < mostItems {
		out.Noun = "record"
		if err := out.readRecords(ctx, s, records); err != nil {
			return nil, err
		}
	}
	if len(out.Items) == 0 {
		return nil, fmt.Errorf("the sample has no item: name a file of records, of an export, or with an item in DynamoDB JSON in each line")
	}
	return out, nil
}

// readRecords reads the newest image of each record.
func (out *Sample) readRecords(ctx context.Context, s cli.Streams, paths []string) error {
	src, err := replay.Open(replay.Options{
		Paths: paths, Stdin: s.In, Decoder: record.DecoderOptions{EpochZero: true},
		Skipped: func(path string, why error) { fmt.Fprintf(s.Err, "left out %s: %v\n", path, why) },
	})
	if err != nil {
		return err
	}
	defer src.Close()
	for len(out.Items) < mostItems {
		read, err := src.Read(ctx)
		if read != nil {
			page, decodeErr := read.Decoded()
			if decodeErr != nil {
				return decodeErr
			}
			for i := range page.Changes {
				out.add(&page.Changes[i])
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// add adds the item of a change: its new image, else the old one, else its keys.
func (out *Sample) add(c *record.Change) {
	m := c.New
	if !m.Exists() {
		m = c.Old
	}
	if !m.Exists() {
		m = c.Keys
	}
	if out.Table == "" {
		out.Table = c.Table
	}
	if out.Keys == nil {
		for name := range c.Keys.All() {
			out.Keys = append(out.Keys, name)
		}
		slices.Sort(out.Keys)
	}
	out.Items = append(out.Items, m.Clone())
}

// Scan reads a page of each of many segments of a table, and prints to the standard error what it reads.
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
	})
	if err != nil {
		return nil, err
	}
	out := &Sample{Noun: "item", Table: table.Table().Name, Keys: table.Table().Keys}
	whole, err := out.readTable(ctx, table)
	if err != nil {
		return nil, err
	}
	if len(out.Items) == 0 {
		return nil, fmt.Errorf("the table %s has no items to learn from", name)
	}
	fmt.Fprintf(s.Err, "read %s of the table %s, %s, for %g read units\n", cli.Count(len(out.Items), "item"), out.Table,
		cli.Either(whole, "which are all", "which has more"), table.Units())
	return out, nil
}

// readTable reads a page of each segment, and goes on until it has mostScanned items or the whole table: segments hold
// different numbers of items.
func (out *Sample) readTable(ctx context.Context, table *scan.Scan) (whole bool, err error) {
	var parts []snapshot.Reader
	defer func() {
		for _, p := range parts {
			err = errors.Join(err, p.Close())
		}
	}()
	for _, p := range table.Parts() {
		part, err := table.Open(ctx, p.ID, "")
		if err != nil {
			return false, err
		}
		parts = append(parts, part)
	}
	for unread := slices.Clone(parts); len(unread) > 0; {
		var more []snapshot.Reader
		for _, part := range unread {
			if len(out.Items) >= mostScanned {
				return false, nil
			}
			switch err := out.readPage(ctx, part); {
			case err == nil:
				more = append(more, part)
			case !errors.Is(err, io.EOF):
				return false, err
			}
		}
		unread = more
	}
	return true, nil
}

// readPage reads one page of a segment; io.EOF if there is none.
func (out *Sample) readPage(ctx context.Context, part snapshot.Reader) error {
	read, err := part.Read(ctx)
	if err != nil {
		return err
	}
	page, err := read.Decoded()
	if err != nil {
		return err
	}
	for i := range page.Changes {
		out.Items = append(out.Items, page.Changes[i].New.Clone())
	}
	return nil
}
