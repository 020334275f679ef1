package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/test/exportfile"
)

const (
	exportTable   = "arn:aws:dynamodb:eu-central-1:123456789012:table/bench"
	exportFiles   = 4
	backfillItems = 8_000
)

// backfillRows measure filling a view and documents from an export.
func backfillRows() []row {
	r := row{
		id:   "backfill",
		work: "a whole pipeline over an export in a folder, in gzip, as `tablewake backfill` assembles it: check the files against the manifest, claim its parts, and plan and write a view and search documents",
		peer: "`tablewake replay` of the records that inserted the same items, in gzip",
		note: "stores that only count; an item is read once where DynamoDB's ETag in S3 vouches for the file, and its file twice here; memory is collected as the commands have it, on both sides",
		of:   rate, least: 0.9,
	}
	rows := shaped(r, openBackfill)
	rows[0].open = func(ctx context.Context, b *bench) (*contest, error) { return openBackfill(ctx, b, usual()) }
	return rows
}

func openBackfill(ctx context.Context, b *bench, s *shape) (*contest, error) {
	dir, err := os.MkdirTemp("", "tablewake-bench-")
	if err != nil {
		return nil, err
	}
	n := backfillItems
	if s.n > 0 { // such items take long to write and to compress
		n = 100 * s.n
	}
	c, err := backfillContest(ctx, b, s, n, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	undo := collectAsCommands()
	c.close = func() error { return errors.Join(undo(), os.RemoveAll(dir)) }
	return c, nil
}

func backfillContest(ctx context.Context, b *bench, s *shape, n int, dir string) (*contest, error) {
	if err := writeExport(s, n, exportFiles, dir); err != nil {
		return nil, err
	}
	saved := filepath.Join(dir, "stream.jsonl.gz")
	if err := writeInserts(s, n, saved); err != nil {
		return nil, err
	}
	filled, err := newFilled(ctx, s, sinks.Backfill(sinks.BackfillOptions{Sinks: []string{"rows", "documents"}}))
	if err != nil {
		return nil, err
	}
	replayed, err := newFilled(ctx, s, sinks.Finite())
	if err != nil {
		return nil, err
	}
	ours := func(ctx context.Context) (fillTally, error) {
		src, err := openParts(ctx, s, dir, &partMemory{}, "bench")
		if err != nil {
			return fillTally{}, err
		}
		tally, err := filled.run(ctx, src, src)
		return tally, errors.Join(err, src.Close(ctx))
	}
	theirs := func(ctx context.Context) (fillTally, error) {
		src, err := replay.Open(replay.Options{Paths: []string{saved}, Decoder: record.DecoderOptions{Table: "bench", StreamARN: streamARN}})
		if err != nil {
			return fillTally{}, err
		}
		tally, err := replayed.run(ctx, src, nil)
		return tally, errors.Join(err, src.Close())
	}
	return agree(ctx, b, n, ours, theirs)
}

// openParts returns an export as a source.
func openParts(ctx context.Context, s *shape, dir string, parts snapshot.PartStore, owner string) (*snapshot.Source, error) {
	keys, err := keyNames(s)
	if err != nil {
		return nil, err
	}
	e, err := export.Open(ctx, export.Options{
		Layers:  []string{dir},
		Decoder: record.SnapshotOptions{DecoderOptions: record.DecoderOptions{Table: "bench", StreamARN: streamARN}, Keys: keys},
	})
	if err != nil {
		return nil, err
	}
	return snapshot.NewSource(snapshot.SourceOptions{Snapshot: e, Backfills: parts, Run: "bench", Owner: owner, ClaimTime: partClaimTime})
}

// fillTally counts what a pipeline wrote. It does not count rows: items of some shapes repeat, and timing decides how
// many rows of the same item a batch merges.
type fillTally struct{ read, documents int64 }

// filled is a pipeline with a view and search documents.
type filled struct {
	pipeline *pipeline.Pipeline
	counts   *counts
	before   pipeline.Ledger
}

func newFilled(ctx context.Context, s *shape, o sinks.Option) (*filled, error) {
	names, err := scalars(s.at(0))
	if err != nil {
		return nil, err
	}
	var attributes []string
	for i, name := range names {
		attributes = append(attributes, fmt.Sprintf("a%d: '{%s}'", i, name))
	}
	cfg, err := config.Parse("bench.yaml", []byte(`version: 1
name: bench
source: {table: bench}
state: {table: bench-state}
connections: {os: {opensearch: 'https://localhost:9200', auth: sigv4}}
sinks:
  rows: {view: {table: views, key: {PK: 'BY#{`+names[0]+`}', SK: '{@key}'}, attributes: {`+strings.Join(attributes, ", ")+`}}}
  documents: {search: {connection: os, index: documents}}
`), os.LookupEnv)
	if err != nil {
		return nil, err
	}
	f := &filled{counts: &counts{}}
	f.pipeline, err = sinks.Assemble(ctx, cfg, f.counts, o)
	return f, err
}

// run takes all pages of a source through the pipeline.
func (f *filled) run(ctx context.Context, src pipeline.Source, c pipeline.Committer) (fillTally, error) {
	f.counts.reset()
	if err := f.pipeline.Run(ctx, src, c); err != nil {
		return fillTally{}, err
	}
	l, before := f.pipeline.Ledger(), f.before
	f.before = l
	if err := l.Check(); err != nil {
		return fillTally{}, err
	}
	for name, s := range l.Sinks {
		if s.Pending+s.DeadLettered > 0 {
			return fillTally{}, fmt.Errorf("sink %s: %d pending, %d dead letters", name, s.Pending, s.DeadLettered)
		}
	}
	if f.counts.rows.Load() == 0 {
		return fillTally{}, errors.New("no row was written")
	}
	return fillTally{l.Source.Read - before.Source.Read, f.counts.documents.Load()}, nil
}

// writeExport writes an export of n items of a shape, in their state after their records.
func writeExport(s *shape, n, files int, dir string) error {
	e := exportfile.Export{
		Table: exportTable, TableID: "6d1f0f2e-52c4-4a35-9c4b-4e4a1a2f7c10", Bucket: "bench-exports",
		ID: "01795254780000-5b0f1c3e", Time: "2026-11-21T09:53:00.000Z", End: "2026-11-21T09:58:12.730Z",
	}
	for file := range files {
		e.Files = append(e.Files, func(yield func([]byte) bool) {
			for i := file * n / files; i < (file+1)*n/files; i++ {
				if !yield([]byte(s.at(i).image())) {
					return
				}
			}
		})
	}
	return e.Write(dir)
}

// writeInserts writes the records that inserted these items, as JSON lines in gzip.
func writeInserts(s *shape, n int, path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	for line := range inserts(s, n) {
		if _, err = z.Write(line); err != nil {
			break
		}
	}
	return errors.Join(err, z.Close(), f.Close())
}

func inserts(s *shape, n int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := range n {
			r := s.at(i)
			r.Event, r.Old, r.New, r.TTL = "INSERT", "", r.image(), false
			var b strings.Builder
			r.appendStreams(&b, i)
			b.WriteByte('\n')
			if !yield([]byte(b.String())) {
				return
			}
		}
	}
}

// keyNames returns the names of the key attributes of a shape.
func keyNames(s *shape) ([]string, error) {
	keys, err := item.Parse([]byte(s.at(0).Keys))
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range keys.All() {
		names = append(names, name)
	}
	return names, nil
}
