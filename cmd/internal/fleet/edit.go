package fleet

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// Edit is a change of a lease by hand, with its effects.
type Edit struct {
	Old, Next leases.Lease
	Makes     bool        // there is no lease yet: Old is the lease of [Begin]
	Effects   []string    // for the operator
	Skips     *record.Gap // unread records that are skipped; nil: none. Note it before the lease is written
}

// Changes reports whether the lease must be written.
func (e Edit) Changes() bool { return !e.Old.Equal(e.Next) }

// Release takes a lease from its owner, so that any consumer can take it.
func Release(l leases.Lease) (Edit, error) {
	switch {
	case l.Ended():
		return Edit{}, fmt.Errorf("shard %s is read to its end: there is nothing to release", l.Shard)
	case l.Owner == "":
		return Edit{}, fmt.Errorf("nobody owns shard %s: it is free already", l.Shard)
	}
	e := fence(l)
	e.Effects = []string{
		fmt.Sprintf("%s loses it: what it has under way is given up, and its writes are stopped", l.Owner),
		"the next owner reads on " + readingOn(l) + "; what was read since is read again",
	}
	if l.Pinned != "" {
		e.Effects = append(e.Effects, "it is pinned to "+l.Pinned+", who takes it while alive")
	}
	return e, nil
}

// fence returns the change that takes a lease from its owner. The new counter makes the next write of the owner fail.
func fence(l leases.Lease) Edit {
	e := Edit{Old: l, Next: l.Clone()}
	e.Next.Owner, e.Next.RequestedBy = "", ""
	e.Next.Counter++
	return e
}

// readingOn describes where the next owner of a lease begins.
func readingOn(l leases.Lease) string {
	switch l.Checkpoint.Kind {
	case leases.TrimHorizon:
		return "from the oldest record"
	case leases.Latest:
		if !l.From.IsZero() {
			return "from the first record of " + l.From.UTC().Format(time.RFC3339) + " or later"
		}
		return "from the newest record"
	case leases.AtTime:
		return "from the first record of " + l.From.UTC().Format(time.RFC3339) + " or later"
	case leases.ShardEnd:
		return "nowhere: the shard is at its end"
	}
	return "behind " + l.Checkpoint.Sequence
}

// Pin assigns a lease to the consumers of that name, while one of them is alive, whatever the balance. Another
// owner hands it over softly. The name "" unpins it.
func Pin(l leases.Lease, name string) (Edit, error) {
	switch {
	case l.Ended():
		return Edit{}, fmt.Errorf("shard %s is read to its end: there is nothing to pin", l.Shard)
	case l.Pinned == name && name == "":
		return Edit{}, fmt.Errorf("shard %s is not pinned", l.Shard)
	}
	e := Edit{Old: l, Next: l.Clone()}
	e.Next.Pinned = name
	switch name {
	case "":
		e.Effects = []string{"it is balanced as the others are"}
	default:
		e.Effects = []string{
			"consumers named " + name + " read it, as long as one of them lives; else any other does",
			"an owner of another name hands it over: drained and checkpointed, nothing is read twice",
		}
	}
	return e, nil
}

// Position is where a shard is to be read from.
type Position struct {
	Oldest   bool
	Latest   bool
	End      bool // the unread rest of the shard is skipped
	Time     time.Time
	Sequence string // after this record
}

// ParsePosition parses trim_horizon, latest, end, a time or a sequence number.
func ParsePosition(text string) (Position, error) {
	switch strings.ToLower(text) {
	case "trim_horizon":
		return Position{Oldest: true}, nil
	case "latest":
		return Position{Latest: true}, nil
	case "end":
		return Position{End: true}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return Position{Time: at.UTC()}, nil
	}
	if text == "" || len(text) > 40 || strings.Trim(text, "0123456789") != "" {
		return Position{}, errors.New("it is none of trim_horizon, latest, end, a time as 2026-01-31T12:00:00Z, and a sequence number")
	}
	return Position{Sequence: text}, nil
}

// Reset moves a lease to another position, and takes it from its owner. skip allows a position that skips unread
// records, or may skip some. now is the current time.
func Reset(l leases.Lease, to Position, skip bool, now time.Time) (Edit, error) {
	if l.Ended() {
		return Edit{}, fmt.Errorf("shard %s is read to its end, and what comes behind it was begun: to run its records again, record and replay them", l.Shard)
	}
	e := fence(l)
	e.Next.From, e.Next.Time, e.Next.Stopped = time.Time{}, time.Time{}, ""
	var again string
	if to.Sequence == "" {
		e.Next.First = "" // a lost first record is no gap any more
	}
	switch {
	case to.Oldest:
		e.Next.Checkpoint = leases.Checkpoint{Kind: leases.TrimHorizon}
		again = "all that the stream still has of it is read again"
	case to.End:
		e.Next.Checkpoint = leases.Checkpoint{Kind: leases.ShardEnd}
		e.Skips = &record.Gap{StreamARN: l.Stream, Shard: l.Shard, After: l.Checkpoint.Sequence, From: l.Time, Found: now.UTC(), Whole: true, UnknownExtent: true}
		e.Effects = append(e.Effects, "what is left of it is given up, and its children are read; it is noted as a gap")
	case to.Latest:
		e.Next.Checkpoint, e.Next.From = leases.Checkpoint{Kind: leases.Latest}, now.UTC().Truncate(time.Second)
		e.skips(e.Next.From, "", now)
	case to.Sequence != "":
		if l.First != "" && record.CompareSequence(to.Sequence, l.First) < 0 {
			return Edit{}, fmt.Errorf("shard %s starts at %s: %s is before it", l.Shard, l.First, to.Sequence)
		}
		e.Next.Checkpoint = leases.After(to.Sequence)
		if l.Checkpoint.Kind == leases.Sequence && record.CompareSequence(to.Sequence, l.Checkpoint.Sequence) <= 0 {
			again = "what lies between " + to.Sequence + " and " + l.Checkpoint.Sequence + " is read again"
		} else {
			e.skips(time.Time{}, to.Sequence, now)
		}
	default:
		e.Next.Checkpoint, e.Next.From = leases.Checkpoint{Kind: leases.AtTime}, to.Time.Truncate(time.Second)
		if !l.Time.IsZero() && !e.Next.From.After(l.Time) {
			again = "what was written since " + e.Next.From.Format(time.RFC3339) + " is read again"
		} else {
			e.skips(e.Next.From, "", now)
		}
	}
	if e.Skips != nil && !skip {
		return e, &SkipError{Shard: l.Shard, What: e.Effects[0]}
	}
	if again != "" {
		e.Effects = append(e.Effects, again+"; views, aggregates and indexes take it at no harm, archives and notifications get it once more")
	}
	if l.Owner != "" {
		e.Effects = append(e.Effects, l.Owner+" loses it: what it has under way is given up, and its writes are stopped")
	}
	return e, nil
}

// Begin returns the lease of a shard that has none: no consumer began the shard, as it is unknown whether records
// before it were lost. listed are the shards of its stream, and there are the existing leases. It returns an error if
// a descendant of the shard has a lease.
func Begin(stream string, s shardreader.Shard, listed []shardreader.Shard, there []leases.Lease) (leases.Lease, error) {
	parents := make(map[string]string, len(listed))
	for _, of := range listed {
		parents[of.ID] = of.Parent
	}
	for _, l := range there {
		for _, up := range append([]string{parents[l.Shard]}, l.Parents...) {
			for ; up != ""; up = parents[up] {
				if up == s.ID {
					return leases.Lease{}, fmt.Errorf("shard %s has no lease, as its descendant %s has one: it was read", s.ID, l.Shard)
				}
			}
		}
	}
	l := leases.Lease{Shard: s.ID, Stream: stream}
	if s.Parent != "" {
		l.Parents = []string{s.Parent}
	}
	return l, nil
}

// SkipError is a refused reset, which would skip unread records.
type SkipError struct{ Shard, What string }

// Error says which records the reset would skip.
func (e *SkipError) Error() string {
	return fmt.Sprintf("shard %s: %s; --skip says that this is meant", e.Shard, e.What)
}

// skips sets Skips to the gap between the old checkpoint and a time or a sequence number, and adds it to the
// effects.
func (e *Edit) skips(until time.Time, before string, now time.Time) {
	l := e.Old
	g := &record.Gap{StreamARN: l.Stream, Shard: l.Shard, After: l.Checkpoint.Sequence, Before: before, From: l.Time, To: until, Found: now.UTC()}
	e.Skips = g
	text := "what was not read of it is passed over"
	switch {
	case !g.From.IsZero() && !g.To.IsZero():
		text = fmt.Sprintf("%s of writes are passed over, between %s and %s", Age(g.To.Sub(g.From)), g.From.UTC().Format(time.RFC3339), g.To.Format(time.RFC3339))
	case !g.From.IsZero():
		text = fmt.Sprintf("what was written since %s is passed over, up to %s", g.From.UTC().Format(time.RFC3339), before)
	case !g.To.IsZero():
		text = "what was written before " + g.To.Format(time.RFC3339) + " and not read is passed over"
	}
	e.Effects = append(e.Effects, text+"; it is noted as a gap")
}
