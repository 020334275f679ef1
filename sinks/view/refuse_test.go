package view_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// An item whose row cannot be planned for a while leaves no row. The change that spoils it removes the row and goes to
// dead letters. The change that repairs it puts the row in the right place. It goes to dead letters too if it is
// unknown which row the spoilt image would have: it must come again after that one. However the changes are cut into
// batches, and when they come again.
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
			for range 2 { // the second time all of it comes again
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

// A change that spoils an attribute and not the key takes the row away too: it shows what
// the item is no more.
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
	// An item without a row has nothing to remove.
	d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "INSERT", New: bad})[0]}
	if err := newSink(t, o).Plan(&d); err == nil || len(d.Ops) != 0 {
		t.Errorf("planned %s (%v)", planned(&d), err)
	}
}
