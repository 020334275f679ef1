package deadletter

import (
	"context"
	"iter"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Releaser is a store that hides the letters that were read from other readers, as a queue does. A reader calls Release
// when it has finished. Release makes the letters visible again. The reader may read again later.
type Releaser interface {
	Release(ctx context.Context) error
}

// Store is a store of dead letters whose letters can be read and removed. It is safe for concurrent use, even while a
// pipeline puts letters.
type Store interface {
	pipeline.DeadLetters

	// Read yields all letters in the order in which they were put, as far as the store knows the order. If a letter is
	// put or removed while Read runs, Read may yield it or not, independently of later letters. The sequence ends after
	// the first error.
	Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error]

	// Remove removes the letters with these IDs (see ID), and blocks until the removal is durable. It ignores missing
	// letters, so a failed Remove can be repeated as a whole. A removed letter can be put again.
	Remove(ctx context.Context, ids []string) error
}

// Rounds divides the letters of a Put into rounds, and returns the indexes of each round's letters. A round has at most
// one letter of a key, and the letters of a key are in successive rounds, in their order. A store must make a round
// durable before it puts the next round. Then nobody can read a letter of a key without the letters before it, even if
// the process dies.
//
// Letters without a key are in the first round. There is nearly always only one round.
func Rounds(letters []pipeline.DeadLetter) [][]int {
	type sinkKey struct {
		sink string
		key  item.Key
	}
	var rounds [][]int
	count := make(map[sinkKey]int, len(letters))
	for i := range letters {
		k := sinkKey{letters[i].Sink, letters[i].Key}
		n := count[k]
		if k.key != "" {
			count[k]++
		}
		if n == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[n] = append(rounds[n], i)
	}
	return rounds
}
