package fleet

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

const shopStream = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678"

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func beforeNoon(d time.Duration) time.Time { return noon.Add(-d) }

func held() leases.Lease {
	return leases.Lease{
		Shard: "s", Stream: shopStream, Owner: "task-1-x", Counter: 7, Checkpoint: leases.After("700"), First: "600",
		Time: beforeNoon(time.Hour), RequestedBy: "task-2-y", Load: 5, Opaque: "row",
	}
}

// A released or reset lease has no owner and another counter, so that the next write of its owner fails. The other
// attributes stay.
func TestEdits_FenceTheOwner(t *testing.T) {
	free := held()
	free.Owner, free.RequestedBy, free.Counter = "", "", 8
	at := func(c leases.Checkpoint, from time.Time) leases.Lease {
		l := free
		l.Checkpoint, l.From, l.Time = c, from, time.Time{}
		if c.Kind != leases.Sequence {
			l.First = ""
		}
		return l
	}
	twice := func(l leases.Lease) leases.Lease { // a reset that skips records first takes the lease
		l.Counter++
		return l
	}
	early := beforeNoon(2 * time.Hour)
	for name, tt := range map[string]struct {
		edit func(leases.Lease) (leaseEdit, error)
		want leases.Lease
	}{
		"release": {releaseLease, free},
		"oldest":  {reset(resetPosition{Oldest: true}, false), at(leases.Checkpoint{Kind: leases.TrimHorizon}, time.Time{})},
		"latest":  {reset(resetPosition{Latest: true}, true), twice(at(leases.Checkpoint{Kind: leases.Latest}, noon))},
		"behind":  {reset(resetPosition{Sequence: "650"}, false), at(leases.After("650"), time.Time{})},
		"ahead":   {reset(resetPosition{Sequence: "1000"}, true), twice(at(leases.After("1000"), time.Time{}))},
		"end":     {reset(resetPosition{End: true}, true), twice(at(leases.Checkpoint{Kind: leases.ShardEnd}, time.Time{}))},
		"a time":  {reset(resetPosition{Time: early}, false), at(leases.Checkpoint{Kind: leases.AtTime}, early)},
	} {
		e, err := tt.edit(held())
		if err != nil || !e.Changes() || len(e.Effects) == 0 {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		if diff := cmp.Diff(tt.want, e.Next) + cmp.Diff(held(), e.Old); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func reset(to resetPosition, skip bool) func(leases.Lease) (leaseEdit, error) {
	return func(l leases.Lease) (leaseEdit, error) { return resetLease(l, to, skip, noon) }
}

// A reset skips records only on request, and then notes a gap.
func TestReset_NeverSkipsUnasked(t *testing.T) {
	nothingRead := held()
	nothingRead.Checkpoint, nothingRead.Time = leases.Checkpoint{}, time.Time{}
	for name, tt := range map[string]struct {
		lease leases.Lease
		to    resetPosition
		gap   record.Gap
		says  string
	}{
		"to the newest":           {held(), resetPosition{Latest: true}, record.Gap{After: "700", From: beforeNoon(time.Hour), To: noon}, "1h0m of writes are passed over"},
		"to a later record":       {held(), resetPosition{Sequence: "701"}, record.Gap{After: "700", Before: "702", From: beforeNoon(time.Hour)}, "what was written since 2026-03-04T11:00:00Z is passed over, up to 701"},
		"to a later time":         {held(), resetPosition{Time: beforeNoon(30 * time.Minute)}, record.Gap{After: "700", From: beforeNoon(time.Hour), To: beforeNoon(30 * time.Minute)}, "30m0s of writes"},
		"of a shard never read":   {nothingRead, resetPosition{Time: beforeNoon(time.Hour)}, record.Gap{To: beforeNoon(time.Hour)}, "before 2026-03-04T11:00:00Z and not read"},
		"of one, to a record":     {nothingRead, resetPosition{Sequence: "650"}, record.Gap{Before: "651"}, "what was not read of it"},
		"of one, to the newest":   {nothingRead, resetPosition{Latest: true}, record.Gap{To: noon}, "before 2026-03-04T12:00:00Z"},
		"numbers, and not texts":  {held(), resetPosition{Sequence: "1000"}, record.Gap{After: "700", Before: "1001", From: beforeNoon(time.Hour)}, "up to 1000"},
		"a time that is the same": {held(), resetPosition{Time: beforeNoon(time.Hour - time.Second)}, record.Gap{After: "700", From: beforeNoon(time.Hour), To: beforeNoon(time.Hour - time.Second)}, "1s of writes"},
	} {
		_, err := resetLease(tt.lease, tt.to, false, noon)
		if skip, ok := errors.AsType[*skipError](err); !ok || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "--skip") || skip.Shard != "s" {
			t.Errorf("%s: %v, want one that says %q", name, err, tt.says)
		}
		e, err := resetLease(tt.lease, tt.to, true, noon)
		if err != nil || e.Skipped == nil {
			t.Fatalf("%s: %+v, %v", name, e, err)
		}
		tt.gap.StreamARN, tt.gap.Shard, tt.gap.Found = shopStream, "s", noon
		if diff := cmp.Diff(tt.gap, *e.Skipped); diff != "" {
			t.Errorf("%s: the gap (-want +got):\n%s", name, diff)
		}
	}
}

func TestEdits_Refused(t *testing.T) {
	ended, free := held(), held()
	ended.Checkpoint, free.Owner = leases.Checkpoint{Kind: leases.ShardEnd}, ""
	for name, tt := range map[string]struct {
		edit  func(leases.Lease) (leaseEdit, error)
		lease leases.Lease
		says  string
	}{
		"release of an ended one": {releaseLease, ended, "read to its end"},
		"release of a free one":   {releaseLease, free, "free already"},
		"reset of an ended one":   {reset(resetPosition{Oldest: true}, true), ended, "record and replay"},
		"reset before the start":  {reset(resetPosition{Sequence: "599"}, true), held(), "starts at 600"},
		"pin of an ended one":     {func(l leases.Lease) (leaseEdit, error) { return pinLease(l, "a") }, ended, "nothing to pin"},
		"unpin of one without":    {func(l leases.Lease) (leaseEdit, error) { return pinLease(l, "") }, held(), "is not pinned"},
	} {
		if _, err := tt.edit(tt.lease); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
}

// A pin leaves the lease to its owner, which hands it over softly.
func TestPin(t *testing.T) {
	e, err := pinLease(held(), "task-2")
	want := held()
	want.Pinned = "task-2"
	if diff := cmp.Diff(want, e.Next); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if same, err := pinLease(e.Next, "task-2"); err != nil || same.Changes() {
		t.Errorf("the same pin again: %+v, %v", same, err)
	}
	off, err := pinLease(e.Next, "")
	if diff := cmp.Diff(held(), off.Next); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestParsePosition(t *testing.T) {
	for text, want := range map[string]resetPosition{
		"trim_horizon":              {Oldest: true},
		"latest":                    {Latest: true},
		"2026-03-04T14:00:00+02:00": {Time: noon},
		"000000000000000000700":     {Sequence: "000000000000000000700"},
	} {
		if got, err := parsePosition(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "oldest", "12a", "-5", "2026-03-04", strings.Repeat("1", 41)} {
		if got, err := parsePosition(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// A reset skips the rest of a shard only on request, and then notes a gap.
func TestReset_ToTheEnd(t *testing.T) {
	_, err := resetLease(held(), resetPosition{End: true}, false, noon)
	if _, ok := errors.AsType[*skipError](err); !ok {
		t.Errorf("without --skip: %v", err)
	}
	e, err := resetLease(held(), resetPosition{End: true}, true, noon)
	if err != nil || e.Skipped == nil || !e.Skipped.Whole || !e.Skipped.UnknownExtent || e.Skipped.After != "700" {
		t.Errorf("gap %+v, %v", e.Skipped, err)
	}
}

// Only a reset clears the reason why a shard stopped.
func TestReset_EndsAStop(t *testing.T) {
	l := held()
	l.Stopped = coordinator.StoppedAtGap
	if e, err := resetLease(l, resetPosition{Oldest: true}, false, noon); err != nil || e.Next.Stopped != "" {
		t.Errorf("a reset makes it %+v, %v", e.Next, err)
	}
	if e, err := releaseLease(l); err != nil || e.Next.Stopped != l.Stopped {
		t.Errorf("a release makes it %+v, %v", e.Next, err)
	}
}

// A shard without a lease gets one, unless a descendant of it has one.
func TestBegin(t *testing.T) {
	listed := []shardreader.Shard{{ID: "b", Parent: "a"}, {ID: "c", Parent: "b"}, {ID: "d", Parent: "c"}}
	l, err := firstLease(shopStream, listed[1], listed, []leases.Lease{{Shard: "x", Parents: []string{"w"}}})
	if diff := cmp.Diff(leases.Lease{Shard: "c", Stream: shopStream, Parents: []string{"b"}}, l); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, there := range []leases.Lease{{Shard: "d"}, {Shard: "e", Parents: []string{"d"}}, {Shard: "f", Parents: []string{"c"}}} {
		if l, err := firstLease(shopStream, listed[1], listed, []leases.Lease{there}); err == nil {
			t.Errorf("below it there is %s, and it gets %+v", there.Shard, l)
		}
	}
}
