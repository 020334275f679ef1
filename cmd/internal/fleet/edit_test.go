package fleet_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

func held() leases.Lease {
	return leases.Lease{
		Shard: "s", Stream: arn, Owner: "task-1-x", Counter: 7, Checkpoint: leases.After("700"), First: "600",
		Time: ago(time.Hour), RequestedBy: "task-2-y", Load: 5, Opaque: "row",
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
	twice := func(l leases.Lease) leases.Lease { // a reset that skips records takes the lease first
		l.Counter++
		return l
	}
	early := ago(2 * time.Hour)
	for name, tt := range map[string]struct {
		edit func(leases.Lease) (fleet.Edit, error)
		want leases.Lease
	}{
		"release": {fleet.Release, free},
		"oldest":  {reset(fleet.Position{Oldest: true}, false), at(leases.Checkpoint{Kind: leases.TrimHorizon}, time.Time{})},
		"latest":  {reset(fleet.Position{Latest: true}, true), twice(at(leases.Checkpoint{Kind: leases.Latest}, now))},
		"behind":  {reset(fleet.Position{Sequence: "650"}, false), at(leases.After("650"), time.Time{})},
		"ahead":   {reset(fleet.Position{Sequence: "1000"}, true), twice(at(leases.After("1000"), time.Time{}))},
		"end":     {reset(fleet.Position{End: true}, true), twice(at(leases.Checkpoint{Kind: leases.ShardEnd}, time.Time{}))},
		"a time":  {reset(fleet.Position{Time: early}, false), at(leases.Checkpoint{Kind: leases.AtTime}, early)},
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

func reset(to fleet.Position, skip bool) func(leases.Lease) (fleet.Edit, error) {
	return func(l leases.Lease) (fleet.Edit, error) { return fleet.Reset(l, to, skip, now) }
}

// Reset skips records only on request, and then notes a gap.
func TestReset_NeverSkipsUnasked(t *testing.T) {
	nothingRead := held()
	nothingRead.Checkpoint, nothingRead.Time = leases.Checkpoint{}, time.Time{}
	for name, tt := range map[string]struct {
		lease leases.Lease
		to    fleet.Position
		gap   record.Gap
		says  string
	}{
		"to the newest":           {held(), fleet.Position{Latest: true}, record.Gap{After: "700", From: ago(time.Hour), To: now}, "1h0m of writes are passed over"},
		"to a later record":       {held(), fleet.Position{Sequence: "701"}, record.Gap{After: "700", Before: "702", From: ago(time.Hour)}, "what was written since 2026-03-04T11:00:00Z is passed over, up to 701"},
		"to a later time":         {held(), fleet.Position{Time: ago(30 * time.Minute)}, record.Gap{After: "700", From: ago(time.Hour), To: ago(30 * time.Minute)}, "30m0s of writes"},
		"of a shard never read":   {nothingRead, fleet.Position{Time: ago(time.Hour)}, record.Gap{To: ago(time.Hour)}, "before 2026-03-04T11:00:00Z and not read"},
		"of one, to a record":     {nothingRead, fleet.Position{Sequence: "650"}, record.Gap{Before: "651"}, "what was not read of it"},
		"of one, to the newest":   {nothingRead, fleet.Position{Latest: true}, record.Gap{To: now}, "before 2026-03-04T12:00:00Z"},
		"numbers, and not texts":  {held(), fleet.Position{Sequence: "1000"}, record.Gap{After: "700", Before: "1001", From: ago(time.Hour)}, "up to 1000"},
		"a time that is the same": {held(), fleet.Position{Time: ago(time.Hour - time.Second)}, record.Gap{After: "700", From: ago(time.Hour), To: ago(time.Hour - time.Second)}, "1s of writes"},
	} {
		_, err := fleet.Reset(tt.lease, tt.to, false, now)
		if skip, ok := errors.AsType[*fleet.SkipError](err); !ok || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "--skip") || skip.Shard != "s" {
			t.Errorf("%s: %v, want one that says %q", name, err, tt.says)
		}
		e, err := fleet.Reset(tt.lease, tt.to, true, now)
		if err != nil || e.Skipped == nil {
			t.Fatalf("%s: %+v, %v", name, e, err)
		}
		tt.gap.StreamARN, tt.gap.Shard, tt.gap.Found = arn, "s", now
		if diff := cmp.Diff(tt.gap, *e.Skipped); diff != "" {
			t.Errorf("%s: the gap (-want +got):\n%s", name, diff)
		}
	}
}

func TestEdits_Refused(t *testing.T) {
	ended, free := held(), held()
	ended.Checkpoint, free.Owner = leases.Checkpoint{Kind: leases.ShardEnd}, ""
	for name, tt := range map[string]struct {
		edit  func(leases.Lease) (fleet.Edit, error)
		lease leases.Lease
		says  string
	}{
		"release of an ended one": {fleet.Release, ended, "read to its end"},
		"release of a free one":   {fleet.Release, free, "free already"},
		"reset of an ended one":   {reset(fleet.Position{Oldest: true}, true), ended, "record and replay"},
		"reset before the start":  {reset(fleet.Position{Sequence: "599"}, true), held(), "starts at 600"},
		"pin of an ended one":     {func(l leases.Lease) (fleet.Edit, error) { return fleet.Pin(l, "a") }, ended, "nothing to pin"},
		"unpin of one without":    {func(l leases.Lease) (fleet.Edit, error) { return fleet.Pin(l, "") }, held(), "is not pinned"},
	} {
		if _, err := tt.edit(tt.lease); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
}

// A pin leaves the lease to its owner, which hands it over softly.
func TestPin(t *testing.T) {
	e, err := fleet.Pin(held(), "task-2")
	want := held()
	want.Pinned = "task-2"
	if diff := cmp.Diff(want, e.Next); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if same, err := fleet.Pin(e.Next, "task-2"); err != nil || same.Changes() {
		t.Errorf("the same pin again: %+v, %v", same, err)
	}
	off, err := fleet.Pin(e.Next, "")
	if diff := cmp.Diff(held(), off.Next); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestParsePosition(t *testing.T) {
	for text, want := range map[string]fleet.Position{
		"trim_horizon":              {Oldest: true},
		"latest":                    {Latest: true},
		"2026-03-04T14:00:00+02:00": {Time: now},
		"000000000000000000700":     {Sequence: "000000000000000000700"},
	} {
		if got, err := fleet.ParsePosition(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "oldest", "12a", "-5", "2026-03-04", strings.Repeat("1", 41)} {
		if got, err := fleet.ParsePosition(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// Reset skips the rest of a shard only on request, and then notes a gap.
func TestReset_ToTheEnd(t *testing.T) {
	_, err := fleet.Reset(held(), fleet.Position{End: true}, false, now)
	if _, ok := errors.AsType[*fleet.SkipError](err); !ok {
		t.Errorf("without --skip: %v", err)
	}
	e, err := fleet.Reset(held(), fleet.Position{End: true}, true, now)
	if err != nil || e.Skipped == nil || !e.Skipped.Whole || !e.Skipped.UnknownExtent || e.Skipped.After != "700" {
		t.Errorf("gap %+v, %v", e.Skipped, err)
	}
}

// Only a reset clears the reason for which a shard stopped.
func TestReset_EndsAStop(t *testing.T) {
	l := held()
	l.Stopped = coordinator.StoppedAtGap
	if e, err := fleet.Reset(l, fleet.Position{Oldest: true}, false, now); err != nil || e.Next.Stopped != "" {
		t.Errorf("a reset makes it %+v, %v", e.Next, err)
	}
	if e, err := fleet.Release(l); err != nil || e.Next.Stopped != l.Stopped {
		t.Errorf("a release makes it %+v, %v", e.Next, err)
	}
}

// A shard without a lease gets one, unless a descendant of it has one.
func TestBegin(t *testing.T) {
	listed := []shardreader.Shard{{ID: "b", Parent: "a"}, {ID: "c", Parent: "b"}, {ID: "d", Parent: "c"}}
	l, err := fleet.FirstLease(arn, listed[1], listed, []leases.Lease{{Shard: "x", Parents: []string{"w"}}})
	if diff := cmp.Diff(leases.Lease{Shard: "c", Stream: arn, Parents: []string{"b"}}, l); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, there := range []leases.Lease{{Shard: "d"}, {Shard: "e", Parents: []string{"d"}}, {Shard: "f", Parents: []string{"c"}}} {
		if l, err := fleet.FirstLease(arn, listed[1], listed, []leases.Lease{there}); err == nil {
			t.Errorf("below it there is %s, and it gets %+v", there.Shard, l)
		}
	}
}
