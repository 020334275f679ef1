package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/cmd/internal/health"
	"github.com/tablewake/tablewake/sinks/state"
)

// headline is the first sentence of the page, with the next step for the operator.
type headline struct {
	Word string // short form of Text, for the title of the window and for screen readers
	Tone tone
	Text string
	Do   string // the next step; "": none
}

// problem is something that needs attention.
type problem struct {
	Kind    fleet.ProblemKind
	Subject string
	Scope   string
	Tone    tone
	Text    string
	Do      string
	More    string // says how many more problems of this kind are not listed; "": none
}

// findProblems returns the problems of this process and of all consumers, the worst first. A problem that both have is
// returned once.
func findProblems(o Options, s Status, now time.Time) []problem {
	// Sinks come first, because a failing sink is the reason why a consumer is stuck.
	problems := append(sinkProblems(s, now), processProblems(s)...)
	problems = append(problems, letterProblems(o, s, now)...)
	if s.Fleet != nil {
		for _, p := range s.Fleet.Problems {
			isSame := func(known problem) bool { return known.Kind == p.Kind && known.Subject == p.Subject }
			if slices.ContainsFunc(problems, isSame) {
				continue // this process has reported it
			}
			problems = append(problems, problem{Kind: p.Kind, Subject: p.Subject, Scope: allConsumers,
				Tone: cli.Choose(p.Kind.Mild(), warn, bad), Text: p.Text, Do: p.Hint})
		}
	}
	if s.FleetError != "" {
		problems = append(problems, problem{Kind: fleet.ReadFailed, Scope: allConsumers, Tone: warn,
			Text: "what all consumers share could not be read: " + s.FleetError,
			Do:   "`tablewake status " + o.Flags + "` says more; it is tried again"})
	}
	slices.SortStableFunc(problems, func(a, b problem) int { return cmp.Compare(severity(b.Tone), severity(a.Tone)) })
	for i := range problems {
		problems[i].Text, problems[i].Do = capital(problems[i].Text), capital(problems[i].Do)
	}
	return problems
}

// maxAlike is the maximum number of listed problems of one kind.
const maxAlike = 3

// listedProblems returns the problems that the page lists. It lists at most maxAlike problems of one kind. The last of
// these has More set if the kind has more problems. Problems without a kind are all listed.
func listedProblems(problems []problem) (list []problem) {
	total := make(map[fleet.ProblemKind]int)
	for _, p := range problems {
		total[p.Kind]++
	}
	seen := make(map[fleet.ProblemKind]int)
	for _, p := range problems {
		seen[p.Kind]++
		unlisted := total[p.Kind] - maxAlike
		isLimited := p.Kind != "" && unlisted > 0
		if isLimited && seen[p.Kind] > maxAlike {
			continue
		}
		if isLimited && seen[p.Kind] == maxAlike {
			p.More = "and " + formatCount(unlisted) + " more like this"
		}
		list = append(list, p)
	}
	return list[:min(len(list), maxProblems)]
}

func severity(t tone) int { return slices.Index([]tone{plain, warn, bad}, t) }

// processProblems returns the problem that the health check of this process found, if any.
func processProblems(s Status) []problem {
	if s.Verdict == nil || s.Ready {
		return nil
	}
	p := problem{Scope: thisProcess, Tone: bad}
	switch s.State {
	case health.Dead:
		p.Text, p.Do = "this consumer is dead", "restart it: nothing else helps"
	case health.Isolated:
		p.Text = "this consumer has lost contact, and reads nothing"
		p.Do = "look at the network and at the state table; it continues by itself, and others take its shards meanwhile"
	case health.Stuck:
		p.Text, p.Do = "this consumer is stuck", "no restart helps; fix the cause, and it continues"
	case health.Starting:
		stepFailed := len(s.Reasons) > 1
		if !stepFailed {
			return nil
		}
		p.Tone, p.Text, p.Do = warn, "this consumer cannot start yet", "fix the cause; it is tried again"
	default:
		return nil
	}
	p.Text += ": " + strings.Join(s.Reasons, "; ")
	return []problem{p}
}

// sinkProblems returns a problem for each failing sink of this process.
func sinkProblems(s Status, now time.Time) (problems []problem) {
	if s.Consumer == nil {
		return nil
	}
	for _, k := range s.Consumer.Sinks {
		p := problem{Kind: fleet.FailingSink, Subject: k.Sink, Scope: thisProcess, Tone: bad,
			Do: "fix the cause, and the sink continues by itself"}
		switch {
		case k.Failing != nil:
			p.Text = fleet.FailingText(state.FailingSink{Sink: k.Sink, Pending: k.Pending, Error: k.Error, Blocked: k.Blocked},
				max(now.Sub(*k.Failing), 0))
		case k.Blocked > 0:
			p.Text = "sink " + k.Sink + ": " + fleet.BlockedText(k.Blocked)
		default:
			continue
		}
		if k.Blocked > 0 {
			p.Do = "fix the cause, or configure dead_letters and start again"
		}
		problems = append(problems, p)
	}
	return problems
}

// letterAlertTime is the time for which dead letters of this process need attention. After it they are ignored, because
// the process does not know whether a redrive has delivered them.
const letterAlertTime = time.Hour

// letterProblems returns a problem if this process dead-lettered a change in the last hour. It returns none if s.Fleet
// counts the stored dead letters, because that count is better.
func letterProblems(o Options, s Status, now time.Time) []problem {
	n, isCounted := ownLetters(s), fleetLetters(s) != nil
	if n == 0 || isCounted {
		return nil
	}
	last := s.Consumer.LastLetter
	isRecent := last != nil && now.Sub(*last) <= letterAlertTime
	if !isRecent {
		return nil
	}
	return []problem{{
		Kind: fleet.DeadLetters, Scope: thisProcess, Tone: warn,
		Text: cli.Count(n, "change") + " went to dead letters since this consumer started, the last " +
			durationSince(last, now) + " ago",
		Do: "`tablewake redrive " + o.Flags +
			" --list` shows those that are left, and why; fix the cause, then run it without --list",
	}}
}

// newHeadline returns the headline of the status s. problems is the result of findProblems for s.
func newHeadline(s Status, problems []problem) headline {
	switch {
	case len(problems) > 0:
		first := problems[0]
		h := headline{Word: cli.Choose(first.Tone == bad, "Failing", "Needs attention"), Tone: first.Tone,
			Text: first.Text + ".", Do: first.Do}
		if n := len(problems) - 1; n > 0 {
			h.Text += " " + cli.Choose(n == 1, "One more thing needs attention.", formatCount(n)+" more things need attention.")
		}
		return h
	case s.Verdict != nil && s.State == health.Starting:
		return headline{"Starting", busy, "This consumer is starting. Nothing is known yet.", ""}
	case s.Verdict != nil && s.State == health.Draining:
		return headline{"Stopping", busy, "This consumer stops: it writes what it has read, and releases its shards.", ""}
	case s.Fleet == nil && s.Consumer == nil:
		return headline{"Looking", busy, "Nothing is known yet: a look is under way.", ""}
	case s.Fleet == nil:
		return headline{"Well so far", good, fmt.Sprintf(
			"This consumer is well and reads %s. All the others are unknown yet.", cli.Count(len(s.Consumer.Shards), "shard")),
			""}
	}
	return headline{"Well", good, wellText(s.Fleet), ""}
}

// wellText returns the first sentence for a pipeline without problems.
func wellText(r *fleet.Report) string {
	if n := len(r.Functions); n > 0 {
		return "Nothing needs attention: " + cli.CountWithVerb(n, "function", "carries", "carry") + " the changes."
	}
	if r.NoConsumersReason != "" {
		return "Nothing needs attention, as far as it is known: " + r.NoConsumersReason + "."
	}
	alive, reading := 0, 0
	for _, c := range r.Consumers {
		if c.Alive {
			alive++
		}
	}
	for i := range r.Shards {
		if r.Shards[i].State == fleet.Reading {
			reading++
		}
	}
	text := fmt.Sprintf("All is well: %s %s.", cli.CountWithVerb(alive, "consumer", "reads", "read"),
		cli.Count(reading, "shard"))
	if n := len(r.PendingSinks); n > 0 {
		text += " " + cli.CountWithVerb(n, "sink", "is", "are") + " being filled."
	}
	return text
}

// capital returns the text with its first letter in upper case.
func capital(text string) string {
	if text == "" || text[0] < 'a' || text[0] > 'z' {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
