package fleet

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// Lineage has the depths of shown shards, by id. The depth of a shard is the number of generations above it that are
// shown.
type Lineage map[string]int

// Add adds a shard, and returns its depth. The parents of a shard must be added before it.
func (l Lineage) Add(s *Shard) int {
	depth := 0
	for _, p := range s.Parents {
		if d, shown := l[p]; shown {
			depth = max(depth, d+1)
		}
	}
	l[s.ID] = depth
	return depth
}

// AllStreams returns the listed streams, and then the other streams that shards name.
func (r *Report) AllStreams() []StreamListing {
	all := slices.Clone(r.Streams)
	known := make(map[string]bool, len(all))
	for _, l := range all {
		known[l.ARN] = true
	}
	for i := range r.Shards {
		if arn := r.Shards[i].Stream; !known[arn] {
			known[arn] = true
			all = append(all, StreamListing{ARN: arn})
		}
	}
	return all
}

// StateCounts are the numbers of shards by state.
type StateCounts map[State]int

// stateWords are the words of the states. The states that need attention come first.
var stateWords = []struct {
	state State
	text  string
}{
	{Stopped, "stopped"}, {Unowned, "without an owner"}, {Unclaimed, "without a lease"},
	{Reading, "being read"}, {Waiting, "waiting for their parents"}, {Done, "read to their end"},
}

// Text lists the counts, and leaves out the count of the state except.
func (n StateCounts) Text(except State) string {
	return n.list(except, func(_ State, text string) string { return text })
}

// textWithCapitals returns Text with the words that need attention in capitals.
func (n StateCounts) textWithCapitals() string {
	return n.list("", func(s State, text string) string {
		return cli.Choose(s.needsAttention(), strings.ToUpper(text), text)
	})
}

func (n StateCounts) list(except State, word func(State, string) string) string {
	var parts []string
	for _, w := range stateWords {
		if n[w.state] > 0 && w.state != except {
			parts = append(parts, cli.Thousands(int64(n[w.state]))+" "+word(w.state, w.text))
		}
	}
	return strings.Join(parts, ", ")
}

// needsAttention reports whether the shard could be read, and is not.
func (s State) needsAttention() bool { return s == Stopped || s == Unowned || s == Unclaimed }
