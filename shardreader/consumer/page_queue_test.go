package consumer

import (
	"runtime"
	"slices"
	"testing"
	"weak"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// A page that was taken belongs to the pipeline, while its partition has others.
func TestQueue_LetsGoOfTakenPages(t *testing.T) {
	q := newQueue()
	push := func() weak.Pointer[pipeline.Page] {
		page := &pipeline.Page{Partition: "a", Page: record.Page{Bytes: 1 << 20}}
		q.push(page)
		return weak.Make(page)
	}
	taken := push()
	push()
	q.pop()
	runtime.GC()
	if taken.Value() != nil {
		t.Errorf("it is alive, of a queue of %d bytes", q.bytes)
	}
	runtime.KeepAlive(q)
}

// The queue does what a slice of the pages would.
func TestQueue_IsASliceOfPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue()
		var want []*pipeline.Page
		paused := map[string]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			partition := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "partition")
			switch rapid.IntRange(0, 4).Draw(t, "do") {
			case 0, 1:
				page := &pipeline.Page{Partition: partition, Page: record.Page{Bytes: rapid.IntRange(0, 9).Draw(t, "bytes")}}
				q.push(page)
				want = append(want, page)
			case 2:
				got := q.pop()
				first := slices.IndexFunc(want, func(p *pipeline.Page) bool { return !paused[p.Partition] })
				if first < 0 {
					if got != nil {
						t.Fatal("a queue without pages to give out gives one")
					}
					continue
				}
				if got != want[first] {
					t.Fatalf("it gives another page than the oldest that is not paused, of %s", want[first].Partition)
				}
				want = slices.Delete(want, first, first+1)
			case 4:
				paused[partition] = rapid.Bool().Draw(t, "paused")
				q.setPaused(partition, paused[partition])
			case 3:
				q.drop(partition)
				want = slices.DeleteFunc(want, func(p *pipeline.Page) bool { return p.Partition == partition })
			}
			bytes := int64(0)
			for _, p := range want {
				bytes += int64(p.Bytes)
			}
			if q.pages.Len() != len(want) || q.bytes != bytes || len(want) == 0 && len(q.byPartition) != 0 {
				t.Fatalf("it holds %d pages of %d bytes, want %d of %d", q.pages.Len(), q.bytes, len(want), bytes)
			}
		}
	})
}
