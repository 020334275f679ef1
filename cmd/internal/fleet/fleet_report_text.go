package fleet

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/sinks/state"
)

// Write prints a report for people: consumers, the tree of shards, held back shards, failing sinks, gaps and, at the
// end, the problems. It leaves out shards that are read to their end, unless all is set.
func (r Report) Write(w io.Writer, all bool) {
	out := printer{w}
	out.line("%s at %s", r.Pipeline, r.At.Format(time.RFC3339))
	r.writeConsumers(out)
	r.writeFunctions(out)
	for _, stream := range r.AllStreams() {
		r.writeStream(out, stream, all)
	}
	r.writeHeldBack(out)
	r.writePendingSinks(out)
	r.writeSinks(out)
	r.writeLetters(out)
	r.writeGaps(out)
	out.line("")
	switch {
	case r.NoConsumersReason != "":
		out.line("gaps noted: %d", len(r.Gaps))
	case r.Healthy:
		out.line("all is well")
	}
	for _, p := range r.Problems {
		out.line("PROBLEM %s (%s)", p.Text, p.Hint)
	}
}

// printer writes lines and tables. It ignores write errors, because cli.Run reports them.
type printer struct{ io.Writer }

func (p printer) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// table prints rows with aligned columns.
func (p printer) table(rows [][]string) {
	tw := tabwriter.NewWriter(p, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(tw, strings.TrimRight("  "+strings.Join(row, "\t"), "\t"))
	}
	_ = tw.Flush()
}

func (r Report) writeConsumers(out printer) {
	out.line("")
	if r.NoConsumersReason != "" {
		out.line("%s", r.NoConsumersReason)
		return
	}
	if len(r.Consumers) == 0 {
		out.line("consumers: none")
		return
	}
	rows := [][]string{{"CONSUMER", "SHARDS", "BEHIND", "PENDING", "BYTES/S", "CALLS/MONTH", "STATE"}}
	for _, c := range r.Consumers {
		state := c.StateText()
		if !c.Alive && !c.Gone {
			state = strings.Replace(state, "silent", "SILENT", 1)
		}
		rows = append(rows, []string{c.Worker, cli.Thousands(int64(c.Shards)), cli.Thousands(int64(c.Behind)),
			cli.Thousands(c.Pending), cli.Thousands(int64(c.BytesASecond)), cli.Thousands(int64(c.CallsAMonth)), state})
	}
	out.table(rows)
}

// StateText describes whether a consumer is alive.
func (c *Consumer) StateText() string {
	switch {
	case c.Gone:
		return "gone"
	case !c.Alive:
		return "silent for " + FormatAge(seconds(c.SilentSeconds))
	case c.Leaving:
		return "leaving"
	}
	return "alive"
}

func (r Report) writeStream(out printer, listing StreamListing, all bool) {
	counts := make(StateCounts)
	rows := [][]string{{"SHARD", "STATE", "OWNER", "READ UP TO", "LAST RECORD", "BEHIND", "LOST IN"}}
	lineage := make(Lineage)
	for _, s := range r.Shards {
		if s.Stream != listing.ARN {
			continue
		}
		counts[s.State]++
		if s.State == Done && !all {
			continue
		}
		rows = append(rows, s.columns(lineage.Add(&s)))
	}
	out.line("")
	out.line("%s%s: %s", cmp.Or(listing.ARN, "(a stream that the leases do not name)"),
		withPrefix(" ", string(listing.Status)), cmp.Or(counts.textWithCapitals(), "no shards"))
	if listing.Error != "" {
		out.line("  not listed: %s", listing.Error)
	}
	if len(rows) > 1 {
		out.table(rows)
	}
}

// columns returns the columns of a shard. depth indents it below its parents.
func (s Shard) columns(depth int) []string {
	owner := cmp.Or(s.Owner, "-")
	if s.Pinned != "" {
		owner += " (pinned to " + s.Pinned + ")"
	}
	lastRecord := "-"
	if s.AgeSeconds != nil {
		lastRecord = FormatAge(seconds(*s.AgeSeconds)) + " ago"
	}
	return []string{strings.Repeat("  ", depth) + s.ID, s.stateText(), owner, cmp.Or(s.Checkpoint, "-"), lastRecord,
		s.behindText(), lossText(s.LossInSeconds)}
}

func (s Shard) stateText() string {
	switch {
	case s.FailingSeconds != nil:
		return "READS FAIL for " + FormatAge(seconds(*s.FailingSeconds))
	case s.State == Waiting:
		return string(s.State) + " " + s.StopReason
	case s.State.needsAttention():
		return strings.ToUpper(string(s.State))
	}
	return string(s.State)
}

func (s Shard) behindText() string {
	switch {
	case s.FailingSeconds != nil:
		return "unknown"
	case s.Behind == nil:
		return "-"
	case *s.Behind:
		return "yes"
	case s.Records != nil && *s.Records > 0:
		return cli.Thousands(*s.Records) + " records"
	}
	return "no"
}

// lossText describes when a record will be lost. lossIn is the number of seconds until then; nil if it is unknown.
func lossText(lossIn *float64) string {
	switch {
	case lossIn == nil:
		return "-"
	case *lossIn <= 0:
		return "NOW"
	}
	return FormatAge(seconds(*lossIn))
}

func (r Report) writeGaps(out printer) {
	if len(r.Gaps) == 0 {
		return
	}
	out.line("")
	out.line("records that were lost before they were read:")
	for _, g := range r.Gaps {
		out.line("  %s", g)
	}
}

// String describes a gap in one line.
func (g Gap) String() string {
	text := g.betweenStreamsText()
	if g.Shard != "" {
		text = "shard " + g.Shard + ": " + g.ofShardText()
	}
	switch {
	case g.LostSeconds != nil:
		text += ", " + FormatAge(time.Duration(*g.LostSeconds)*time.Second) + " of writes at least"
	case !g.UnknownExtent:
		text += ", how much is not known"
	}
	found := ""
	if g.FoundAt != nil {
		found = "found " + g.FoundAt.Format(time.RFC3339) + ", "
	}
	repair := cli.Choose(g.Repair.Stage == state.GapRepairing, "repairing by "+g.Repair.Owner, string(g.Repair.Stage))
	return text + " (" + found + repair + ")"
}

// betweenStreamsText describes a gap before a stream.
func (g Gap) betweenStreamsText() string {
	text := "between the stream that was read before and " + g.Stream
	if g.From != nil && g.To != nil {
		text += ", from " + g.From.Format(time.RFC3339) + " to " + g.To.Format(time.RFC3339)
	}
	return text + ": what was written to the table then is in neither"
}

// ofShardText describes the gap of a shard.
func (g Gap) ofShardText() string {
	switch {
	case !g.UnknownExtent:
		return g.extentText()
	case g.RestOfShard:
		return "it was not read to its end" + withPrefix(", but to ", g.After) + "; nobody knows whether it held more"
	case g.Before != "":
		return g.extentText() + "; nobody knows whether it held anything"
	}
	return "it was too old, or its parent gone, before it was read; nobody knows whether anything before its oldest record was lost"
}

// extentText describes where a gap begins and ends.
func (g Gap) extentText() string {
	from, to := "from its start", "to its oldest record"
	if g.After != "" {
		from = "behind " + g.After
	}
	if g.From != nil {
		from += " of " + g.From.Format(time.RFC3339)
	}
	switch {
	case g.RestOfShard:
		to = "to its end"
	case g.Before != "":
		to = "to " + g.Before
	}
	if g.To != nil {
		to += " of " + g.To.Format(time.RFC3339)
	}
	return from + " " + to
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// FormatAge formats a duration for people, in its two largest units: 850ms, 12s, 4m10s, 3h5m, 2d4h.
func FormatAge(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}
