package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
)

// TestPlanArena checks that values in a page's arena behave like values that are allocated alone.
func TestPlanArena(t *testing.T) {
	type op struct {
		n    int
		name string
	}
	for _, d := range []*Delivery{{}, {arena: &planArena{}}} {
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

// use makes the arena provide memory for n deliveries of a page.
func use(a *planArena, n int) {
	for len(a.ops) < n {
		a.growDeliveries(a.deliveries, len(a.deliveries), len(a.deliveries)+n)
	}
	a.count = n
}

// TestPlanArena_Grow checks that deliveries keep their plans when they move, and that their memory is less than twice
// what they need.
func TestPlanArena_Grow(t *testing.T) {
	const changes, step = 4000, 13
	page := &inflightPage{content: &Page{Page: record.Page{Changes: make([]record.Change, changes)}}}
	var out preparedRoute
	r := route{Route: Route{Sink: SinkFunc(nil), Name: "few"}, planner: plannerFunc(func(d *Delivery) error {
		d.Ops = append(d.Ops, &intent{})
		return nil
	})}
	for i := 0; i < changes; i += step {
		c := &record.Change{Raw: make([]byte, i)}
		if taken, err := r.prepareDelivery(&pageChange{page, i, c, uint64(i)}, &evaluation{}, &out); !taken || err != nil {
			t.Fatal(taken, err)
		}
	}
	for i := range out.deliveries {
		if delivery := &out.deliveries[i]; delivery.hash != uint64(i*step) || len(delivery.Change.Raw) != i*step || len(delivery.Ops) != 1 {
			t.Fatalf("the delivery %d is %+v", i, delivery)
		}
	}
	if n, memory := len(out.deliveries), cap(out.deliveries); n != changes/step+1 || memory >= 2*n {
		t.Errorf("%d deliveries have memory for %d", n, memory)
	}
}

type plannerFunc func(*Delivery) error

func (f plannerFunc) Plan(d *Delivery) error { return f(d) }

// TestPlanArena_Again checks that an emptied arena holds nothing of the previous page, and that texts of that page stay
// valid.
func TestPlanArena_Again(t *testing.T) {
	type op struct{ text string }
	var rooms arenaPool
	for page, n := range []int{3 * slabLength, 1, 200 * slabLength, 2 * slabLength} {
		a := rooms.get()
		use(a, n)
		var texts []string
		var docs [][]byte
		want := func(i int) string { return strings.Repeat(fmt.Sprint(page, " ", i, ";"), 1+i%200) }
		for i := range n {
			d := &Delivery{arena: a}
			o := Alloc[op](d)
			if o.text != "" || a.ops[i] != nil {
				t.Fatalf("page %d: room %d is not empty: %+v, %v", page, i, o, a.ops[i])
			}
			o.text = d.Text([]byte(want(i)))
			a.ops[i] = &intent{}
			texts, docs = append(texts, o.text), append(docs, d.Bytes([]byte(want(i))))
		}
		for i := range n {
			if string(docs[i]) != want(i) {
				t.Fatalf("page %d: the bytes %d are %q", page, i, docs[i])
			}
		}
		rooms.put(a)
		other := &Delivery{arena: rooms.get()}
		for i := range n {
			other.Bytes(make([]byte, len(want(i))))
		}
		for i := range n {
			if texts[i] != want(i) {
				t.Fatalf("page %d: the text %d became %q", page, i, texts[i])
			}
		}
		rooms.put(other.arena)
	}
}

// TestPlanArena_Bounded checks that an arena keeps a bounded amount of memory after a large page.
func TestPlanArena_Bounded(t *testing.T) {
	d := &Delivery{arena: &planArena{}}
	use(d.arena, 4*maxKeptSlabPieces*slabLength)
	for range 4 * maxKeptSlabPieces * slabLength {
		Alloc[Event](d)
		d.Bytes(make([]byte, maxPieceSize/8))
	}
	d.arena.empty()
	events := len(d.arena.slab.(*slab[Event]).pieces)
	if cap(d.arena.ops) > 0 || events > maxKeptSlabPieces || len(d.arena.pieces) > maxKeptPieces {
		t.Errorf("what is kept: %d ops, %d slabs, %d pieces", cap(d.arena.ops), events, len(d.arena.pieces))
	}
}

// TestPlanArena_Shrinks checks that small pages soon free the memory of a large page.
func TestPlanArena_Shrinks(t *testing.T) {
	a := &planArena{}
	page := func(n int) (slabs, pieces int) {
		use(a, n)
		d := &Delivery{arena: a}
		for range n {
			Alloc[Event](d)
			d.Bytes(make([]byte, maxPieceSize/8))
		}
		slabs, pieces = len(a.slab.(*slab[Event]).pieces), len(a.pieces)
		a.empty()
		return slabs, pieces
	}
	page(1000)
	for range 10 {
		page(2)
	}
	slabs, pieces := page(2)
	if slabs > 2 || pieces > 2 || cap(a.ops) > slabLength {
		t.Errorf("a room of small pages has %d slabs, %d pieces, %d ops", slabs, pieces, cap(a.ops))
	}
	slabs, pieces = page(100)
	if again, more := page(100); again != slabs || more != pieces {
		t.Errorf("a page like the one before took %d slabs and %d pieces more", again-slabs, more-pieces)
	}
}

func TestPlanArena_Allocations(t *testing.T) {
	d := &Delivery{arena: &planArena{}}
	text := []byte("STATUS#paid")
	n := testing.AllocsPerRun(1000, func() {
		_ = Alloc[Event](d)
		_ = d.Text(text)
	})
	if n > 0.1 {
		t.Errorf("an op and its text cost %v allocations", n)
	}
}
