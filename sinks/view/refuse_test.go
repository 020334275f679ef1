package view_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// If an image of an item cannot be planned, the item has no row meanwhile. The change with that image removes the row
// and is dead-lettered. The next valid change puts the row in the right place. It is dead-lettered too if the row key
// of the invalid image is unknown, because it must be redriven after the invalid change. This holds however the changes
// are divided into batches, and also after a replay.
func TestRefusedChangeLeavesNoRowBehind(t *testing.T) {
	spoilt := order()
	spoilt["Status"] = sinktest.Attr{"L": []sinktest.Attr{}}
	broken := itemOf("Type=broken", "Status=paid")
	for name, bad := range map[string]sinktest.Item{"no key": spoilt, "no condition": broken} {
		cs := changes(t,
			sinktest.Record{EventName: "INSERT", New: order("Status=paid")},
			sinktest.Record{EventName: "MODIFY", Old: order("Status=paid"), New: bad},
			sinktest.Record{EventName: "MODIFY", Old: bad, New: order("Status=shipped")},
		)
		for _, cut := range [][]int{{1, 1, 1}, {2, 1}, {1, 2}, {3}} {
			store := newShelf()
			s := newSink(t, byStatus(t, store))
			for range 2 { // the second round is a replay
				rest := cs
				for _, n := range cut {
					ds := make([]pipeline.Delivery, n)
					for i := range ds {
						ds[i].Change = rest[i]
						if err := s.Plan(&ds[i]); err != nil {
							t.Fatal(err)
						}
					}
					err := s.Write(t.Context(), ds)
					failed, _ := errors.AsType[*pipeline.BatchError](err)
					for i := range ds {
						var flaw error
						if failed != nil {
							flaw = failed.Failed[i]
						}
						if (flaw != nil) != (rest[i] == cs[1] || rest[i] == cs[2] && name == "no key") {
							t.Errorf("%s, cut %v: change %s failed with %v", name, cut, rest[i].Sequence, flaw)
						}
						if _, again := pipeline.Retryable(flaw); again {
							t.Errorf("%s, cut %v: it is tried again: %v", name, cut, flaw)
						}
					}
					rest = rest[n:]
				}
				var rows []string
				for r, err := range store.Rows(t.Context(), view.Table{Name: "shop-views", PK: "PK", SK: "SK"}, view.Query{}) {
					if err != nil {
						t.Fatal(err)
					}
					pk, _ := r.PK.Text()
					rows = append(rows, pk)
				}
				if got := strings.Join(rows, " "); got != "STATUS#shipped" {
					t.Errorf("%s, cut %v: the rows are %q", name, cut, got)
				}
			}
		}
	}
}

// A change with an invalid attribute removes the row, even if the row key is valid. Otherwise the row would show an old
// state of the item.
func TestRefusedChangeTakesTheRowAway(t *testing.T) {
	o := byStatus(t, nil)
	o.Attributes = []view.Attribute{attribute(t, "note=N{Note}")}
	bad := order("Status=paid")
	bad["Note"] = sinktest.Attr{"L": []sinktest.Attr{}}
	for _, status := range []string{"paid", "shipped"} {
		bad["Status"] = sinktest.Attr{"S": status}
		d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "MODIFY", Old: order("Status=paid", "Note=x"), New: bad})[0]}
		if err := newSink(t, o).Plan(&d); err != nil || !strings.HasPrefix(planned(&d), `tombstone row PK="STATUS#paid"`) || !strings.Contains(planned(&d), "goes to dead letters") || !d.Ops[0].(*view.Op).Mutation.Void {
			t.Errorf("planned %s (%v)", planned(&d), err)
		}
	}
	// An item without a row has no row to remove.
	d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "INSERT", New: bad})[0]}
	if err := newSink(t, o).Plan(&d); err == nil || len(d.Ops) != 0 {
		t.Errorf("planned %s (%v)", planned(&d), err)
	}
}
