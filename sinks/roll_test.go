package sinks_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
)

// The objects of a log have the size in the file, even if the bounds of the pipeline are smaller. This is possible
// because waiting changes are compressed.
func TestRollAboveTheBounds(t *testing.T) {
	cfg, err := config.Parse("tablewake.yaml", []byte(`
version: 1
name: shop
source: {table: shop}
sinks:
  history:
    archive: {bucket: history, roll: {bytes: 16MiB, age: 1h}}
`), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	const pages = 40 // of one megabyte each
	for _, c := range []struct {
		name        string
		opts        []sinks.Option
		least, most int
	}{
		{"live", []sinks.Option{sinks.Live()}, 3, 3},
		{"live and bounded", []sinks.Option{sinks.Live(), sinks.WithBounds(0, 4<<20, 0)}, 3, 4},
		{"many changes", []sinks.Option{sinks.Live(), sinks.WithBounds(0, 0, 500)}, 3, 4},
		{"finite", []sinks.Option{sinks.Finite()}, 3, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			stores := &objectNames{Stores: sinks.PlanOnly()}
			p, err := sinks.Assemble(t.Context(), cfg, stores, c.opts...)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run(t.Context(), megabytes(pages), nil); err != nil {
				t.Fatal(err)
			}
			if n := len(stores.put); n < c.least || n > c.most {
				t.Errorf("%d objects, want %d to %d", n, c.least, c.most)
			}
			if l := p.Ledger(); l.Source.Read != pages*250 || l.Sinks["history"].Written != pages*250 {
				t.Errorf("ledger %+v", l)
			}
		})
	}
}

// megabytes returns a source of n pages with 250 records of 4 KB each.
func megabytes(n int) pipeline.Source {
	dec := record.NewDecoder(record.DecoderOptions{EpochZero: true})
	filler := strings.Repeat("tablewake ", 390)
	sequence := 0
	return pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		if n == 0 {
			return nil, io.EOF
		}
		n--
		var lines []byte
		for range 250 {
			sequence++
			lines = fmt.Appendf(lines, `{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"%d"}},"NewImage":{"PK":{"S":"%[1]d"},"x":{"S":"%s"}},"SequenceNumber":"%[1]d"}}`+"\n", sequence, filler)
		}
		page := dec.DecodeLines(lines)
		return &pipeline.Page{Page: *page, Partition: "p", Position: pipeline.Position(fmt.Sprint(n))}, nil
	})
}
