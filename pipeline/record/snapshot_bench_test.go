package record_test

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/record"
)

// snapshotLines are the items of eventOf three times: as lines of a full export, as the records that inserted them, and
// as an answer of Scan.
func snapshotLines(tb testing.TB, n int) (export, inserts, scan []byte) {
	page, err := record.NewDecoder(record.DecoderOptions{}).Decode(eventOf(n))
	if err != nil {
		tb.Fatal(err)
	}
	scan = append(scan, `{"Items":[`...)
	for i := range page.Changes {
		c := page.Changes[i]
		export = append(append(append(export, `{"Item":`...), c.New.Bytes()...), "}\n"...)
		if i > 0 {
			scan = append(scan, ',')
		}
		scan = append(scan, c.New.Bytes()...)
		insert := bytes.Replace(c.Raw, append([]byte(`,"OldImage":`), c.Old.Bytes()...), nil, 1)
		inserts = append(append(inserts, bytes.Replace(insert, []byte("MODIFY"), []byte("INSERT"), 1)...), '\n')
	}
	return export, inserts, append(scan, `],"ScannedCount":100}`...)
}

// BenchmarkSnapshotDecoder is an export's lines beside the records that inserted the same items.
func BenchmarkSnapshotDecoder(b *testing.B) {
	export, inserts, scan := snapshotLines(b, 100)
	records := record.NewDecoder(record.DecoderOptions{})
	items := record.NewSnapshotDecoder(snapshotOptions(0))
	for _, bb := range []struct {
		name  string
		input []byte
		page  func() *record.Page
	}{
		{"records", inserts, func() *record.Page { return records.DecodeLines(inserts) }},
		{"export", export, func() *record.Page { return items.DecodeLines(export) }},
		{"scan", scan, func() *record.Page {
			p, err := items.DecodeScan(scan)
			if err != nil {
				b.Fatal(err)
			}
			return p.Page
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.input)))
			b.ReportAllocs()
			shortest := time.Duration(math.MaxInt64)
			for b.Loop() {
				start := time.Now()
				page := bb.page()
				shortest = min(shortest, time.Since(start))
				if len(page.Changes) != 100 {
					b.Fatal(page.Errors)
				}
			}
			b.ReportMetric(float64(shortest)/100, "ns/record")
		})
	}
}

// TestSnapshotDecoderAllocations: a page costs as many allocations as a page of records.
func TestSnapshotDecoderAllocations(t *testing.T) {
	export, inserts, scan := snapshotLines(t, 100)
	records := record.NewDecoder(record.DecoderOptions{StreamARN: pipelinetest.StreamARN})
	items := record.NewSnapshotDecoder(snapshotOptions(0))
	count := func(decode func() *record.Page) float64 {
		if page := decode(); len(page.Changes) != 100 {
			t.Fatal(page.Errors)
		}
		return testing.AllocsPerRun(20, func() { decode() })
	}
	of := count(func() *record.Page { return records.DecodeLines(inserts) })
	for name, got := range map[string]float64{
		"export": count(func() *record.Page { return items.DecodeLines(export) }),
		"scan": count(func() *record.Page {
			p, _ := items.DecodeScan(scan)
			return p.Page
		}),
	} {
		if got > of+1 || got > 16 {
			t.Errorf("%s: %v allocations for a page of 100 items, and %v for a page of 100 records", name, got, of)
		}
	}
}
