package view_test

import (
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

// TestPlanByItem checks the explained plans of rows that are guarded by item. The old image has no influence on them.
func TestPlanByItem(t *testing.T) {
	const (
		many = " (guarded by item: several items may have this key)"
		none = "; guarded by item: several items may have this key)"
	)
	user := itemOf("Type=User", "Email=e")
	for _, c := range []struct {
		name   string
		record sinktest.Record
		want   string
	}{
		{"insert", sinktest.Record{EventName: "INSERT", New: named("a", "Me@b", "")}, `claim row PK="EMAIL#me@b"` + many},
		{"backfill", sinktest.Record{EventName: "SNAPSHOT", New: named("a", "Me@b", "")}, `claim row PK="EMAIL#me@b"` + many},
		{"move", moved("a", "x", "y", ""), `claim row PK="EMAIL#y"` + many},
		{"stay", moved("a", "x", "x", ""), `claim row PK="EMAIL#x"` + many},
		{"no old image", sinktest.Record{EventName: "MODIFY", New: named("a", "x", ""), ViewType: "NEW_IMAGE"}, `claim row PK="EMAIL#x"` + many},
		{"unknown operation", sinktest.Record{EventName: "EVOLVE", New: named("a", "x", "")}, `claim row PK="EMAIL#x"` + many},
		{"remove", moved("a", "x", "", ""), "claim no row (item removed" + none},
		{"remove by TTL", sinktest.Record{EventName: "REMOVE", Old: named("a", "x", ""), TTL: true}, "claim no row (item removed" + none},
		{"unknown removal", sinktest.Record{EventName: "EVOLVE", Old: named("a", "x", "")}, "claim no row (item removed" + none},
		{"leave by condition", sinktest.Record{EventName: "MODIFY", Old: named("o", "x", ""), New: user}, "claim no row (the condition is not met" + none},
		{"never in", sinktest.Record{EventName: "MODIFY", Old: user, New: user}, "claim no row (the condition is not met" + none},
		{"sparse", sinktest.Record{EventName: "INSERT", New: order()}, "claim no row (a value of its key is missing" + none},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := pipeline.Delivery{Change: changes(t, c.record)[0]}
			if err := newSink(t, byEmail(t, nil, "")).Plan(&d); err != nil {
				t.Fatal(err)
			}
			if got := planned(&d); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestExplainShowsBothKeysAndWhy(t *testing.T) {
	o := byStatus(t, nil)
	o.SK = attribute(t, "SK=#{Total?}")
	d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "INSERT", New: order("Status=paid")})[0]}
	if err := newSink(t, o).Plan(&d); err != nil {
		t.Fatal(err)
	}
	const want = `claim row PK="STATUS#paid" SK="#" (guarded by item: several items may have this key)`
	if got := planned(&d); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Fact 13: A change without an image that the view needs is an error with a clear text.
func TestFact13_ByItemNeedsTheNewImage(t *testing.T) {
	d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "MODIFY", Old: named("a", "x", ""), ViewType: "OLD_IMAGE"})[0]}
	err := newSink(t, byEmail(t, nil, view.KeepLast)).Plan(&d)
	const want = "MODIFY without a new image, and its row is made of it: the stream's view type must be NEW_IMAGE or NEW_AND_OLD_IMAGES"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A backfilled state has no time. Its claim has the time 1970, because a store must return the time of a claim
// unchanged.
func TestBackfilledClaimsAreOf1970(t *testing.T) {
	d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "SNAPSHOT", New: named("a", "x", "")})[0]}
	if err := newSink(t, byEmail(t, nil, view.KeepLast)).Plan(&d); err != nil {
		t.Fatal(err)
	}
	if got := d.Ops[0].(*view.ClaimOp).Claim.Time; !got.Equal(time.Unix(0, 0)) {
		t.Errorf("got %s", got)
	}
}
