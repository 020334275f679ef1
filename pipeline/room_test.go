package pipeline

import (
	"fmt"
	"strings"
	"testing"
)

// TestRoom: what is made in a page's room is as if each had been made alone.
func TestRoom(t *testing.T) {
	type op struct {
		n    int
		name string
	}
	for _, d := range []*Delivery{{}, {room: &room{}}} {
		var ops []*op
		var texts []string
		var docs [][]byte
		want := func(i int) string { return strings.Repeat(fmt.Sprint(i), 40*i) }
		b := make([]byte, 0, 4096)
		for i := range 3 * slabLength {
			o := Alloc[op](d)
			if *o != (op{}) {
				t.Fatalf("op %d is not zero: %+v", i, *o)
			}
			o.n, o.name = i, want(i)
			ops = append(ops, o)
			b = append(b[:0], want(i)...)
			texts = append(texts, d.Text(b))
			own := d.Bytes(b)
			docs = append(docs, own)
			_ = append(own, "what is appended to some bytes is not in others' room"...)
			clear(b)
			if n := Alloc[int](d); *n != 0 {
				t.Fatal("an int is not zero")
			} else {
				*n = 7
			}
		}
		for i, o := range ops {
			if o.n != i || o.name != want(i) || texts[i] != want(i) || string(docs[i]) != want(i) {
				t.Fatalf("%d became %+v, %q and %q", i, *o, texts[i], docs[i])
			}
		}
	}
}

func TestRoom_Allocations(t *testing.T) {
	d := &Delivery{room: &room{}}
	text := []byte("STATUS#paid")
	n := testing.AllocsPerRun(1000, func() {
		_ = Alloc[Event](d)
		_ = d.Text(text)
	})
	if n > 0.1 {
		t.Errorf("an op and its text cost %v allocations", n)
	}
}
