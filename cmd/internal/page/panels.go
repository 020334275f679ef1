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

// sinksPanel shows the sinks of this process, those that fail first, and what all consumers noted.
func sinksPanel(s Status, now time.Time) panel {
	p := panel{Title: "Sinks"}
	if s.Consumer != nil {
		p.Blocks = append(p.Blocks, processSinks(s.Consumer, now))
	}
	if s.Fleet != nil {
		p.Blocks = append(p.Blocks, failingSinks(s.Fleet)...)
		p.Blocks = append(p.Blocks, heldBackShards(s.Fleet)...)
	}
	return p
}

// processSinks returns the sinks of this process, those that fail first.
func processSinks(c *fleet.Process, now time.Time) block {
	t := &table{Caption: "Sinks, since this process started", Head: []column{
		{Name: "Sink"}, {Name: "State"}, {Name: "Rate", Number: true}, {Name: "Pending", Number: true},
		{Name: "Oldest that waits", Number: true}, {Name: "Keys blocked", Number: true}, {Name: "Why", Long: true},
	}}
	sorted := slices.Clone(c.Sinks)
	slices.SortStableFunc(sorted, func(a, b fleet.ProcessSink) int { return severity(sinkTone(&b)) - severity(sinkTone(&a)) })
	for _, k := range sorted {
		state := cell{Text: "writes", Tone: good}
		if k.Failing != nil {
			state = cell{Text: "fails for " + since(k.Failing, now), Tone: bad}
		} else if k.Blocked > 0 {
			state = cell{Text: "blocked", Tone: bad}
		}
		oldest := cell{Text: "–", Tone: dim}
		if k.Oldest != nil {
			oldest = cell{Text: since(k.Oldest, now)}
		} else if k.Failing != nil {
			oldest = unknownCell()
		}
		t.Rows = append(t.Rows, []cell{
			{Text: k.Sink}, state, optionalRate(k.Rate), counted(k.Pending), oldest, counted(k.Blocked),
			{Text: k.Error},
		})
	}
	return block{Scope: thisProcess, Table: t, ID: "sinks-here"}
}

// failingSinks returns the failing sinks that consumers note.
func failingSinks(r *fleet.Report) []block {
	if len(r.Sinks) == 0 {
		text := cli.Either(r.Note == "", "No consumer notes a sink that fails.", "Unknown: a function notes no failing sinks.")
		return []block{{Scope: all, Text: text, Tone: dim}}
	}
	t := &table{Caption: "Failing sinks, as consumers note them", Head: []column{
		{Name: "Sink"}, {Name: "Consumer"}, {Name: "Fails for", Number: true}, {Name: "Pending", Number: true},
		{Name: "Oldest that waits", Number: true}, {Name: "Why", Long: true},
	}}
	for _, k := range r.Sinks[:min(len(r.Sinks), maxRows)] {
		t.Rows = append(t.Rows, []cell{
			{Text: k.Sink}, {Text: k.Consumer}, {Text: ageOf(k.Seconds), Tone: bad}, number(k.Pending),
			{Text: since(k.Oldest, r.At)}, {Text: k.Error},
		})
	}
	return append([]block{{Scope: all, Table: t, ID: "sinks-all"}}, more(len(r.Sinks)-maxRows)...)
}

// heldBackShards returns the shards that wait for sinks.
func heldBackShards(r *fleet.Report) []block {
	if len(r.HeldBack) == 0 {
		return nil
	}
	t := &table{Caption: "Shards that wait for sinks", Head: []column{
		{Name: "Shard"}, {Name: "Sink"}, {Name: "Reason"}, {Name: "For", Number: true},
		{Name: "Bytes", Number: true}, {Name: "Consumer"},
	}}
	for _, h := range r.HeldBack[:min(len(r.HeldBack), maxRows)] {
		t.Rows = append(t.Rows, []cell{
			{Text: h.Shard}, {Text: cmp.Or(h.Sink, "dead letters")}, {Text: h.Reason}, {Text: ageOf(h.Seconds)},
			number(h.Bytes), {Text: h.Consumer},
		})
	}
	title := cli.Counted(len(r.HeldBack)+r.HeldBackMore, "reason", "holds shards back", "hold shards back")
	blocks := []block{{Scope: all, Fold: title, Table: t, ID: "held-back"}}
	if n := len(r.HeldBack) - len(t.Rows) + r.HeldBackMore; n > 0 {
		blocks = append(blocks, block{Text: count(n) + " of them are not listed", Tone: dim})
	}
	return blocks
}

// maxRows is how many rows the other tables have at most.
const maxRows = 100

// more returns the line that counts the n rows that a table leaves out; none if n is not above 0.
func more(n int) []block {
	if n <= 0 {
		return nil
	}
	return []block{{Text: "and " + count(n) + " more"}}
}

func sinkTone(k *fleet.ProcessSink) tone {
	if k.Failing != nil || k.Blocked > 0 {
		return bad
	}
	return plain
}

// lettersPanel shows the dead letters by sink and reason, with the command.
func lettersPanel(o Options, s Status) panel {
	p := panel{Title: "Dead letters"}
	list := "`tablewake redrive " + o.Flags + " --list` shows each with its reason; mend the cause, then run it without --list."
	l := fleetLetters(s)
	switch {
	case l == nil:
		p.Blocks = append(p.Blocks, block{
			Scope: all, Text: "Unknown: this page does not count what is stored. " + list, Tone: dim,
		})
		return p
	case l.None:
		p.Blocks = append(p.Blocks, block{
			Scope: all, Text: "None are configured: a change that can never be written blocks its key.",
		})
		return p
	case l.Unknown != "":
		p.Blocks = append(p.Blocks, block{Scope: all, Text: "Unknown: " + l.Unknown, Tone: dim})
	}
	if l.Queued > 0 {
		p.Blocks = append(p.Blocks, block{Scope: all, Text: capital(l.QueuedText()) + ". " + list})
	}
	n := fleet.Sum(l.Sinks)
	if n == 0 && l.Queued == 0 && l.Unknown == "" {
		p.Blocks = append(p.Blocks, block{Scope: all, Text: "There are none.", Tone: dim})
	}
	if n > 0 {
		text := cli.Count(n, "change")
		if l.More {
			text = "more than " + text
		}
		if l.Oldest != nil {
			text += ", the oldest stored " + since(l.Oldest, s.Fleet.At) + " ago"
		}
		p.Blocks = append(p.Blocks, block{Scope: all, Text: capital(text) + ". " + list})
		p.Blocks = append(p.Blocks, shareBlocks("letters-sinks", "Dead letters by sink", "Sink", l.Sinks, n)...)
		p.Blocks = append(p.Blocks, shareBlocks("letters-reasons", "Dead letters by reason", "Reason", l.Reasons, n)...)
	}
	if len(l.Keys) > 0 {
		p.Blocks = append(p.Blocks, shareBlocks("letters-keys", "Quarantined keys by sink", "Sink", l.Keys, fleet.Sum(l.Keys))...)
	}
	return p
}

// shareBlocks returns counts with their share, the largest first.
func shareBlocks(id, caption, name string, by map[string]int, total int) []block {
	t := &table{Caption: caption, Head: []column{
		{Name: name}, {Name: "Count", Number: true}, {Name: "Share", Number: true},
	}}
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(by[b]-by[a], cmp.Compare(a, b)) })
	for _, k := range names[:min(len(names), maxRows)] {
		t.Rows = append(t.Rows, []cell{{Text: cmp.Or(k, "every sink")}, number(by[k]), {Text: percent(by[k], total)}})
	}
	return append([]block{{Table: t, ID: id}}, more(len(names)-maxRows)...)
}

// percent returns a share. One above 0 is not shown as 0%, and one below all not as 100%.
func percent(n, of int) string {
	switch share := 100 * float64(n) / float64(max(of, 1)); {
	case n > 0 && share < 1:
		return "under 1%"
	case n < of && share > 99:
		return "over 99%"
	default:
		return fmt.Sprintf("%.0f%%", share)
	}
}

// gapsPanel shows what was lost before it was read, and how far its repair is.
func gapsPanel(s Status) panel {
	p := panel{Title: "Gaps and their repair"}
	switch {
	case s.Fleet == nil:
		p.Blocks = []block{{Scope: all, Text: "Unknown: " + whyUnknown(s) + ".", Tone: dim}}
		return p
	case len(s.Fleet.Gaps) == 0:
		p.Blocks = []block{{Scope: all, Text: "No record is known to be lost.", Tone: dim}}
		return p
	}
	gaps := s.Fleet.Gaps
	t := &table{Caption: "Records that were lost before they were read", Head: []column{
		{Name: "What was lost", Long: true}, {Name: "Repair"}, {Name: "Items compared", Number: true},
		{Name: "Differences", Number: true}, {Name: "Repaired", Number: true}, {Name: "Left", Number: true},
	}}
	for _, g := range slices.Backward(gaps[max(0, len(gaps)-maxRows):]) {
		r := g.Repair
		row := []cell{{Text: g.String()}, repairCell(r)}
		for _, n := range []int64{r.Items, r.Differences, r.Repaired, r.Left} {
			if r.Run == "" {
				row = append(row, cell{Text: "–", Tone: dim})
				continue
			}
			row = append(row, counted(n))
		}
		t.Rows = append(t.Rows, row)
	}
	p.Blocks = append(p.Blocks, block{Scope: all, Table: t, ID: "gaps-table"})
	p.Blocks = append(p.Blocks, more(len(gaps)-maxRows)...)
	return p
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

// fillsPanel shows the sinks that a backfill fills.
func fillsPanel(s Status) panel {
	p := panel{Title: "Backfills"}
	switch {
	case s.Fleet == nil:
		p.Blocks = []block{{Scope: all, Text: "Unknown: " + whyUnknown(s) + ".", Tone: dim}}
		return p
	case len(s.Fleet.NotLive) == 0:
		p.Blocks = []block{{Scope: all, Text: "Every sink is live: none is being filled.", Tone: dim}}
		return p
	}
	t := &table{Caption: "Sinks that are not live", Head: []column{
		{Name: "Sink"}, {Name: "Phase"}, {Name: "Parts", Number: true}, {Name: "Items written", Number: true},
		{Name: "Rate", Number: true}, {Name: "Time left", Number: true}, {Name: "Run"},
	}}
	for _, f := range s.Fleet.NotLive {
		parts, items, left := unknownCell(), unknownCell(), unknownCell()
		if f.PartsDone != nil {
			parts = cell{Text: count(*f.PartsDone) + " of " + count(f.Parts)}
		}
		if f.Items != nil {
			items = number(*f.Items)
		}
		if f.Left != nil {
			left = cell{Text: "about " + ageOf(*f.Left)}
		}
		phase, run := cell{Text: f.Stage, Tone: busy}, f.Run
		if f.Stage == state.Waiting.String() {
			phase.Tone = warn
			parts, items, left = cell{Text: "–", Tone: dim}, cell{Text: "–", Tone: dim}, cell{Text: "–", Tone: dim}
		}
		if run == sinks.RebuildRun {
			run = "replay --rebuild"
		}
		speed := optionalRate(f.Rate)
		t.Rows = append(t.Rows, []cell{{Text: f.Sink}, phase, parts, items, speed, left, {Text: cmp.Or(run, "–")}})
	}
	p.Blocks = append(p.Blocks, block{
		Scope: all, Table: t, ID: "fills-table",
	}, block{Text: "Rate and time left are averages since the start of the backfill.", Tone: dim})
	return p
}

// consumersPanel shows the consumers, those that are silent first.
func consumersPanel(s Status) panel {
	p := panel{Title: "Consumers"}
	r := s.Fleet
	switch {
	case r == nil:
		p.Blocks = []block{{Scope: all, Text: "Unknown: " + whyUnknown(s) + ".", Tone: dim}}
		return p
	case len(r.Functions) > 0:
		return functionsPanel(r)
	case r.Note != "":
		p.Blocks = []block{{Scope: all, Text: capital(r.Note) + "."}}
		return p
	case len(r.Consumers) == 0:
		p.Blocks = []block{{Scope: all, Text: "There are none."}}
		return p
	}
	rank := func(c *fleet.Consumer) int { return severity(consumerTone(c)) }
	sorted := slices.Clone(r.Consumers)
	slices.SortStableFunc(sorted, func(a, b fleet.Consumer) int { return rank(&b) - rank(&a) })
	t := &table{Caption: "All consumers", Head: []column{
		{Name: "Consumer"}, {Name: "State"}, {Name: "Shards", Number: true},
		{Name: "With unread records", Number: true}, {Name: "Pending", Number: true},
		{Name: "Bytes a second", Number: true}, {Name: "Calls in 30 days", Number: true},
	}}
	for i := range sorted[:min(len(sorted), maxRows)] {
		c := &sorted[i]
		name := c.Worker
		if s.Consumer != nil && s.Consumer.Worker == c.Worker {
			name += " (this process)"
		}
		t.Rows = append(t.Rows, []cell{
			{Text: name}, {Text: c.StateText(), Tone: consumerTone(c)}, counted(c.Shards), counted(c.Behind),
			counted(c.Pending), counted(int64(c.BytesASecond)), counted(int64(c.CallsAMonth)),
		})
	}
	p.Blocks = append(p.Blocks, block{Scope: all, Table: t, ID: "consumers-table"})
	p.Blocks = append(p.Blocks, more(len(sorted)-maxRows)...)
	return p
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
