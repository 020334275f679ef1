package record_test

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
)

// snapshotLines returns the items of eventOf in three forms: as lines of a full export, as the records that inserted
// them, and as an answer of Scan.
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

// BenchmarkSnapshotDecoder measures the lines of an export, an answer of Scan, and the records that inserted the same
// items.
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

// TestSnapshotDecoderRate checks that items of an export are decoded at least at 0.9 of the rate of records.
func TestSnapshotDecoderRate(t *testing.T) {
	export, inserts, _ := snapshotLines(t, 100)
	records := record.NewDecoder(record.DecoderOptions{})
	items := record.NewSnapshotDecoder(snapshotOptions(0))
	ofExport, ofRecords := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range 200 {
		start := time.Now()
		records.DecodeLines(inserts)
		between := time.Now()
		items.DecodeLines(export)
		ofRecords, ofExport = min(ofRecords, between.Sub(start)), min(ofExport, time.Since(between))
	}
	if ratio := float64(ofRecords) / float64(ofExport); ratio < 0.9 {
		t.Errorf("an export's lines are decoded at %.2f of the rate of records, want 0.9", ratio)
	} else {
		t.Logf("%.2f of the rate of records", ratio)
	}
}

// TestSnapshotDecoderAllocations checks that a page costs a few allocations, and an item none.
func TestSnapshotDecoderAllocations(t *testing.T) {
	export, _, scan := snapshotLines(t, 100)
	items := record.NewSnapshotDecoder(snapshotOptions(0))
	for name, decode := range map[string]func() *record.Page{
		"export": func() *record.Page { return items.DecodeLines(export) },
		"scan": func() *record.Page {
			p, _ := items.DecodeScan(scan)
			return p.Page
		},
	} {
		if page := decode(); len(page.Changes) != 100 {
			t.Fatal(page.Errors)
		}
		if got := leastAllocs(func() { decode() }); got > 16 {
			t.Errorf("%s: %v allocations for a page of 100 items, want at most 16", name, got)
		}
	}
}
