package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/sinks/state"
)

// Sink is a failing sink, from the note of a consumer.
type Sink struct {
	state.FailingSink
	Seconds  float64 `json:"failing_seconds"`
	Consumer string  `json:"consumer"`
}

// addSinks adds the failing sinks in the notes of live consumers.
func (r *Report) addSinks(obs *Observation) {
	for _, h := range obs.HeldBack {
		if !r.isAlive(h.Consumer) {
			continue
		}
		for _, s := range h.Sinks {
			failing := Sink{s, max(obs.At.Sub(s.Failing), 0).Seconds(), h.Consumer}
			r.Sinks = append(r.Sinks, failing)
			hint := "the consumer's log has a line every ten seconds; fix the cause, and the sink continues"
			if s.Blocked > 0 {
				hint = "fix the cause, or configure dead_letters and start again"
			}
			r.addProblem(FailingSink, s.Sink, hint, "%s", FailingText(s, seconds(failing.Seconds)))
		}
	}
	slices.SortStableFunc(r.Sinks, func(a, b Sink) int {
		return cmp.Or(a.Failing.Compare(b.Failing), cmp.Compare(a.Sink, b.Sink))
	})
}

// addLetters adds the counts of dead letters, and their problems.
func (r *Report) addLetters(obs *Observation) {
	r.Letters = obs.Letters
	if obs.Letters == nil {
		return
	}
	if obs.Letters.Failed {
		r.addProblem(ReadFailed, "dead letters", "they are unknown, so look again once their store answers, or with `"+
			obs.command("redrive")+" --list`", "dead letters could not be counted: %s", obs.Letters.Unknown)
	}
	listHint := "`" + obs.command("redrive") + " --list` shows which and why; fix the cause, then run it without --list"
	changes, keys := Sum(obs.Letters.Sinks), Sum(obs.Letters.Keys)
	switch {
	case changes > 0:
		r.addProblem(DeadLetters, obs.Pipeline, listHint, "%s in dead letters", obs.Letters.countText(changes))
	case obs.Letters.Queued > 0:
		r.addProblem(DeadLetters, obs.Pipeline, listHint, "%s", obs.Letters.QueuedText())
	case keys > 0:
		r.addProblem(DeadLetters, obs.Pipeline, "`"+obs.command("redrive")+
			"` delivers the waiting changes and releases the keys", "%s quarantined", cli.CountWithVerb(keys, "key", "is", "are"))
	}
}

// FailingText describes a sink that has failed for the duration failing.
func FailingText(s state.FailingSink, failing time.Duration) string {
	text := fmt.Sprintf("sink %s has failed for %s, with %s pending: %s", s.Sink, FormatAge(failing),
		cli.Count(s.Pending, "change"), s.Error)
	if s.Blocked > 0 {
		text += "; " + BlockedText(s.Blocked)
	}
	return text
}

// BlockedText describes keys that a change blocks.
func BlockedText(keys int) string {
	return cli.CountWithVerb(keys, "key", "is", "are") +
		" blocked by a change that can never be written: no dead letters are configured"
}

// countText formats a count of dead letters.
func (l *Letters) countText(n int) string {
	if l.Truncated {
		return "more than " + cli.Thousands(int64(n)) + " changes are"
	}
	return cli.CountWithVerb(n, "change", "is", "are")
}

// QueuedText describes the messages of a queue.
func (l *Letters) QueuedText() string {
	return "about " + cli.CountWithVerb(l.Queued, "change", "is",
		"are") + " in the queue of dead letters, counted with those of other pipelines that use it"
}

// Sum returns the sum of counts.
func Sum[N int | int64](counts map[string]N) (sum N) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

func (r Report) writeSinks(out printer) {
	if len(r.Sinks) == 0 {
		return
	}
	out.line("")
	rows := [][]string{{"FAILING SINK", "FOR", "PENDING", "OLDEST", "CONSUMER", "ERROR"}}
	for _, s := range r.Sinks {
		oldest := "unknown"
		if s.Oldest != nil {
			oldest = FormatAge(max(r.At.Sub(*s.Oldest), 0))
		}
		rows = append(rows, []string{s.Sink, FormatAge(seconds(s.Seconds)), cli.Thousands(s.Pending), oldest, s.Consumer,
			s.Error})
	}
	out.table(rows)
}

func (r Report) writeLetters(out printer) {
	l := r.Letters
	if l == nil {
		return
	}
	if l.NotConfigured {
		out.line("")
		out.line("dead letters: none are configured: a change that can never be written blocks its key")
		return
	}
	hasLetters := l.Unknown != "" || len(l.Sinks) > 0 || l.Queued > 0
	if hasLetters {
		out.line("")
	}
	if l.Queued > 0 {
		out.line("dead letters: %s", l.QueuedText())
	}
	if l.Unknown != "" {
		out.line("dead letters: unknown: %s", l.Unknown)
	}
	if len(l.Sinks) > 0 {
		out.line("dead letters: %s%s", bySink(l.Sinks), cli.Choose(l.Truncated, ", and more", ""))
	}
	if len(l.Keys) > 0 {
		out.line("quarantined keys: %s", bySink(l.Keys))
	}
}

// bySink lists counts by sink.
func bySink(counts map[string]int) string {
	var parts []string
	for _, sink := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, cli.Thousands(int64(counts[sink]))+" of "+cmp.Or(sink, "every sink"))
	}
	return strings.Join(parts, ", ")
}
