package items_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/items"
	"github.com/tablewake/tablewake/sinks/state"
)

// forgetful stores no parts: each run reads all.
type forgetful struct{}

func (forgetful) Parts(context.Context, string) iter.Seq2[state.Part, error] {
	return func(func(state.Part, error) bool) {}
}

func (forgetful) SetPart(context.Context, state.Part, state.Part) (bool, error) { return true, nil }

// The items of the shop through a pipeline whose sink only counts, from files of items and, for comparison, as many
// records of its stream.
func BenchmarkSource(b *testing.B) {
	const n = 100_000
	dir := b.TempDir()
	shopItems := shopLines(b, "export/AWSDynamoDB/*/data/*.gz")
	records := shopLines(b, "stream.jsonl")
	for i := range 4 {
		writeGzip(b, filepath.Join(dir, string(rune('a'+i))+".json.gz"), shopItems, n/4)
	}
	writeGzip(b, filepath.Join(dir, "stream.jsonl.gz"), records, n)

	run := func(b *testing.B, open func() pipeline.Source) {
		b.ReportAllocs()
		for b.Loop() {
			var written atomic.Int64
			sink := pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
				written.Add(int64(len(ds)))
				return nil
			})
			p, err := pipeline.New(pipeline.Options{Name: "shop", Routes: []pipeline.Route{{Name: "count", Sink: sink}}})
			if err != nil {
				b.Fatal(err)
			}
			src := open()
			committer, _ := src.(pipeline.Committer)
			if err := p.Run(b.Context(), src, committer); err != nil {
				b.Fatal(err)
			}
			if c, ok := src.(*snapshot.Source); ok {
				if err := c.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			if written.Load() != n {
				b.Fatalf("%d items", written.Load())
			}
		}
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
	}
	b.Run("items", func(b *testing.B) {
		run(b, func() pipeline.Source {
			snap, err := items.Open(b.Context(), items.Options{
				Paths:   []string{filepath.Join(dir, "a.json.gz"), filepath.Join(dir, "b.json.gz"), filepath.Join(dir, "c.json.gz"), filepath.Join(dir, "d.json.gz")},
				Decoder: record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true}, Keys: []string{"PK", "SK"}},
			})
			if err != nil {
				b.Fatal(err)
			}
			src, err := snapshot.NewSource(snapshot.SourceOptions{Snapshot: snap, Backfills: forgetful{}, Run: "run", Owner: "bench"})
			if err != nil {
				b.Fatal(err)
			}
			return src
		})
	})
	b.Run("replay", func(b *testing.B) {
		run(b, func() pipeline.Source {
			src, err := replay.Open(replay.Options{Paths: []string{filepath.Join(dir, "stream.jsonl.gz")}})
			if err != nil {
				b.Fatal(err)
			}
			return src
		})
	})
}

// shopLines returns the lines of files of the shop's fixture.
func shopLines(b *testing.B, pattern string) []string {
	b.Helper()
	names, err := filepath.Glob("../../../test/fixtures/shop/" + pattern)
	if err != nil || len(names) == 0 {
		b.Fatal(pattern, err)
	}
	var lines []string
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		if strings.HasSuffix(name, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(text))
			if err != nil {
				b.Fatal(err)
			}
			if text, err = io.ReadAll(z); err != nil {
				b.Fatal(err)
			}
		}
		for line := range strings.Lines(string(text)) {
			lines = append(lines, line)
		}
	}
	return lines
}

// writeGzip writes n lines, which are taken from lines again and again.
func writeGzip(b *testing.B, path string, lines []string, n int) {
	b.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for i := range n {
		if _, err := io.WriteString(z, lines[i%len(lines)]); err != nil {
			b.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
}
