package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/test/exportfile"
)

const (
	exportFiles   = 16
	exportItems   = 200_000 // number of items of the shop
	largeItems    = 400     // number of items of 400 KB; half of them are binary, and their JSON is a third longer
	backfillBytes = 150e6
	shopTable     = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop"
)

// exports are the measured exports: many small items, and items of the largest size.
var exports = []struct {
	name  string
	n     int
	items func(fixture string, file, files int) (iter.Seq[[]byte], error)
}{
	{"items of the shop", exportItems, shopItems},
	{"items of 400 KB", largeItems, heavyItems},
}

// measureBackfill lets a child read each export, and prints its memory. Another child writes the export, because the
// memory of a process counts in the accounting of each process that it starts.
func measureBackfill(fixture string) (within bool, err error) {
	within = true
	for i, e := range exports {
		dir, err := os.MkdirTemp("", "tablewake-memory-")
		if err != nil {
			return false, err
		}
		args := []string{"-fixture", fixture, "-folder", dir, "-n", fmt.Sprint(e.n)}
		_, err = runAgain(append(args, "-child", "export", "-items", fmt.Sprint(i))...)
		var resident int64
		if err == nil {
			resident, err = runAgain(append(args, "-child", "backfill")...)
		}
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return false, fmt.Errorf("backfill of %d %s: %w", e.n, e.name, err)
		}
		fmt.Printf("backfill of %d %s: %d MB resident at most (budget %d MB)\n", e.n, e.name, resident/1e6, int64(backfillBytes/1e6))
		within = within && resident <= backfillBytes
	}
	return within, nil
}

// writeExport writes an export into a folder.
func writeExport(i int, fixture, dir string) error {
	e := exportfile.Export{
		Table: shopTable, ID: "01795254780000-5b0f1c3e", Time: "2026-11-21T09:53:00.000Z", End: "2026-11-21T09:58:12.730Z", Level: gzip.BestSpeed,
	}
	for file := range exportFiles {
		items, err := exports[i].items(fixture, file, exportFiles)
		if err != nil {
			return err
		}
		e.Files = append(e.Files, items)
	}
	return e.Write(dir)
}

// shopItems returns the new images of the fixture's stream. The images repeat with other keys.
func shopItems(fixture string, file, files int) (iter.Seq[[]byte], error) {
	src, err := newMultiplied(filepath.Join(fixture, "stream.jsonl"), exportItems)
	if err != nil {
		return nil, err
	}
	src.copies = file << 20
	decoder := record.NewDecoder(record.DecoderOptions{})
	left := exportItems / files
	return func(yield func([]byte) bool) {
		for left > 0 {
			c := decoder.DecodeLines(append(src.appendRecord(nil), '\n')).Changes[0]
			if !c.New.Exists() {
				continue
			}
			left--
			if !yield(c.New.Bytes()) {
				return
			}
		}
	}, nil
}

// heavyItems returns items of 400 KB, with texts and binary values in turns.
func heavyItems(_ string, file, files int) (iter.Seq[[]byte], error) {
	const size, attributes = 400_000, 100
	return func(yield func([]byte) bool) {
		for i := range largeItems / files {
			rng := rand.New(rand.NewPCG(uint64(file), uint64(i)))
			tag, letters := "S", size
			if i%2 == 1 {
				tag, letters = "B", size*4/3
			}
			b := fmt.Appendf(nil, `{"PK":{"S":"%d-%d"},"SK":{"S":"DOCUMENT"}`, file, i)
			for a := range attributes {
				b = fmt.Appendf(b, `,"Part%d":{"%s":"%s"}`, a, tag, bytes.Repeat(fmt.Appendf(nil, "%04x", rng.IntN(1<<16)), letters/attributes/4))
			}
			if !yield(append(b, '}')) {
				return
			}
		}
	}, nil
}

// runBackfill reads an export like `tablewake backfill`, into sinks that count.
func runBackfill(ctx context.Context, file, dir string) (pipeline.Ledger, error) {
	snap, err := export.Open(ctx, export.Options{
		Layers: []string{dir},
		Decoder: record.SnapshotOptions{
			DecoderOptions: record.DecoderOptions{StreamARN: shopTable + "/stream/2026-11-21T07:00:00.000"}, Keys: []string{"PK", "SK"},
		},
	})
	if err != nil {
		return pipeline.Ledger{}, err
	}
	src, err := snapshot.NewSource(snapshot.SourceOptions{Snapshot: snap, Backfills: forgetful{}, Run: "memory", Owner: "memory"})
	if err != nil {
		return pipeline.Ledger{}, err
	}
	l, err := runCounting(ctx, file, src, src)
	return l, errors.Join(err, src.Close(ctx))
}

// forgetful stores no parts, because one process reads them once.
type forgetful struct{}

// Parts implements [snapshot.PartStore].
func (forgetful) Parts(context.Context, string) iter.Seq2[state.Part, error] {
	return func(func(state.Part, error) bool) {}
}

// SetPart implements [snapshot.PartStore].
func (forgetful) SetPart(context.Context, state.Part, state.Part) (bool, error) { return true, nil }
