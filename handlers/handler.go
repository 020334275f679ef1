package handlers

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	reply "github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/tablewake/tablewake/pipeline"
)

// DynamoDB handles the events of a DynamoDB stream. It answers as the package says.
//
// The records become changes as the pipeline's options say ([pipeline.Pipeline.Decoder]).
// Invocations that come at once wait for each other.
func DynamoDB(p *pipeline.Pipeline, opts ...Option) lambda.Handler {
	return newHandler(p, opts, fromDynamoDB)
}

// Kinesis handles the events of a Kinesis data stream that a table's changes go to (Kinesis
// Data Streams for DynamoDB). The answer names Kinesis' sequence numbers.
//
// Records of one event that show the same change again (by its eventID) are left out and
// counted as duplicates, and the others are delivered in the order of their creation. That
// has to be told in microseconds: where the table's Kinesis destination has milliseconds, each
// record is one that cannot be decoded.
func Kinesis(p *pipeline.Pipeline, opts ...Option) lambda.Handler {
	return newHandler(p, opts, fromKinesis)
}

// All handles the events of [DynamoDB], [Kinesis] and [Redrive], each by what it says of its
// source. An event that says nothing and holds no records is a success.
func All(p *pipeline.Pipeline, opts ...Option) lambda.Handler {
	return newHandler(p, opts, fromDynamoDB, fromKinesis, fromSQS, fromNobody)
}

// handler is every handler of this package.
type handler struct {
	p       *pipeline.Pipeline
	decoder *pipeline.Decoder
	o       options
	tel     *telemetry
	origins []origin // that it takes

	turn chan struct{}        // taken by the run under way
	last atomic.Pointer[turn] // of the latest run
}

var _ lambda.Handler = (*handler)(nil)

func newHandler(p *pipeline.Pipeline, opts []Option, origins ...origin) *handler {
	o := optionsOf(opts)
	return &handler{p: p, decoder: p.Decoder(), o: o, tel: newTelemetry(&o, p.Name()), origins: origins, turn: make(chan struct{}, 1)}
}

// Error is an invocation that failed as a whole, so that Lambda brings its event again. Its text
// is fit for logs. One error is none of these: that of a process which has to be replaced, by
// which lambda.Start ends it.
type Error struct {
	Err error
}

// Error says what is wrong; it shows no data.
func (e *Error) Error() string { return "tablewake: " + pipeline.LogText(e.Err) }

// Unwrap is what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Invoke handles one event.
func (h *handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	now := time.Now()
	cuts := h.o.cutsOf(ctx, now)
	s := sight(payload)
	answer, err := h.answer(ctx, cuts, now, s, payload)
	h.tel.invoked(ctx, s.origin, &answer, len(payload), err)
	if err != nil {
		return nil, failure(err)
	}
	return answer.json(), nil
}

// failure is an error as lambda.Start takes it.
func failure(err error) error {
	e := &Error{err}
	if errors.Is(err, errStuck) { // only this type, unwrapped, ends the process once Lambda has the error
		return reply.InvokeResponse_Error{Message: e.Error(), Type: "Stuck", ShouldExit: true}
	}
	return e
}

func (h *handler) answer(ctx context.Context, cuts cuts, now time.Time, s sighting, payload []byte) (answer, error) {
	if err := h.takes(s); err != nil {
		// Whether it is JSON at all is more to the point.
		if _, broken := h.decoder.Decode(bytes.Clone(payload)); s.origin == "" && broken != nil {
			err = broken
		}
		return answer{}, err
	}
	switch s.origin {
	case fromNobody:
		return h.command(ctx, cuts, s.command)
	case fromSQS:
		return h.messages(ctx, cuts, payload)
	}
	// aws-lambda-go takes its buffer back behind the answer; what a sink keeps lives on.
	return h.records(ctx, cuts, now, s.origin, bytes.Clone(payload))
}

// records delivers the records of a stream.
func (h *handler) records(ctx context.Context, cuts cuts, now time.Time, from origin, event []byte) (answer, error) {
	batch, err := h.open(event, from)
	if err != nil {
		return answer{}, err
	}
	a := answer{records: batch.size(), window: batch.window, age: batch.age(now)}
	if a.records == 0 {
		return a, nil
	}
	if a.cut, err = h.run(ctx, cuts, batch.pages...); err != nil {
		return a, errs.Errorf("the records are not delivered: %w", err)
	}
	index, sequence, all := batch.unfinished()
	if all {
		a.done, a.cut = a.records, false
		return a, nil
	}
	a.done = index
	h.logReturned(ctx, batch, &a)
	if sequence == "" {
		return a, errs.Errorf("record %d is not finished and shows no sequence number by which Lambda could bring it again, so all of the batch comes again", index)
	}
	if a.cut && batch.untouched() {
		// An answer that names the first record would have the same batch come again, whole.
		return a, errs.Errorf("%w and none of its %d records is finished, so all of the batch comes again, in halves where the event source mapping has BisectBatchOnFunctionError: where no sink is down, give the function a larger timeout, or the mapping a smaller batch", errDeadline, a.records)
	}
	a.failed = []string{sequence}
	return a, nil
}
