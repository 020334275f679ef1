package fleet

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
)

// HeldBack is a reason why a shard is held back: its reading is paused, or its checkpoint does not move. Consumers
// store these reasons in notes.
type HeldBack struct {
	Shard    string    `json:"shard"`
	Sink     string    `json:"sink,omitempty"` // absent: the shard waits for dead letters
	Reason   string    `json:"reason"`         // share, bounds, backoff, filling or writing
	Since    time.Time `json:"since"`
	Seconds  float64   `json:"seconds"`
	Bytes    int64     `json:"bytes"`
	Consumer string    `json:"consumer"`
}

// addHeldBack adds the notes of live consumers to the report, the oldest reason first.
func (r *Report) addHeldBack(obs *Observation) {
	for _, h := range obs.HeldBack {
		if !r.isAlive(h.Consumer) {
			continue
		}
		for _, s := range h.Worst {
			r.HeldBack = append(r.HeldBack, HeldBack{
				Shard: s.Shard, Sink: s.Sink, Reason: s.Reason, Since: s.Since.UTC(),
				Seconds: max(obs.At.Sub(s.Since), 0).Seconds(), Bytes: s.Bytes, Consumer: h.Consumer,
			})
		}
		r.HeldBackMore += max(h.Total-len(h.Worst), 0)
	}
	r.addUnansweredSinks()
	slices.SortStableFunc(r.HeldBack, func(a, b HeldBack) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Shard, b.Shard))
	})
}

// isAlive reports whether the consumer of that id is alive.
func (r *Report) isAlive(id string) bool {
	return slices.ContainsFunc(r.Consumers, func(c Consumer) bool { return c.Worker == id && c.Alive })
}

// addUnansweredSinks adds a problem for each sink whose store does not answer a Write.
func (r *Report) addUnansweredSinks() {
	unanswered := make(map[string][]HeldBack) // by sink
	for _, h := range r.HeldBack {
		if h.Reason == pipeline.HeldByWriting {
			unanswered[h.Sink] = append(unanswered[h.Sink], h)
		}
	}
	for _, sink := range slices.Sorted(maps.Keys(unanswered)) {
		oldest := slices.MinFunc(unanswered[sink], func(a, b HeldBack) int { return a.Since.Compare(b.Since) })
		subject := "sink " + sink + " does"
		if sink == "" {
			subject = "the dead letters do"
		}
		r.addProblem(FailingSink, cmp.Or(sink, "dead letters"),
			"look whether its server works and can be reached: nothing is lost, and it continues once the write is answered",
			"%s not answer: a write has lasted for %s, and the checkpoints of %s wait; the first is %s", subject,
			FormatAge(seconds(oldest.Seconds)), cli.Count(len(unanswered[sink]), "shard"), oldest.Shard)
	}
}

func (r Report) writeHeldBack(out printer) {
	if len(r.HeldBack) == 0 {
		return
	}
	out.line("")
	out.line("held back:")
	rows := [][]string{{"SHARD", "SINK", "REASON", "FOR", "BYTES", "CONSUMER"}}
	for _, h := range r.HeldBack {
		rows = append(rows, []string{h.Shard, cmp.Or(h.Sink, "(dead letters)"), h.Reason, FormatAge(seconds(h.Seconds)),
			cli.Thousands(h.Bytes), h.Consumer})
	}
	out.table(rows)
	if r.HeldBackMore > 0 {
		out.line("  and %s more, for a shorter time", cli.Thousands(int64(r.HeldBackMore)))
	}
}
