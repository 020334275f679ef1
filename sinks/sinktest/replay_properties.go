package sinktest

import (
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/record"
)

// onePass: after a clean pass the store has the contents that the model requires. A process that opens the store later
// reads the same contents.
func onePass(t *testing.T, s Suite) {
	check(t, s, func(rt *rapid.T, st *stage) {
		st.run(st.worker(nil), drawBatches(rt, st.stream.Changes))
		st.compareWithModel("one pass")
		closeWith(st.tb, st.store.Close)
		st.open()
		st.compareWithModel("the store was opened again")
	})
}

// shuffled: any order across items has the same result. Changes of one item stay in order.
func shuffled(t *testing.T, s Suite) {
	check(t, s, func(rt *rapid.T, st *stage) {
		st.run(st.worker(nil), drawBatches(rt, shuffle(rt, st.stream.Changes)))
		st.compareWithModel("a pass shuffled across keys")
	})
}

// replayed: repeated deliveries change nothing, during a pass or after it.
func replayed(t *testing.T, s Suite) {
	check(t, s, func(rt *rapid.T, st *stage) {
		st.run(st.worker(nil), drawBatches(rt, drawRedeliveries(rt, st.stream.Changes)))
		st.compareWithModel("a pass with redeliveries")
		for range rapid.IntRange(1, 3).Draw(rt, "replays") {
			again := suffix(rt, st.stream.Changes)
			if rapid.Bool().Draw(rt, "shuffled") {
				again = shuffle(rt, again)
			}
			st.run(st.worker(nil), drawBatches(rt, drawRedeliveries(rt, again)))
			st.compareWithModel("a suffix was replayed")
		}
	})
}

// zombie: a worker lost its partition long ago, has not noticed it, and continues with an old part of the stream. Until
// it notices, it writes between and after the writes of the worker that has the partition now.
func zombie(t *testing.T, s Suite) {
	check(t, s, func(rt *rapid.T, st *stage) {
		alive, lagging := st.worker(nil), st.worker(nil)
		ahead := drawBatches(rt, st.stream.Changes)
		behind := drawBatches(rt, suffix(rt, st.stream.Changes))
		behind = behind[:rapid.IntRange(1, len(behind)).Draw(rt, "noticed after")]
		for len(ahead) > 0 {
			st.must(alive.deliver(st.ctx, ahead[0]))
			ahead = ahead[1:]
			if len(behind) > 0 && rapid.Bool().Draw(rt, "zombie") {
				st.must(lagging.deliver(st.ctx, behind[0]))
				behind = behind[1:]
			}
		}
		st.must(alive.flush(st.ctx))
		st.run(lagging, behind)
		st.compareWithModel("a zombie wrote")
	})
}

// concurrent: several workers write the same stream concurrently, in goroutines.
func concurrent(t *testing.T, s Suite) {
	const seeds, workers = 8, 4
	for seed := range seeds {
		runStage(t.Context(), t, s, t.TempDir(), Streams(s.Stream).Example(seed), func(st *stage) {
			errs := make([]error, workers)
			var wg sync.WaitGroup
			for i := range workers {
				w := st.worker(nil)
				from := i * len(st.stream.Changes) / (2 * workers) // each worker starts later, in the first half
				changes := st.stream.Changes[from:]
				wg.Go(func() { errs[i] = w.all(st, changes, 1+i) })
			}
			wg.Wait()
			for _, err := range errs {
				st.must(err)
			}
			st.compareWithModel("several workers wrote at once")
		})
	}
}

// all delivers changes in batches of n changes, and ends the run.
func (w *worker) all(st *stage, changes []*record.Change, n int) error {
	for len(changes) > 0 {
		k := min(n, len(changes))
		if err := w.deliver(st.ctx, changes[:k]); err != nil {
			return err
		}
		changes = changes[k:]
	}
	return w.flush(st.ctx)
}
