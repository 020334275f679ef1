package worker

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// A call in flight is a value that holds what it requests, for whom, and how often it was tried. Its method answered
// gets the event with the answer, and decides what follows.

// begin numbers a call.
func (w *Worker) begin(op any) Call {
	w.last++
	w.calls[w.last] = op
	return w.last
}

// answer hands an answer to its call.
func answer[E Event](w *Worker, c Call, e E) {
	op, ok := w.calls[c].(interface{ answered(w *Worker, e E) })
	delete(w.calls, c)
	if ok {
		op.answered(w, e)
	}
}

// tries counts the failed tries of a call.
type tries int

// next returns how long to wait before the next try after err: a backoff of up to most, and at least the time that the
// server requests.
func (n *tries) next(w *Worker, most time.Duration, err error) time.Duration {
	server, _ := pipeline.Retryable(err)
	d := w.backoff(int(*n), most, server)
	*n++
	return d
}

func transient(err error) bool {
	_, ok := pipeline.Retryable(err)
	return ok
}
