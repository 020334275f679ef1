package consume

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/coordinator"
)

// progress is what a consumer shows of itself while it runs.
type progress struct {
	name           string // of the pipeline
	read           int64  // records
	rate           float64
	pending        int64 // of the sink with the most
	lag            time.Duration
	shards, behind int
	stopped        int
	undecodable    int64
	calls          float64 // GetRecords calls in 30 days
	sinks          []sinkProgress
}

// sinkProgress is what a sink has done.
type sinkProgress struct {
	name                      string
	written, pending, letters int64
	failing                   time.Duration // 0: it is not failing
	problem                   string        // redacted text of the last failure
	blocked                   int           // keys
}

// newProgress returns the progress at now. rate is that of a [rateMeter].
func newProgress(name string, l pipeline.Ledger, sinks []pipeline.SinkState, st coordinator.Status, lag time.Duration, rate float64, now time.Time) progress {
	p := progress{name: name, rate: rate, lag: lag, shards: len(st.Partitions), undecodable: l.Source.Undecodable, calls: st.Member.Calls}
	p.read, p.pending = readAndPending(l)
	for _, part := range st.Partitions {
		if part.Behind {
			p.behind++
		}
		if part.Stopped != "" {
			p.stopped++
		}
	}
	for _, sink := range slices.Sorted(maps.Keys(l.Sinks)) {
		k := l.Sinks[sink]
		s := sinkProgress{name: sink, written: k.Written, pending: k.Pending, letters: k.DeadLettered + k.Quarantined}
		if i := slices.IndexFunc(sinks, func(at pipeline.SinkState) bool { return at.Name == sink }); i >= 0 {
			if at := sinks[i]; !at.Failing.IsZero() {
				s.failing, s.problem = max(now.Sub(at.Failing), time.Second), at.Error
			}
			s.blocked = sinks[i].Blocked
		}
		p.sinks = append(p.sinks, s)
	}
	return p
}

// head returns what the line and the block have in common.
func (p progress) head() string {
	text := fmt.Sprintf("%s read, %s a second, %s pending, %s behind; %s", cli.Count(p.read, "record"), rateText(p.rate), cli.Thousands(p.pending),
		p.lag.Round(time.Second), cli.Count(p.shards, "shard"))
	if p.behind > 0 {
		text += fmt.Sprintf(", %d with unread records", p.behind)
	}
	if p.stopped > 0 {
		text += fmt.Sprintf(", %d STOPPED", p.stopped)
	}
	if p.undecodable > 0 {
		text += "; " + cli.Thousands(p.undecodable) + " undecodable"
	}
	return text
}

// rateText formats a rate: whole numbers from 10 on.
func rateText(rate float64) string {
	if rate > 0 && rate < 10 {
		return fmt.Sprintf("%.1f", rate)
	}
	return cli.Thousands(int64(rate))
}

// line returns the progress as a line of the log.
func (p progress) line() string {
	var b strings.Builder
	b.WriteString(p.head())
	for _, s := range p.sinks {
		fmt.Fprintf(&b, "; %s: %s written", s.name, cli.Thousands(s.written))
		if s.pending > 0 {
			b.WriteString(", " + cli.Thousands(s.pending) + " pending")
		}
		if s.letters > 0 {
			b.WriteString(", " + cli.Thousands(s.letters) + " in dead letters")
		}
		if state := s.state(); state != "" {
			b.WriteString(", " + state)
		}
	}
	return b.String() + "; at this rate " + callsText(p.calls)
}

// state returns a sink's problem; "" if it has none.
func (s sinkProgress) state() string {
	var all []string
	if s.failing > 0 {
		all = append(all, fmt.Sprintf("FAILING for %s: %s", s.failing.Round(time.Second), s.problem))
	}
	if s.blocked > 0 {
		all = append(all, cli.Count(s.blocked, "key")+" blocked")
	}
	return strings.Join(all, ", ")
}

// block returns the progress as lines at the end of a terminal.
func (p progress) block() []string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n", p.name, p.head())
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "  SINK\tWRITTEN\tPENDING\tDEAD LETTERS\t\n")
	for _, s := range p.sinks {
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%s\n", s.name, cli.Thousands(s.written), cli.Thousands(s.pending), cli.Thousands(s.letters), s.state())
	}
	_ = tw.Flush()
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
