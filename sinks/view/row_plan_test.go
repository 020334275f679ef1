package view_test

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// TestPlan checks the effects of a change on a row.
func TestPlan(t *testing.T) {
	var (
		paid    = itemOf("Type=Order", "Status=paid", "Total=#10.50")
		noted   = itemOf("Type=Order", "Status=paid", "Note=x")
		shipped = itemOf("Type=Order", "Status=shipped")
		user    = itemOf("Type=User", "Status=paid")
		sparse  = itemOf("Type=Order")
		empty   = itemOf("Type=Order", "Status=")
		null    = itemOf("Type=Order")
	)
	null["Status"] = sinktest.Attr{"NULL": true}
	const (
		putPaid     = `put row PK="STATUS#paid" SK="u,o"`
		putShipped  = `put row PK="STATUS#shipped" SK="u,o"`
		buryPaid    = `tombstone row PK="STATUS#paid" SK="u,o"`
		buryShipped = `tombstone row PK="STATUS#shipped" SK="u,o"`
	)
	for _, c := range []struct {
		name   string
		record sinktest.Record
		want   string // ops, or the reason why there is no effect
	}{
		{"enter by insert", sinktest.Record{EventName: "INSERT", New: paid}, putPaid + " (enters)"},
		{"enter by modify", sinktest.Record{EventName: "MODIFY", Old: user, New: paid}, putPaid + " (enters)"},
		{"enter by getting a key", sinktest.Record{EventName: "MODIFY", Old: sparse, New: paid}, putPaid + " (enters)"},
		{"enter by backfill", sinktest.Record{EventName: "SNAPSHOT", New: paid}, putPaid + " (enters)"},
		{"stay", sinktest.Record{EventName: "MODIFY", Old: paid, New: noted}, putPaid + " (stays)"},
		{"stay unchanged", sinktest.Record{EventName: "MODIFY", Old: paid, New: paid}, putPaid + " (stays)"},
		{"move", sinktest.Record{EventName: "MODIFY", Old: paid, New: shipped}, putShipped + " (moves here); " + buryPaid + " (moves away)"},
		{"leave by condition", sinktest.Record{EventName: "MODIFY", Old: paid, New: user}, buryPaid + " (leaves)"},
		{"leave by a missing key", sinktest.Record{EventName: "MODIFY", Old: paid, New: sparse}, buryPaid + " (leaves)"},
		{"leave by an empty key", sinktest.Record{EventName: "MODIFY", Old: paid, New: empty}, buryPaid + " (leaves)"},
		{"leave by a NULL key", sinktest.Record{EventName: "MODIFY", Old: paid, New: null}, buryPaid + " (leaves)"},
		{"remove", sinktest.Record{EventName: "REMOVE", Old: shipped}, buryShipped + " (item removed)"},
		{"remove by TTL", sinktest.Record{EventName: "REMOVE", Old: shipped, TTL: true}, buryShipped + " (item removed)"},
		{"unknown, both images", sinktest.Record{EventName: "EVOLVE", Old: paid, New: shipped}, putShipped + " (moves here); " + buryPaid + " (moves away)"},
		{"unknown, new image", sinktest.Record{EventName: "EVOLVE", New: paid}, putPaid + " (enters)"},
		{"unknown, old image", sinktest.Record{EventName: "EVOLVE", Old: paid}, buryPaid + " (item removed)"},
		{"never in", sinktest.Record{EventName: "MODIFY", Old: user, New: user}, "no_effect when"},
		{"insert of another type", sinktest.Record{EventName: "INSERT", New: user}, "no_effect when"},
		{"remove of another type", sinktest.Record{EventName: "REMOVE", Old: user}, "no_effect when"},
		{"sparse", sinktest.Record{EventName: "INSERT", New: sparse}, "no_effect sparse"},
		{"still sparse", sinktest.Record{EventName: "MODIFY", Old: sparse, New: empty}, "no_effect sparse"},
		{"sparse removed", sinktest.Record{EventName: "REMOVE", Old: null}, "no_effect sparse"},
		{"sparse to another type", sinktest.Record{EventName: "MODIFY", Old: sparse, New: user}, "no_effect sparse"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := pipeline.Delivery{Change: changes(t, c.record)[0]}
			if err := newSink(t, byStatus(t, nil)).Plan(&d); err != nil {
				t.Fatal(err)
			}
			if got := planned(&d); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func planned(d *pipeline.Delivery) string {
	if d.Outcome == pipeline.NoEffect {
		return d.Outcome.String() + " " + d.Reason
	}
	var lines []string
	for _, op := range d.Ops {
		lines = append(lines, op.String())
	}
	return strings.Join(lines, "; ")
}

func TestAttributesKeepTheirTypes(t *testing.T) {
	o := byStatus(t, nil)
	o.Attributes = []view.Attribute{
		attribute(t, "total={Total}"), attribute(t, "text={Total} EUR"), attribute(t, "missing={Nope}"), attribute(t, "part=a{Nope}"),
		attribute(t, "tags={Tags?}"), attribute(t, "empty={Empty}"), attribute(t, "op={@op}"), attribute(t, "kind=order"),
	}
	it := itemOf("Type=Order", "Status=paid", "Total=#12345678901234567890.5", "Empty=")
	it["Tags"] = sinktest.Attr{"SS": []string{"a", "b"}}
	ds := deliveries(t, newSink(t, o), changes(t, sinktest.Record{EventName: "INSERT", New: it})...)
	var got []string
	for _, c := range ds[0].Ops[0].(*view.Op).Mutation.Attributes {
		got = append(got, c.Name+" "+c.Value.String())
	}
	want := `total {"N":"12345678901234567890.5"}
text {"S":"12345678901234567890.5 EUR"}
tags {"SS":["a","b"]}
op {"S":"INSERT"}
kind {"S":"order"}`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// If the row key is {@key} alone, the row is found without an old image, even if it is unknown whether the row exists.
func TestFixedKeyNeedsNoOldImage(t *testing.T) {
	o := byStatus(t, nil)
	o.PK, o.SK = attribute(t, "id=ORDER#{@key}"), view.Attribute{}
	s := newSink(t, o)
	if got := s.Requires(); got != (pipeline.Needs{New: true}) {
		t.Errorf("Requires: got %+v, want the new image alone", got)
	}
	for _, c := range []struct {
		record sinktest.Record
		want   string
	}{
		{sinktest.Record{EventName: "MODIFY", New: itemOf("Type=Order"), ViewType: "NEW_IMAGE"}, `put row id="ORDER#u,o" (stays)`},
		{sinktest.Record{EventName: "MODIFY", New: itemOf("Type=User"), ViewType: "NEW_IMAGE"}, `tombstone row id="ORDER#u,o" (leaves)`},
		{sinktest.Record{EventName: "REMOVE", Keys: itemOf(), ViewType: "NEW_IMAGE"}, `tombstone row id="ORDER#u,o" (item removed)`},
		{sinktest.Record{EventName: "EVOLVE", New: itemOf("Type=Order"), ViewType: "NEW_IMAGE"}, `put row id="ORDER#u,o" (stays)`},
		{sinktest.Record{EventName: "EVOLVE", New: itemOf("Type=User"), ViewType: "NEW_IMAGE"}, `tombstone row id="ORDER#u,o" (leaves)`},
	} {
		d := pipeline.Delivery{Change: changes(t, c.record)[0]}
		if err := s.Plan(&d); err != nil {
			t.Fatal(err)
		}
		if got := planned(&d); got != c.want {
			t.Errorf("%s: got %s, want %s", c.record.EventName, got, c.want)
		}
	}
}

// A REMOVE without an old image, in a view type that has old images, is a line of an incremental export. The item was
// inserted and removed within the time of the export, so it never had a row.
func TestRemoveOfAnItemThatCameAndWent(t *testing.T) {
	c := *changes(t, sinktest.Record{EventName: "REMOVE", Old: itemOf("Type=Order", "Status=paid")})[0]
	c.Old = item.Image{}
	d := pipeline.Delivery{Change: &c}
	if err := newSink(t, byStatus(t, nil)).Plan(&d); err != nil || len(d.Ops) > 0 || d.Outcome != pipeline.NoEffect {
		t.Errorf("got %s, %v, %v, want no effect", planned(&d), d.Outcome, err)
	}
}

func TestNothingButTheKeyNeedsNoImage(t *testing.T) {
	s := newSink(t, view.Options{Name: "v", Pipeline: "p", Table: "t", PK: attribute(t, "id={@key}")})
	if got := s.Requires(); got != (pipeline.Needs{}) {
		t.Errorf("Requires: got %+v, want no image", got)
	}
	d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "MODIFY", Keys: itemOf(), ViewType: "KEYS_ONLY"})[0]}
	if err := s.Plan(&d); err != nil {
		t.Fatal(err)
	}
	if got, want := planned(&d), `put row id="u,o" (stays)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Fact 13: A change without an image that the view needs is an error with a clear text.
func TestFact13_MissingImages(t *testing.T) {
	s := newSink(t, byStatus(t, nil))
	if got := s.Requires(); got != (pipeline.Needs{Old: true, New: true}) {
		t.Errorf("Requires: got %+v, want both images: rows may move", got)
	}
	for _, r := range []sinktest.Record{
		{EventName: "MODIFY", New: itemOf("Type=Order", "Status=paid"), ViewType: "NEW_IMAGE"},
		{EventName: "MODIFY", Old: itemOf("Type=Order", "Status=paid"), ViewType: "OLD_IMAGE"},
		{EventName: "REMOVE", Keys: itemOf(), ViewType: "NEW_IMAGE"},
		{EventName: "INSERT", Keys: itemOf(), ViewType: "KEYS_ONLY"},
		{EventName: "EVOLVE", Keys: itemOf(), ViewType: "KEYS_ONLY"},
	} {
		d := pipeline.Delivery{Change: changes(t, r)[0]}
		err := s.Plan(&d)
		if err == nil || !strings.Contains(err.Error(), "NEW_AND_OLD_IMAGES") {
			t.Errorf("%s without an image: got the error %v and %s, want one that names the view type", r.EventName, err, planned(&d))
		}
	}
}

func TestPlanErrors(t *testing.T) {
	list := itemOf("Type=Order", "Status=paid")
	list["Status"] = sinktest.Attr{"L": []sinktest.Attr{}}
	for _, c := range []struct {
		name   string
		pk     string
		record sinktest.Record
		want   string
	}{
		{"condition", "{Status}", sinktest.Record{EventName: "INSERT", New: itemOf("Type=broken")}, "the condition fails"},
		{"condition on both images", "{Status}", sinktest.Record{EventName: "MODIFY", Old: itemOf("Type=broken"), New: itemOf("Type=broken")}, "the condition fails"},
		{"a key that is not there before", "{Status}", sinktest.Record{EventName: "MODIFY", Old: itemOf("Type=Order"), New: list}, "key attribute PK has the type L"},
		{"a key that is a list", "{Status}", sinktest.Record{EventName: "INSERT", New: list}, "key attribute PK has the type L"},
		{"text of a list", "S#{Status}", sinktest.Record{EventName: "INSERT", New: list}, "Status"},
		{"a long key", "{Status}", sinktest.Record{EventName: "INSERT", New: itemOf("Type=Order", "Status="+strings.Repeat("x", 2049))}, "2049 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := byStatus(t, nil)
			o.PK = attribute(t, "PK="+c.pk)
			d := pipeline.Delivery{Change: changes(t, c.record)[0]}
			err := newSink(t, o).Plan(&d)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want one that says %q", err, c.want)
			}
			if _, again := pipeline.Retryable(err); again {
				t.Errorf("%v is marked as worth retrying", err)
			}
		})
	}
}
