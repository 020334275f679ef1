package record_test

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// smallRecord returns the i-th INSERT. Its image has an additional attribute with a text of the given length.
func smallRecord(i, text int) string {
	return pipelinetest.With(pipelinetest.With(pipelinetest.Insert, `"000000100000000005391461882"`, fmt.Sprintf(`"%027d"`, i+1)), `"NewImage":{`, `"NewImage":{"text":{"S":"`+strings.Repeat("x", text)+`"},`)
}

// TestPagesTakeWhatTheirChangesNeed checks that, after a few pages of a stream, a page takes at most a tenth more
// memory than its changes, indexes and keys need, and a constant for rounding by Go.
func TestPagesTakeWhatTheirChangesNeed(t *testing.T) {
	records := func(n, text int) []byte {
		var all []string
		for i := range n {
			all = append(all, smallRecord(i, text+i*7%30))
		}
		return []byte("[" + strings.Join(all, ",") + "]")
	}
	export, _, _ := snapshotLines(t, 100)
	for name, input := range map[string][]byte{
		"an export":           export,
		"an event":            eventOf(100),
		"ten":                 eventOf(10),
		"a large page":        eventOf(700),
		"small records":       records(100, 0),
		"many small records":  records(1000, 0),
		"records of any size": records(1000, 300),
	} {
		t.Run(name, func(t *testing.T) {
			d, s := record.NewDecoder(record.DecoderOptions{}), record.NewSnapshotDecoder(snapshotOptions(0))
			least, need := uint64(math.MaxUint64), 0
			// The decoder loses what it learned at a garbage collection, and under the race detector at every fourth page.
			enough := func() bool { return least <= uint64(need+need/10+512) }
			for round := 0; round < 3 || round < 200 && !enough(); round++ {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				var page *record.Page
				var err error
				if name == "an export" {
					page = s.DecodeLines(input)
				} else {
					page, err = d.Decode(input)
				}
				runtime.ReadMemStats(&after)
				if err != nil || len(page.Errors) > 0 {
					t.Fatal(err, page.Errors)
				}
				if least = min(least, after.TotalAlloc-before.TotalAlloc); need == 0 {
					need = int(unsafe.Sizeof(*page))
					for _, c := range page.Changes {
						need += int(unsafe.Sizeof(c)) + 8*(c.Keys.Len()+c.Old.Len()+c.New.Len()) + len(c.Key)
						if c.Backfill { // the keys of a backfilled item are not part of its line
							need += len(c.Keys.Bytes())
						}
					}
				}
			}
			if !enough() {
				t.Errorf("%d bytes of memory, and %d are needed", least, need)
			}
		})
	}
}

// TestPagesKeepNothingOfTheDecoder checks that an earlier page does not use memory that a decoder reuses for the next
// page, neither in its first change nor in an error before any change.
func TestPagesKeepNothingOfTheDecoder(t *testing.T) {
	unsound := pipelinetest.With(pipelinetest.Modify, `"MODIFY"`, `5`)
	inputs := []string{
		"[" + pipelinetest.Insert + "," + pipelinetest.Modify + "]",
		"[" + unsound + "," + pipelinetest.Insert + "]",
		`{"Records":[` + pipelinetest.Modify + `]}`,
		unsound,
		smallRecord(1, 10),
	}
	d := record.NewDecoder(record.DecoderOptions{})
	checkKept(t, inputs, func(b []byte) *record.Page {
		page, err := d.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		return page
	})
	lines := []string{exportLine, itemText + "\n" + exportLine, `{"Item":{}}` + "\n" + exportLine, modifyLine + "\n" + goneLine, insertLine[:60] + "\n" + removeLine}
	checkKept(t, lines, record.NewSnapshotDecoder(snapshotOptions(1)).DecodeLines)
}

// checkKept decodes inputs again and again. At the end it compares each page with its first state.
func checkKept(t *testing.T, inputs []string, decode func([]byte) *record.Page) {
	t.Helper()
	show := func(page *record.Page) string {
		var b strings.Builder
		image := func(m item.Image) {
			for name, v := range m.All() {
				fmt.Fprint(&b, name, string(v.AppendDynamoDBJSON(nil)), " ")
			}
		}
		for _, c := range page.Changes {
			fmt.Fprintln(&b, c.Key, c.Version, c.Index, c.EventID)
			image(c.Keys)
			image(c.Old)
			image(c.New)
		}
		for _, e := range page.Errors {
			fmt.Fprintln(&b, e.Key, e.Version, e.Index)
			image(e.Keys)
		}
		return b.String()
	}
	var pages []*record.Page
	var want []string
	for range 20 {
		for _, input := range inputs {
			page := decode([]byte(input))
			pages, want = append(pages, page), append(want, show(page))
		}
	}
	for i, page := range pages {
		if got := show(page); got != want[i] || got == "" {
			t.Fatalf("page %d was\n%s\nand is\n%s", i, want[i], got)
		}
	}
}
