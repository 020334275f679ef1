package pipeline

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestWatermark_IsTheLastPageBeforeWhichAllAreFinished(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Watermark
		var left []int // pending deliveries by page
		var ids []uint64
		reached := -1 // page of the watermark
		expect := func(pos Position, moved bool) {
			want := -1
			for want+1 < len(left) && left[want+1] == 0 {
				want++
			}
			if moved != (want > reached) {
				t.Fatalf("moved = %v, but the watermark goes from page %d to %d", moved, reached, want)
			}
			if moved && pos != Position(strconv.Itoa(want)) {
				t.Fatalf("watermark %s, want %d", pos, want)
			}
			reached = want
		}
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			var open []int
			for i, n := range left {
				if n > 0 {
					open = append(open, i)
				}
			}
			if len(open) == 0 || rapid.IntRange(0, 2).Draw(t, "step") == 0 {
				n := rapid.IntRange(0, 3).Draw(t, "pending")
				pos := Position(strconv.Itoa(len(left)))
				left = append(left, n)
				id, ok := w.Begin(pos, n)
				ids = append(ids, id)
				expect(pos, ok)
			} else {
				page := rapid.SampledFrom(open).Draw(t, "page")
				n := rapid.IntRange(1, left[page]).Draw(t, "n")
				left[page] -= n
				expect(w.Finish(ids[page], n))
			}
			if got := len(w.pages); got > 4*len(open)+70 {
				t.Fatalf("%d marks for %d open pages", got, len(open))
			}
		}
	})
}

func TestWatermark_BlockedForLongHoldsOneMark(t *testing.T) {
	var w Watermark
	blocked, _ := w.Begin("0", 1)
	for i := 1; i < 100_000; i++ {
		id, _ := w.Begin(Position(strconv.Itoa(i)), i%3)
		if i%3 > 0 {
			w.Finish(id, i%3)
		}
	}
	if len(w.pages) > 100 {
		t.Errorf("%d marks behind one blocked page", len(w.pages))
	}
	if pos, ok := w.Finish(blocked, 1); !ok || pos != "99999" {
		t.Errorf("the watermark is %q, %v; want 99999", pos, ok)
	}
}

func TestWatermark_IgnoresWhatItDoesNotKnow(t *testing.T) {
	var w Watermark
	id, _ := w.Begin("a", 1)
	for _, f := range []struct {
		id uint64
		n  int
	}{{id + 1, 1}, {id, 2}, {id, 0}, {id, -1}} {
		if _, ok := w.Finish(f.id, f.n); ok {
			t.Errorf("Finish(%d, %d) moved the watermark", f.id, f.n)
		}
	}
	if pos, ok := w.Finish(id, 1); !ok || pos != "a" {
		t.Errorf("the watermark is %q, %v", pos, ok)
	}
	if _, ok := w.Finish(id, 1); ok {
		t.Error("a page finished twice")
	}
}
