package sinktest

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// faults: store calls fail before, during and after their effect, temporarily or permanently. Temporary failures are
// retried. Changes that failed permanently are delivered again at the end, as in a redrive.
func faults(t *testing.T, s Suite) {
	check(t, s, func(rt *rapid.T, st *stage) {
		batches := drawBatches(rt, st.stream.Changes)
		w := st.worker(drawFaults(rt, 2*len(batches), Transient, Permanent))
		for _, b := range batches {
			st.must(w.deliver(st.ctx, b))
		}
		st.finish(w)
		st.compareWithModel("faults, retries and a redrive")
	})
}

// finish redrives and ends the run. Either step may meet a planned fault that has not occurred yet, so finish repeats
// both steps. The repetition stands for an operator who runs the pipeline again after a permanent fault.
func (st *stage) finish(w *worker) {
	st.tb.Helper()
	for range attempts {
		err := w.redrive(st.ctx)
		if err == nil {
			err = w.flush(st.ctx)
		}
		_, isTransient := pipeline.Retryable(err)
		isPlannedFault := isTransient || errors.Is(err, errPermanent)
		hasFailures := slices.ContainsFunc(w.dead, func(l letter) bool { return !l.refused })
		switch {
		case err == nil && !hasFailures:
			return
		case err != nil && !isPlannedFault:
			st.tb.Fatal(err)
		}
	}
	st.tb.Fatalf("the run did not end within %d attempts", attempts)
}

// crash: the process dies during a store call, between any two writes. The next process begins at the last finished
// position, or at an earlier position.
func crash(t *testing.T, s Suite) {
	check(t, s, func(rt *rapid.T, st *stage) {
		batches := drawBatches(rt, st.stream.Changes)
		checkpoint := 0
		for range rapid.IntRange(1, 3).Draw(rt, "crashes") {
			w := st.worker(drawFaults(rt, 2*len(batches), Transient, Crash))
			finished := checkpoint + st.deliverUntilCrash(w, batches[checkpoint:])
			st.crash()
			checkpoint = rapid.IntRange(0, finished).Draw(rt, "checkpoint")
		}
		st.run(st.worker(nil), batches[checkpoint:])
		st.compareWithModel("crashes")
	})
}

// deliverUntilCrash delivers batches until a store call crashes, and returns the number of finished batches.
func (st *stage) deliverUntilCrash(w *worker, batches [][]*record.Change) (finished int) {
	st.tb.Helper()
	for _, b := range batches {
		err := w.deliver(st.ctx, b)
		if errors.Is(err, ErrCrash) {
			break
		}
		st.must(err)
		finished++
	}
	return finished
}

// Fact 24: part of a batch fails, like the UnprocessedItems of BatchWriteItem. Either only a prefix of the first call
// takes effect, or one of the calls fails as a whole. The retry writes the rest.
func partOfABatch(t *testing.T, s Suite) {
	records := s.fact().history()
	var plans []Fault
	for i := range records {
		plans = append(plans, Fault{Call: 0, After: i + 1, Kind: Transient}, Fault{Call: i, After: 0, Kind: Transient})
	}
	for _, f := range plans {
		runFixed(t, s, func(st *stage) {
			w := st.worker(NewFaults(f))
			st.must(w.deliver(st.ctx, st.stream.Changes))
			st.finish(w)
			st.compareWithModel("part of a batch failed")
		}, records...)
	}
}
