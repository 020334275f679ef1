package consume

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
)

// progress is the progress of a running consumer, for people.
type progress struct {
	*fleet.Process
	pipeline   string
	measuredAt time.Time
}

// head returns the text that both the line and the block begin with.
func (p progress) head() string {
	read, pending := readAndPending(p.Ledger)
	unknown := new(0.0) // an unknown number is shown as 0
	lag := time.Duration(*cmp.Or(p.Lag, unknown) * float64(time.Second))
	text := fmt.Sprintf("%s read, %s a second, %s pending, %s behind; %s", cli.Count(read, "record"),
		rateText(*cmp.Or(p.ReadRate, unknown)), cli.Thousands(pending), lag.Round(time.Second),
		cli.Count(len(p.Shards), "shard"))
	behind, stopped := 0, 0
	for _, s := range p.Shards {
		if s.Behind {
			behind++
		}
		if s.Stopped != "" {
			stopped++
		}
	}
	if behind > 0 {
		text += fmt.Sprintf(", %d with unread records", behind)
	}
	if stopped > 0 {
		text += fmt.Sprintf(", %d STOPPED", stopped)
	}
	if n := p.Ledger.Source.Undecodable; n > 0 {
		text += "; " + cli.Thousands(n) + " undecodable"
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
	for _, name := range slices.Sorted(maps.Keys(p.Ledger.Sinks)) {
		k := p.Ledger.Sinks[name]
		fmt.Fprintf(&b, "; %s: %s written", name, cli.Thousands(k.Written))
		if k.Pending > 0 {
			b.WriteString(", " + cli.Thousands(k.Pending) + " pending")
		}
		if letters := k.DeadLettered + k.Quarantined; letters > 0 {
			b.WriteString(", " + cli.Thousands(letters) + " in dead letters")
		}
		if problem := p.problem(name); problem != "" {
			b.WriteString(", " + problem)
		}
	}
	return b.String() + "; at this rate " + callsText(p.CallsAMonth)
}

func (p progress) hasFailingSink() bool {
	return slices.ContainsFunc(p.Sinks, func(s fleet.ProcessSink) bool { return s.Failing != nil || s.Blocked > 0 })
}

// problem describes the failure and the blocked keys of a sink. It returns "" if the sink has neither.
func (p progress) problem(sink string) string {
	var problems []string
	for _, s := range p.Sinks {
		if s.Sink != sink {
			continue
		}
		if s.Failing != nil {
			failing := max(p.measuredAt.Sub(*s.Failing), time.Second).Round(time.Second)
			problems = append(problems, fmt.Sprintf("FAILING for %s: %s", failing, s.Error))
		}
		if s.Blocked > 0 {
			problems = append(problems, cli.Count(s.Blocked, "key")+" blocked")
		}
	}
	return strings.Join(problems, ", ")
}

// block returns the progress as lines at the end of a terminal.
func (p progress) block() []string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n", p.pipeline, p.head())
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "  SINK\tWRITTEN\tPENDING\tDEAD LETTERS\t\n")
	for _, name := range slices.Sorted(maps.Keys(p.Ledger.Sinks)) {
		k := p.Ledger.Sinks[name]
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%s\n", name, cli.Thousands(k.Written), cli.Thousands(k.Pending),
			cli.Thousands(k.DeadLettered+k.Quarantined), p.problem(name))
	}
	_ = tw.Flush()
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
