package page

import (
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
)

// totals returns the numbers at the top of the page.
func totals(s Status) []total {
	hasLeases := s.Fleet != nil && len(s.Fleet.Functions) == 0 // functions have no consumers and no leases
	var list []total
	switch {
	case s.Consumer != nil:
		list = []total{processLag(s.Consumer), lossTotal(s), readTotal(s.Consumer), processPending(s.Consumer)}
	case hasLeases:
		list = []total{fleetLag(s.Fleet), lossTotal(s), pendingTotal(s.Fleet)}
	case s.Fleet != nil:
		list = []total{functionLag(s.Fleet), lossTotal(s)}
	default:
		list = []total{lossTotal(s)}
	}
	if hasLeases {
		list = append(list, shardsTotal(s.Fleet), consumersTotal(s.Fleet))
	}
	return append(list, lettersTotal(s), gapsTotal(s))
}

func processLag(c *fleet.Process) total {
	t := total{Label: "Behind by", Scope: thisProcess, Value: unknown, Tone: dim,
		Note: "age of the oldest change that is not everywhere"}
	if c.Lag != nil {
		t.Value, t.Tone = formatAgeSeconds(*c.Lag), plain
	}
	return t
}

func readTotal(c *fleet.Process) total {
	t := total{Label: "Records read", Scope: thisProcess, Value: formatCount(c.Ledger.Source.Read), Note: "since it started"}
	if c.ReadRate != nil {
		t.Note += "; " + formatRate(*c.ReadRate)
	}
	return t
}

func processPending(c *fleet.Process) total {
	var largest int64
	for _, k := range c.Sinks {
		largest = max(largest, k.Pending)
	}
	return total{Label: "Pending", Scope: thisProcess, Value: formatCount(largest),
		Note: "changes of the sink with the most"}
}

func pendingTotal(r *fleet.Report) total {
	var pending int64
	for _, c := range r.Consumers {
		if c.Alive {
			pending += c.Pending
		}
	}
	return fleetTotal(r, total{Label: "Pending", Scope: allConsumers, Value: formatCount(pending), Note: "records read, not everywhere yet"})
}

// fleetTotal returns t. If the report cannot have consumers, the value of the result is unknown.
func fleetTotal(r *fleet.Report, t total) total {
	if r.NoConsumersReason != "" && len(r.Functions) == 0 {
		t.Value, t.Tone, t.Note = unknown, dim, "there are no leases"
	}
	return t
}

// fleetLag returns how far all consumers are behind. For each shard with unread records it takes the age of the last
// change that is durable in all sinks, and returns the largest age.
func fleetLag(r *fleet.Report) total {
	t := total{Label: "Behind by", Scope: allConsumers, Note: "age of the last change that is everywhere, of the worst shard"}
	var worst float64
	uncertain := 0 // number of shards of which it is unknown how old their unread records are, or whether they have some
	for i := range r.Shards {
		sh := &r.Shards[i]
		switch {
		case !mayHaveUnread(sh):
			continue
		case hasUnread(sh) == yes && sh.AgeSeconds != nil:
			worst = max(worst, *sh.AgeSeconds)
		default:
			uncertain++
		}
	}
	t.Value = formatAgeSeconds(worst)
	if uncertain > 0 {
		t.Value, t.Note = "at least "+t.Value, "unknown of "+cli.Count(uncertain, "shard")
	}
	if nothingKnown := len(r.Shards) == 0 || uncertain > 0 && worst == 0; nothingKnown {
		t.Value, t.Tone = unknown, dim
	}
	return fleetTotal(r, t)
}

// certainty is the answer to a question: yes, no, or maybe if the answer is unknown.
type certainty int

const (
	maybe certainty = iota
	no
	yes
)

// hasUnread reports whether a shard has records that are not durable in all sinks, or maybe if that is unknown.
func hasUnread(sh *fleet.Shard) certainty {
	isBehind := sh.Behind != nil && *sh.Behind
	hasPending := sh.Records != nil && *sh.Records > 0
	isKnown := sh.Behind != nil && sh.Records != nil
	switch {
	case sh.LossInSeconds != nil || isBehind || hasPending:
		return yes
	case sh.State == fleet.Reading && isKnown:
		return no
	}
	return maybe
}

// mayHaveUnread reports whether a shard may have unread records that consumers can read now. The parents of a waiting
// shard come first.
func mayHaveUnread(sh *fleet.Shard) bool {
	return sh.State != fleet.Done && sh.State != fleet.Waiting && hasUnread(sh) != no
}

// lossTotal returns the time until the stream drops a record that is not durable in all sinks.
func lossTotal(s Status) total {
	r := s.Fleet
	t := total{Label: "First loss in", Scope: allConsumers, Value: unknown, Tone: dim,
		Note: "until the stream drops a record that is not everywhere"}
	if r == nil {
		t.Note = whyUnknown(s)
		return t
	}
	first, uncertain := firstLoss(r), countUncertain(r)
	switch {
	case first != nil && *first <= 0:
		t.Value, t.Tone = "now", bad
	case r.LossIsNear(first):
		t.Value, t.Tone = formatAgeSeconds(*first), bad
	case first != nil:
		t.Value, t.Tone = formatAgeSeconds(*first), plain
	case uncertain == 0 && len(r.Shards) > 0:
		t.Value, t.Tone, t.Note = "nothing unread", plain, "every shard is read and written"
	}
	if uncertain > 0 {
		t.Note += "; unknown of " + cli.Count(uncertain, "shard")
	}
	return fleetTotal(r, t)
}

// firstLoss returns the seconds until the first unread record is lost; nil if no time is known.
func firstLoss(r *fleet.Report) *float64 {
	var known []float64
	for i := range r.Shards {
		if sh := &r.Shards[i]; mayHaveUnread(sh) && sh.LossInSeconds != nil {
			known = append(known, *sh.LossInSeconds)
		}
	}
	for _, f := range r.Functions {
		if f.LossInSeconds != nil {
			known = append(known, *f.LossInSeconds)
		}
	}
	if len(known) == 0 {
		return nil
	}
	return new(slices.Min(known))
}

// countUncertain returns the number of shards for which it is unknown whether and when an unread record is lost.
func countUncertain(r *fleet.Report) (n int) {
	for i := range r.Shards {
		if sh := &r.Shards[i]; mayHaveUnread(sh) && sh.LossInSeconds == nil {
			n++
		}
	}
	return n
}

func shardsTotal(r *fleet.Report) total {
	states := make(fleet.StateCounts)
	for i := range r.Shards {
		states[r.Shards[i].State]++
	}
	t := total{Label: "Shards being read", Scope: allConsumers, Value: formatCount(states[fleet.Reading]),
		Note: states.Text(fleet.Reading)}
	switch {
	case states[fleet.Stopped] > 0:
		t.Tone = bad
	case states[fleet.Unowned]+states[fleet.Unclaimed] > 0:
		t.Tone = warn
	}
	return fleetTotal(r, t)
}

func consumersTotal(r *fleet.Report) total {
	alive, silent := 0, 0
	for _, c := range r.Consumers {
		switch {
		case c.Alive:
			alive++
		case !c.Gone:
			silent++
		}
	}
	t := total{Label: "Consumers alive", Scope: allConsumers, Value: formatCount(alive)}
	if silent > 0 {
		t.Note, t.Tone = formatCount(silent)+" silent", warn
	}
	return fleetTotal(r, t)
}

func lettersTotal(s Status) total {
	t := total{Label: "Dead letters", Scope: allConsumers, Value: unknown, Tone: dim}
	l := fleetLetters(s)
	switch {
	case l != nil && l.NotConfigured:
		t.Value, t.Tone, t.Note = "none", plain, "none are configured"
	case l != nil && l.Unknown == "":
		n := fleet.Sum(l.Sinks) + l.Queued
		t.Value = cli.Choose(l.Truncated, "more than ", "") + formatCount(n)
		t.Tone = cli.Choose(n > 0, warn, plain)
		t.Note = cli.Choose(n > 0, "stored changes that could not be written", "")
	case l == nil && s.Consumer != nil:
		n := ownLetters(s)
		t.Scope, t.Value, t.Note = thisProcess, formatCount(n), "since it started"
		t.Tone = cli.Choose(n > 0, warn, plain)
	}
	return t
}

// ownLetters returns the number of changes that this process dead-lettered.
func ownLetters(s Status) int64 {
	if s.Consumer == nil {
		return 0
	}
	return s.Consumer.Ledger.DeadLetterCount()
}

// fleetLetters returns the counts of stored dead letters; nil if they were not counted.
func fleetLetters(s Status) *fleet.Letters {
	if s.Fleet == nil {
		return nil
	}
	return s.Fleet.Letters
}

func gapsTotal(s Status) total {
	t := total{Label: "Gaps", Scope: allConsumers, Value: unknown, Tone: dim}
	if s.Fleet == nil {
		return t
	}
	n := len(s.Fleet.Gaps)
	t.Value, t.Tone, t.Note = formatCount(n), plain, fmt.Sprintf("%s lost before they were read",
		cli.Choose(n == 0, "no records were", "ranges of records"))
	if n > 0 {
		t.Tone = warn
	}
	return t
}
