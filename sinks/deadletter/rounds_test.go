package deadletter_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// Each dead letter is in exactly one round, and a round has at most one dead letter of a key. The dead letters of a key
// are in their order. There are only as many rounds as the most frequent key needs.
func TestRounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		letters := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) pipeline.DeadLetter {
			return pipeline.DeadLetter{
				Sink: rapid.SampledFrom([]string{"", "crm", "mail"}).Draw(rt, "sink"),
				Key:  item.Key(rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(rt, "key")),
			}
		}), 0, 20).Draw(rt, "letters")
		type sinkKey struct {
			sink string
			key  item.Key
		}
		count, last := map[sinkKey]int{}, map[sinkKey]int{}
		most := min(1, len(letters))
		for _, l := range letters {
			if l.Key != "" {
				count[sinkKey{l.Sink, l.Key}]++
				most = max(most, count[sinkKey{l.Sink, l.Key}])
			}
		}
		rounds := deadletter.Rounds(letters)
		if len(rounds) != most {
			rt.Fatalf("%d rounds, want %d: %v", len(rounds), most, rounds)
		}
		for n, round := range rounds {
			for _, i := range round {
				k := sinkKey{letters[i].Sink, letters[i].Key}
				if k.key == "" {
					if n > 0 {
						rt.Fatalf("letter %d has no key, and is in round %d", i, n)
					}
					continue
				}
				if before, ok := last[k]; ok && before > i || count[k] == 0 {
					rt.Fatalf("letter %d comes after a later one of its key, or again: %v", i, rounds)
				}
				last[k] = i
				count[k]--
			}
			for _, i := range round {
				for _, j := range round {
					if i != j && letters[i].Key != "" && letters[i].Key == letters[j].Key && letters[i].Sink == letters[j].Sink {
						rt.Fatalf("letters %d and %d of one key are in round %d", i, j, n)
					}
				}
			}
		}
		all := slices.Concat(rounds...)
		slices.Sort(all)
		if len(slices.Compact(all)) != len(letters) {
			rt.Fatalf("rounds %v of %d letters", rounds, len(letters))
		}
	})
}
