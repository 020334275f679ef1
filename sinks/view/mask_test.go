package view_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

var masked = regexp.MustCompile(`masked-[0-9a-f]{12}`)

// A mask changes the text of a plan, but no decision. The real values decide about conditions, moves and missing
// values.
func TestMaskedPlan(t *testing.T) {
	customer := func(mail string, rest ...string) sinktest.Item {
		return itemOf(append(rest, "Type=Order", "Email="+mail, "Total=#12.5", "Status=paid")...)
	}
	a, upper, b, none := customer("canary@x.org"), customer("Canary@X.org"), customer("canary@y.org"), itemOf("Type=Order", "Total=#12.5")
	records := []sinktest.Record{
		{EventName: "INSERT", New: a},
		{EventName: "MODIFY", Old: a, New: upper}, // the row stays, because the key is in lower case
		{EventName: "MODIFY", Old: upper, New: b}, // the row moves
		{EventName: "MODIFY", Old: b, New: none},
		{EventName: "REMOVE", Old: b},
	}
	byMail := func(m *mask.Mask) pipeline.Planner {
		o := byStatus(t, nil)
		o.PK, o.Mask = attribute(t, "PK=EMAIL#{Email|lower}"), m
		o.Attributes = append(o.Attributes, attribute(t, "mail={Email?}"))
		return newSink(t, o)
	}
	byItem := func(m *mask.Mask) pipeline.Planner {
		o := byStatus(t, nil)
		o.PK, o.SK, o.Mask = attribute(t, "PK=EMAIL#{Email|lower}"), attribute(t, "SK=USER"), m
		return newSink(t, o)
	}
	summed := func(m *mask.Mask) pipeline.Planner {
		o := revenue(t, nil)
		o.PK, o.SK, o.Mask = group(t, "PK=EMAIL#{Email}"), group(t, "SK={Status}"), m
		o.Values = []view.Value{{Name: "total", Kind: "sum", Path: "Total"}, {Name: "orders", Kind: "count"}, {Name: "mails", Kind: "distinct", Path: "Email"}}
		return newAggregate(t, o)
	}
	for name, plan := range map[string]func(*mask.Mask) pipeline.Planner{"row": byMail, "claim": byItem, "aggregate": summed} {
		open, hidden := plan(nil), plan(sinktest.Mask(t, "Email"))
		for i, c := range changes(t, records...) {
			d, m := pipeline.Delivery{Change: c}, pipeline.Delivery{Change: c}
			if err := open.Plan(&d); err != nil {
				t.Fatal(err)
			}
			if err := hidden.Plan(&m); err != nil {
				t.Fatal(err)
			}
			want, got := planned(&d), planned(&m)
			if strings.Contains(strings.ToLower(got+fmt.Sprint(m.Ops)), "canary") {
				t.Errorf("%s %d shows %s", name, i, got)
			}
			if want, got := written(d.Ops), written(m.Ops); want != got || want == "" {
				t.Errorf("%s %d writes %s, without a mask %s", name, i, got, want)
			}
			stars := regexp.MustCompile(`(?i)canary@[xy].org`).ReplaceAllString(want, "***")
			if masked.ReplaceAllString(got, "***") != stars {
				t.Errorf("%s %d is %s, without a mask %s", name, i, got, want)
			}
		}
	}
	d := pipeline.Delivery{Change: changes(t, records[2])[0]}
	if err := byMail(sinktest.Mask(t, "Email")).Plan(&d); err != nil {
		t.Fatal(err)
	}
	if texts := masked.FindAllString(planned(&d), -1); len(texts) != 2 || texts[0] == texts[1] {
		t.Errorf("a move from one row to another shows %q", texts)
	}
}

// Hidden parts of an element are masked in the group's key and in the values.
func TestMaskedElements(t *testing.T) {
	o := sold(t, nil)
	o.SK, o.Mask = group(t, "SK={each.qty}"), sinktest.Mask(t, "Lines[*].sku", "PK", "Lines[*].qty")
	it := itemOf("Type=Order")
	it["Lines"] = sinktest.Attr{"L": []any{map[string]any{"M": map[string]any{"sku": map[string]any{"S": "canary"}, "qty": map[string]any{"N": "4711"}}}}}
	d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "INSERT", New: it})[0]}
	if err := newAggregate(t, o).Plan(&d); err != nil {
		t.Fatal(err)
	}
	got := masked.ReplaceAllString(planned(&d), "***")
	if want := `count in group PK="PRODUCT#***" SK="***": units sum "***", lines +1, best max "***", buyers distinct "***" (replaces what the item counted for)`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// An invalid row key is an error, also if the key is masked.
func TestMaskedKeyFails(t *testing.T) {
	o := byStatus(t, nil)
	o.PK, o.Mask = attribute(t, "PK={Note}"), sinktest.Mask(t, "Note")
	it := itemOf("Type=Order")
	it["Note"] = sinktest.Attr{"BOOL": true}
	d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "INSERT", New: it})[0]}
	if err := newSink(t, o).Plan(&d); err == nil || !strings.Contains(err.Error(), "BOOL") {
		t.Errorf("a row key of a BOOL: %v", err)
	}
}

// written returns the writes that a store receives, as text.
func written(ops []pipeline.Op) string {
	var b strings.Builder
	for _, op := range ops {
		switch o := op.(type) {
		case *view.Op:
			fmt.Fprintf(&b, "%v %v %v;", o.Mutation.PK, o.Mutation.SK, o.Mutation.Attributes)
		case *view.ClaimOp:
			fmt.Fprintf(&b, "%q %v;", o.Row, o.Claim)
		case *view.GroupOp:
			fmt.Fprintf(&b, "%v;", o.Share)
		}
	}
	return b.String()
}
