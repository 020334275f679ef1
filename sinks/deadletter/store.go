package deadletter

import (
	"context"
	"iter"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Releaser is a store that hides the letters it has read from other readers, as a queue does. Release makes them
// visible again. A reader calls it when it has finished; it may read again later.
type Releaser interface {
	Release(ctx context.Context) error
}

// Store is a store of dead letters that can be read and removed. It is safe for concurrent use, also while a pipeline
// puts letters.
type Store interface {
	pipeline.DeadLetters

	// Read yields all letters in the order in which they were put, as far as the store knows it. A letter that is put
	// or removed meanwhile may be included or not, also if a later one is. A yielded error ends the sequence.
	Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error]

	// Remove removes the letters with these IDs (see ID), and blocks until that is durable. Missing letters are not an
	// error, so a failed Remove can be repeated as a whole. A removed letter can be put again.
	Remove(ctx context.Context, ids []string) error
}

// Rounds divides the letters of a Put, and returns their indexes. A round has at most one letter of a key, and the
// letters of a key are in rounds in their order. If a store puts a round only after the one before it is durable, no
// letter of a key can be read without those before it, also if the process dies. Letters without a key are in the first
// round. Nearly always there is one round.
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
