package view_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// hints is a store that records the hints of each write.
type hints struct {
	memory
	calls []string
}

func (h *hints) Apply(ctx context.Context, t view.Target, ms []view.Mutation) ([]view.Result, error) {
	var b strings.Builder
	for _, m := range ms {
		pk, _ := m.PK.Text()
		if m.Tombstone {
			pk = "no " + pk
		}
		if m.LikelyNew {
			pk = "new " + pk
		}
		if b.Len() > 0 {
			b.WriteString(map[bool]string{true: " with ", false: ", "}[m.EndsMove])
		}
		b.WriteString(strings.ReplaceAll(pk, "STATUS#", ""))
	}
	h.calls = append(h.calls, b.String())
	return h.memory.Apply(ctx, t, ms)
}

// The store learns from each write which rows are probably not stored, and which rows belong together. Rows of one
// change belong together if both are the newest of their rows in the batch.
func TestApart_Hints(t *testing.T) {
	at := func(status string) sinktest.Item { return order("Status=" + status) }
	insert := func(to string) sinktest.Record { return sinktest.Record{EventName: "INSERT", New: at(to)} }
	move := func(from, to string) sinktest.Record {
		return sinktest.Record{EventName: "MODIFY", Old: at(from), New: at(to)}
	}
	remove := func(from string) sinktest.Record { return sinktest.Record{EventName: "REMOVE", Old: at(from)} }
	for _, c := range []struct {
		name    string
		records []sinktest.Record
		want    string
	}{
		{"enters", []sinktest.Record{insert("a")}, "new a"},
		{"stays", []sinktest.Record{move("a", "a")}, "a"},
		{"leaves", []sinktest.Record{remove("a")}, "no a"},
		{"moves", []sinktest.Record{move("a", "b")}, "new b with no a"},
		{"enters and stays", []sinktest.Record{insert("a"), move("a", "a")}, "new a"},
		{"moves and stays", []sinktest.Record{move("a", "b"), move("b", "b")}, "new b, no a"},
		{"moves and moves on", []sinktest.Record{move("a", "b"), move("b", "c")}, "no a, new c with no b"},
		{"moves and comes back", []sinktest.Record{move("a", "b"), move("b", "a")}, "new a with no b"},
		{"enters and moves", []sinktest.Record{insert("a"), move("a", "b")}, "new b with no a"},
		{"leaves and enters", []sinktest.Record{remove("a"), insert("a")}, "new a"},
		{"the same change twice", []sinktest.Record{move("a", "b"), move("a", "b")}, "new b with no a"},
	} {
		for _, inPlace := range []bool{false, true} {
			h := new(hints)
			o := byStatus(t, h)
			o.InPlace = inPlace
			cs := changes(t, c.records...)
			if strings.HasSuffix(c.name, "twice") {
				cs[1].Version = cs[0].Version
			}
			if _, failed := write(t, newSink(t, o), cs...); failed != nil {
				t.Fatal(failed)
			}
			if inPlace && strings.Contains(h.calls[0], " with ") {
				t.Errorf("%s, in place: told %q: each row is written by itself", c.name, h.calls)
			}
			if !inPlace && (len(h.calls) != 1 || h.calls[0] != c.want) {
				t.Errorf("%s: told %q, want %q", c.name, h.calls, c.want)
			}
		}
	}
}
