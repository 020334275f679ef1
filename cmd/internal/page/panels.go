package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// sinksPanel shows the sinks of this process, failing ones first. Below them it shows the failing sinks and the held
// back shards that all consumers have noted in the state.
func sinksPanel(s Status, now time.Time) panel {
	p := panel{Title: "Sinks"}
	if s.Consumer != nil {
		p = p.add(processSinks(s.Consumer, now))
	}
	if s.Fleet != nil {
		p = p.add(failingSinks(s.Fleet)...).add(heldBackShards(s.Fleet)...)
	}
	return p
}

// processSinks returns the sinks of this process, failing ones first.
func processSinks(c *fleet.Process, now time.Time) block {
	t := newTable("Sinks, since this process started", "Sink", "State", "#Rate", "#Pending",
		"#Oldest that waits", "#Keys blocked", "~Why")
	sorted := slices.Clone(c.Sinks)
	slices.SortStableFunc(sorted, func(a, b fleet.ProcessSink) int {
		return severity(sinkTone(&b)) - severity(sinkTone(&a))
	})
	for _, k := range sorted {
		state := cell{Text: "writes", Tone: good}
		switch {
		case k.Failing != nil:
			state = cell{Text: "fails for " + durationSince(k.Failing, now), Tone: bad}
		case k.Blocked > 0:
			state = cell{Text: "blocked", Tone: bad}
		}
		oldest := dashCell()
		switch {
		case k.Oldest != nil:
			oldest = cell{Text: durationSince(k.Oldest, now)}
		case k.Failing != nil:
			oldest = unknownCell()
		}
		t.Rows = append(t.Rows, []cell{
			{Text: k.Sink}, state, rateCell(k.Rate), dimIfZeroCell(k.Pending), oldest, dimIfZeroCell(k.Blocked),
			{Text: k.Error},
		})
	}
	return block{Scope: thisProcess, Table: t, ID: "sinks-here"}
}

// failingSinks returns the failing sinks that consumers note.
func failingSinks(r *fleet.Report) []block {
	if len(r.Sinks) == 0 {
		return []block{noteBlock(cli.Choose(r.NoConsumersReason == "", "No consumer notes a sink that fails.",
			"Unknown: a function notes no failing sinks."), dim)}
	}
	t := newTable("Failing sinks, as consumers note them", "Sink", "Consumer", "#Fails for", "#Pending",
		"#Oldest that waits", "~Why")
	for _, k := range r.Sinks[:min(len(r.Sinks), maxRows)] {
		t.Rows = append(t.Rows, []cell{
			{Text: k.Sink}, {Text: k.Consumer}, {Text: formatAgeSeconds(k.Seconds), Tone: bad}, numberCell(k.Pending),
			{Text: durationSince(k.Oldest, r.At)}, {Text: k.Error},
		})
	}
	return append([]block{{Scope: allConsumers, Table: t, ID: "sinks-all"}}, moreRows(len(r.Sinks)-maxRows)...)
}

// heldBackShards returns the shards that wait for a sink to write.
func heldBackShards(r *fleet.Report) []block {
	if len(r.HeldBack) == 0 {
		return nil
	}
	t := newTable("Shards that wait for sinks", "Shard", "Sink", "Reason", "#For", "#Bytes", "Consumer")
	for _, h := range r.HeldBack[:min(len(r.HeldBack), maxRows)] {
		t.Rows = append(t.Rows, []cell{
			{Text: h.Shard}, {Text: cmp.Or(h.Sink, "dead letters")}, {Text: h.Reason}, {Text: formatAgeSeconds(h.Seconds)},
			numberCell(h.Bytes), {Text: h.Consumer},
		})
	}
	title := cli.CountWithVerb(len(r.HeldBack)+r.HeldBackMore, "reason", "holds shards back", "hold shards back")
	blocks := []block{{Scope: allConsumers, Fold: title, Table: t, ID: "held-back"}}
	if unlisted := len(r.HeldBack) - len(t.Rows) + r.HeldBackMore; unlisted > 0 {
		blocks = append(blocks, block{Text: formatCount(unlisted) + " of them are not listed", Tone: dim})
	}
	return blocks
}

// maxRows limits the rows of the tables in this file that can be long.
const maxRows = 100

// moreRows returns a line about n rows that a table leaves out. It returns nil if n is 0 or negative.
func moreRows(n int) []block {
	if n <= 0 {
		return nil
	}
	return []block{{Text: "and " + formatCount(n) + " more"}}
}

func sinkTone(k *fleet.ProcessSink) tone {
	if k.Failing != nil || k.Blocked > 0 {
		return bad
	}
	return plain
}

// lettersPanel shows the number of dead letters by sink and by reason, with the command that lists them.
func lettersPanel(o Options, s Status) panel {
	p := panel{Title: "Dead letters"}
	list := "`tablewake redrive " + o.Flags +
		" --list` shows each with its reason; fix the cause, then run it without --list."
	l := fleetLetters(s)
	switch {
	case l == nil:
		return p.add(noteBlock("Unknown: this page does not count what is stored. "+list, dim))
	case l.NotConfigured:
		return p.add(noteBlock("None are configured: a change that can never be written blocks its key.", plain))
	case l.Unknown != "":
		p = p.add(noteBlock("Unknown: "+l.Unknown, dim))
	}
	if l.Queued > 0 {
		p = p.add(noteBlock(capital(l.QueuedText())+". "+list, plain))
	}
	n := fleet.Sum(l.Sinks)
	hasNone := n == 0 && l.Queued == 0 && l.Unknown == ""
	if hasNone {
		p = p.add(noteBlock("There are none.", dim))
	}
	if n > 0 {
		p = p.add(noteBlock(capital(storedText(n, l, s.Fleet.At))+". "+list, plain))
		p = p.add(shareBlocks("letters-sinks", "Dead letters by sink", "Sink", l.Sinks)...)
		p = p.add(shareBlocks("letters-reasons", "Dead letters by reason", "Reason", l.Reasons)...)
	}
	if len(l.Keys) > 0 {
		p = p.add(shareBlocks("letters-keys", "Quarantined keys by sink", "Sink", l.Keys)...)
	}
	return p
}

// storedText describes the n stored dead letters and the age of the oldest one at a time.
func storedText(n int, l *fleet.Letters, at time.Time) string {
	text := cli.Choose(l.Truncated, "more than ", "") + cli.Count(n, "change")
	if l.Oldest != nil {
		text += ", the oldest stored " + durationSince(l.Oldest, at) + " ago"
	}
	return text
}

// shareBlocks returns a table of counts, the largest first. Each row also has its percentage of the sum.
func shareBlocks(id, caption, nameColumn string, counts map[string]int) []block {
	total := fleet.Sum(counts)
	t := newTable(caption, nameColumn, "#Count", "#Share")
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b))
	})
	for _, name := range names[:min(len(names), maxRows)] {
		n := counts[name]
		t.Rows = append(t.Rows, []cell{{Text: cmp.Or(name, "every sink")}, numberCell(n), {Text: percent(n, total)}})
	}
	return append([]block{{Table: t, ID: id}}, moreRows(len(names)-maxRows)...)
}

// percent formats n as a percentage of total. The result is 0% only if n is 0, and 100% only if n is the total.
func percent(n, total int) string {
	share := 100 * float64(n) / float64(max(total, 1))
	switch {
	case n > 0 && share < 1:
		return "under 1%"
	case n < total && share > 99:
		return "over 99%"
	default:
		return fmt.Sprintf("%.0f%%", share)
	}
}

// gapsPanel shows the gaps, which are records that were lost before they were read, and the progress of their repair.
func gapsPanel(s Status) panel {
	p := panel{Title: "Gaps and their repair"}
	switch {
	case s.Fleet == nil:
		return p.add(noteBlock("Unknown: "+whyUnknown(s)+".", dim))
	case len(s.Fleet.Gaps) == 0:
		return p.add(noteBlock("No record is known to be lost.", dim))
	}
	gaps := s.Fleet.Gaps
	t := newTable("Records that were lost before they were read", "~What was lost", "Repair", "#Items compared",
		"#Differences", "#Repaired", "#Left")
	for _, g := range slices.Backward(gaps[max(0, len(gaps)-maxRows):]) {
		r := g.Repair
		row := []cell{{Text: g.String()}, repairCell(r)}
		for _, n := range []int64{r.Items, r.Differences, r.Repaired, r.Left} {
			c := dimIfZeroCell(n)
			if r.Run == "" {
				c = dashCell()
			}
			row = append(row, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return p.add(block{Scope: allConsumers, Table: t, ID: "gaps-table"}).add(moreRows(len(gaps) - maxRows)...)
}

func repairCell(r state.GapRepair) cell {
	switch {
	case r.Stage == state.GapRepairing:
		text := "an audit repairs, by " + r.Owner
		if progress := fleet.RepairProgress(r); progress != "" {
			text += ": " + progress
		}
		return cell{Text: text, Tone: busy}
	case r.Stage == state.GapRepaired:
		return cell{Text: "repaired", Tone: good}
	case r.Run != "":
		return cell{Text: cmp.Or(string(r.Stage), "open") + ", begun", Tone: warn}
	}
	return cell{Text: cmp.Or(string(r.Stage), "open")}
}

// fillsPanel shows the sinks that are not live, because a backfill must fill them first or is filling them.
func fillsPanel(s Status) panel {
	p := panel{Title: "Backfills"}
	switch {
	case s.Fleet == nil:
		return p.add(noteBlock("Unknown: "+whyUnknown(s)+".", dim))
	case len(s.Fleet.PendingSinks) == 0:
		return p.add(noteBlock("Every sink is live: none is being filled.", dim))
	}
	t := newTable("Sinks that are not live", "Sink", "Phase", "#Parts", "#Items written", "#Rate", "#Time left", "Run")
	for i := range s.Fleet.PendingSinks {
		t.Rows = append(t.Rows, fillRow(&s.Fleet.PendingSinks[i]))
	}
	return p.add(block{Scope: allConsumers, Table: t, ID: "fills-table"},
		block{Text: "Rate and time left are averages since the start of the backfill.", Tone: dim})
}

// fillRow returns the cells of a sink that is not live.
func fillRow(f *fleet.PendingSink) []cell {
	phase, run := cell{Text: f.Stage, Tone: busy}, cli.Choose(f.Run == sinks.RebuildRun, "replay --rebuild", f.Run)
	parts, items, left := unknownCell(), unknownCell(), unknownCell()
	if f.PartsDone != nil {
		parts = cell{Text: formatCount(*f.PartsDone) + " of " + formatCount(f.Parts)}
	}
	if f.Items != nil {
		items = numberCell(*f.Items)
	}
	if f.Left != nil {
		left = cell{Text: "about " + formatAgeSeconds(*f.Left)}
	}
	if f.Stage == state.Waiting.String() {
		phase.Tone = warn
		parts, items, left = dashCell(), dashCell(), dashCell()
	}
	return []cell{{Text: f.Sink}, phase, parts, items, rateCell(f.Rate), left, {Text: cmp.Or(run, "–")}}
}

// consumersPanel shows the consumers, silent ones first.
func consumersPanel(s Status) panel {
	p := panel{Title: "Consumers"}
	r := s.Fleet
	switch {
	case r == nil:
		return p.add(noteBlock("Unknown: "+whyUnknown(s)+".", dim))
	case len(r.Functions) > 0:
		return functionsPanel(r)
	case r.NoConsumersReason != "":
		return p.add(noteBlock(capital(r.NoConsumersReason)+".", plain))
	case len(r.Consumers) == 0:
		return p.add(noteBlock("There are none.", plain))
	}
	rank := func(c *fleet.Consumer) int { return severity(consumerTone(c)) }
	sorted := slices.Clone(r.Consumers)
	slices.SortStableFunc(sorted, func(a, b fleet.Consumer) int { return rank(&b) - rank(&a) })
	t := newTable("All consumers", "Consumer", "State", "#Shards", "#With unread records", "#Pending",
		"#Bytes a second", "#Calls in 30 days")
	for i := range sorted[:min(len(sorted), maxRows)] {
		c := &sorted[i]
		name := c.Worker
		if s.Consumer != nil && s.Consumer.Worker == c.Worker {
			name += " (this process)"
		}
		t.Rows = append(t.Rows, []cell{
			{Text: name}, {Text: c.StateText(), Tone: consumerTone(c)}, dimIfZeroCell(c.Shards), dimIfZeroCell(c.Behind),
			dimIfZeroCell(c.Pending), dimIfZeroCell(int64(c.BytesASecond)), dimIfZeroCell(int64(c.CallsAMonth)),
		})
	}
	return p.add(block{Scope: allConsumers, Table: t, ID: "consumers-table"}).add(moreRows(len(sorted) - maxRows)...)
}

func consumerTone(c *fleet.Consumer) tone {
	switch {
	case c.Gone:
		return dim
	case !c.Alive:
		return warn
	case c.Leaving:
		return busy
	}
	return good
}
