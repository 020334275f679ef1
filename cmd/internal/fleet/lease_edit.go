package fleet

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// leaseEdit is a planned change of a lease, with its effects.
type leaseEdit struct {
	Old, Next leases.Lease
	Creates   bool        // the lease is created: Old is the lease that [firstLease] returned
	Effects   []string    // effects of the change, for the operator
	Skipped   *record.Gap // unread records that the change skips; nil: none. writeEdit stores it before the position
}

// Changes reports whether the lease must be written.
func (e leaseEdit) Changes() bool { return !e.Old.Equal(e.Next) }

// releaseLease returns the edit that removes the owner of a lease, so that any consumer can take the lease.
func releaseLease(l leases.Lease) (leaseEdit, error) {
	switch {
	case l.Ended():
		return leaseEdit{}, fmt.Errorf("shard %s is read to its end: there is nothing to release", l.Shard)
	case l.Owner == "":
		return leaseEdit{}, fmt.Errorf("nobody owns shard %s: it is free already", l.Shard)
	}
	e := ownerRemoval(l)
	e.Effects = []string{
		fmt.Sprintf("%s loses it: its work in progress is dropped, and its writes are stopped", l.Owner),
		"the next owner reads on " + resumeText(l) + "; what was read since is read again",
	}
	if l.Pinned != "" {
		e.Effects = append(e.Effects, "it is pinned to "+l.Pinned+", who takes it while alive")
	}
	return e, nil
}

// ownerRemoval returns the edit that removes the owner. The new counter makes the next write of the owner fail.
func ownerRemoval(l leases.Lease) leaseEdit {
	e := leaseEdit{Old: l, Next: l.Clone()}
	e.Next.Owner, e.Next.RequestedBy = "", ""
	e.Next.Counter++
	return e
}

// resumeText describes where the next owner of a lease begins.
func resumeText(l leases.Lease) string {
	switch l.Checkpoint.Kind {
	case leases.TrimHorizon:
		return "from the oldest record"
	case leases.Latest, leases.AtTime:
		if l.From.IsZero() { // possible only with Latest
			return "from the newest record"
		}
		return "from the first record of " + l.From.UTC().Format(time.RFC3339) + " or later"
	case leases.ShardEnd:
		return "nowhere: the shard is at its end"
	}
	return "behind " + l.Checkpoint.Sequence
}

// pinLease returns the edit that assigns a lease to the consumers with the given name. While one of them is alive, no
// other consumer takes the lease. The current owner finishes its pending records first. The name "" unpins the lease.
func pinLease(l leases.Lease, name string) (leaseEdit, error) {
	switch {
	case l.Ended():
		return leaseEdit{}, fmt.Errorf("shard %s is read to its end: there is nothing to pin", l.Shard)
	case name == "" && l.Pinned == "":
		return leaseEdit{}, fmt.Errorf("shard %s is not pinned", l.Shard)
	}
	e := leaseEdit{Old: l, Next: l.Clone()}
	e.Next.Pinned = name
	if name == "" {
		e.Effects = []string{"it is balanced like the others"}
		return e, nil
	}
	e.Effects = []string{
		"consumers named " + name + " read it, as long as one of them lives; else any other does",
		"an owner of another name hands it over: drained and checkpointed, nothing is read twice",
	}
	return e, nil
}

// resetPosition is the position of a reset. Exactly one field is set.
type resetPosition struct {
	Oldest   bool
	Latest   bool
	End      bool // skip the unread rest of the shard
	Time     time.Time
	Sequence string // continue after this record: decimal digits
}

// parsePosition parses trim_horizon, latest, end, a time or a sequence number.
func parsePosition(text string) (resetPosition, error) {
	switch strings.ToLower(text) {
	case "trim_horizon":
		return resetPosition{Oldest: true}, nil
	case "latest":
		return resetPosition{Latest: true}, nil
	case "end":
		return resetPosition{End: true}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return resetPosition{Time: at.UTC()}, nil
	}
	if !record.IsSequence(text) {
		return resetPosition{},
			errors.New("it must be trim_horizon, latest, end, a time such as 2026-01-31T12:00:00Z, or a sequence number")
	}
	return resetPosition{Sequence: text}, nil
}

// resetLease returns the edit that moves a lease to another position and removes its owner. It returns a [skipError] if
// the position may skip unread records and skip is not set. now is the current time.
func resetLease(l leases.Lease, to resetPosition, skip bool, now time.Time) (leaseEdit, error) {
	if l.Ended() {
		return leaseEdit{}, fmt.Errorf(
			"shard %s is read to its end, and the shards after it were begun: to run its records again, record and replay them",
			l.Shard)
	}
	e := ownerRemoval(l)
	if err := e.setPosition(to, now); err != nil {
		return leaseEdit{}, err
	}
	if e.Skipped != nil {
		if !skip {
			return e, &skipError{Shard: l.Shard, What: e.Effects[0]} // setPosition has described the gap
		}
		e.Next.Counter++ // writeEdit makes two writes
	}
	if l.Owner != "" {
		e.Effects = append(e.Effects, l.Owner+" loses it: its work in progress is dropped, and its writes are stopped")
	}
	return e, nil
}

// setPosition sets the position of e.Next. It adds an effect for the records that are read again. If the new position
// may skip records, it sets e.Skipped to the gap, and adds an effect for it.
func (e *leaseEdit) setPosition(to resetPosition, now time.Time) error {
	l := e.Old
	// unread has all unread records of the shard. Each position that skips some of them sets where it ends.
	unread := record.Gap{StreamARN: l.Stream, Shard: l.Shard, After: l.Checkpoint.Sequence, From: l.Time,
		Found: now.UTC()}
	e.Next.From, e.Next.Time, e.Next.Stopped = time.Time{}, time.Time{}, ""
	if to.Sequence == "" {
		e.Next.First = "" // after a reset, the loss of the first record is not a gap
	}
	switch {
	case to.Oldest:
		e.Next.Checkpoint = leases.Checkpoint{Kind: leases.TrimHorizon}
		e.addReread("all that the stream still has of it")
	case to.End:
		e.Next.Checkpoint = leases.Checkpoint{Kind: leases.ShardEnd}
		unread.Whole, unread.UnknownExtent = true, true
		e.setSkipped(unread, "what is left of it is given up, and its children are read")
	case to.Latest:
		e.Next.Checkpoint, e.Next.From = leases.Checkpoint{Kind: leases.Latest}, now.UTC().Truncate(time.Second)
		unread.To = e.Next.From
		e.setSkipped(unread, skippedText(unread, ""))
	case to.Sequence != "":
		return e.continueAfter(to.Sequence, unread)
	default:
		e.continueAt(to.Time, unread)
	}
	return nil
}

// continueAfter sets the position after a record. unread are the unread records of the shard.
func (e *leaseEdit) continueAfter(sequence string, unread record.Gap) error {
	l := e.Old
	if l.First != "" && record.CompareSequence(sequence, l.First) < 0 {
		return fmt.Errorf("shard %s starts at %s: %s is before it", l.Shard, l.First, sequence)
	}
	e.Next.Checkpoint = leases.After(sequence)
	wasRead := l.Checkpoint.Kind == leases.Sequence && record.CompareSequence(sequence, l.Checkpoint.Sequence) <= 0
	if wasRead {
		e.addReread("what lies between " + sequence + " and " + l.Checkpoint.Sequence)
		return nil
	}
	unread.Before = nextSequence(sequence)
	e.setSkipped(unread, skippedText(unread, sequence))
	return nil
}

// continueAt sets the position at a time. unread are the unread records of the shard.
func (e *leaseEdit) continueAt(at time.Time, unread record.Gap) {
	e.Next.Checkpoint, e.Next.From = leases.Checkpoint{Kind: leases.AtTime}, at.Truncate(time.Second)
	wasRead := !e.Old.Time.IsZero() && !e.Next.From.After(e.Old.Time)
	if wasRead {
		e.addReread("what was written since " + e.Next.From.Format(time.RFC3339))
		return
	}
	unread.To = e.Next.From
	e.setSkipped(unread, skippedText(unread, ""))
}

// addReread adds the effect that records are read again. what describes these records.
func (e *leaseEdit) addReread(what string) {
	e.Effects = append(e.Effects, what+" is read again; views, aggregates and indexes do not change by it, "+
		"archives and notifications get it once more")
}

// setSkipped sets Skipped to a gap, and adds the effect that text describes.
func (e *leaseEdit) setSkipped(g record.Gap, text string) {
	e.Skipped = &g
	e.Effects = append(e.Effects, text+"; it is noted as a gap")
}

// skippedText describes the records in a gap. last is the sequence number of the last record, or "" if the gap ends at
// a time.
func skippedText(g record.Gap, last string) string {
	switch {
	case !g.From.IsZero() && !g.To.IsZero():
		return fmt.Sprintf("%s of writes are passed over, between %s and %s", FormatAge(g.To.Sub(g.From)),
			g.From.UTC().Format(time.RFC3339), g.To.Format(time.RFC3339))
	case !g.From.IsZero():
		return "what was written since " + g.From.UTC().Format(time.RFC3339) + " is passed over, up to " + last
	case !g.To.IsZero():
		return "what was written before " + g.To.Format(time.RFC3339) + " and not read is passed over"
	}
	return "what was not read of it is passed over"
}

// firstLease returns the first lease of a shard. No consumer has created that lease, because records before the shard
// may be lost. listed are the shards of the same stream, and existing are all leases. If a descendant of the shard has
// a lease, the shard was read, and firstLease returns an error.
func firstLease(
	stream string, s shardreader.Shard, listed []shardreader.Shard, existing []leases.Lease,
) (leases.Lease, error) {
	parentOf := make(map[string]string, len(listed))
	for _, shard := range listed {
		parentOf[shard.ID] = shard.Parent
	}
	for _, l := range existing {
		if isDescendant(l, s.ID, parentOf) {
			return leases.Lease{}, fmt.Errorf("shard %s has no lease, as its descendant %s has one: it was read", s.ID,
				l.Shard)
		}
	}
	first := leases.Lease{Shard: s.ID, Stream: stream}
	if s.Parent != "" {
		first.Parents = []string{s.Parent}
	}
	return first, nil
}

// isDescendant reports whether the shard of a lease descends from ancestor. parentOf has the parent of each listed
// shard, by the shard's id.
func isDescendant(l leases.Lease, ancestor string, parentOf map[string]string) bool {
	parents := append([]string{parentOf[l.Shard]}, l.Parents...)
	for _, shard := range parents {
		for range len(parentOf) { // a listing with a cycle ends, too
			if shard == "" || shard == ancestor {
				break
			}
			shard = parentOf[shard]
		}
		if shard == ancestor {
			return true
		}
	}
	return false
}

// skipError is the error of a reset that would skip unread records.
type skipError struct{ Shard, What string }

// Error names the records that the reset would skip.
func (e *skipError) Error() string {
	return fmt.Sprintf("shard %s: %s; --skip says that this is meant", e.Shard, e.What)
}

// nextSequence returns the sequence number above sequence, a decimal number of up to 40 digits.
func nextSequence(sequence string) string {
	n, _ := new(big.Int).SetString(sequence, 10) // parsePosition has checked it
	return n.Add(n, big.NewInt(1)).String()
}
