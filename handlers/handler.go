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
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// errs makes the errors of this package. Each error has a redacted text for logs.
const errs = redact.Class("event")

// DynamoDB handles the events of a DynamoDB stream. The package comment lists its answers.
//
// The pipeline's options decide how records become changes ([pipeline.Pipeline.Decoder]). If invocations are
// concurrent, each waits until the one before it ends.
func DynamoDB(p *pipeline.Pipeline, opts ...Option) lambda.Handler {
	return newHandler(p, opts, fromDynamoDB)
}

// Kinesis handles the events of a Kinesis data stream that receives a table's changes (Kinesis Data Streams for
// DynamoDB). The answer names sequence numbers of Kinesis.
//
// If several records of one event have the same eventID, they show the same change. The handler then delivers the first
// record and counts the others as duplicates. It delivers the changes in the order of their creation times, which must
// be in microseconds. If the table's Kinesis destination uses milliseconds, no record can be decoded.
func Kinesis(p *pipeline.Pipeline, opts ...Option) lambda.Handler {
	return newHandler(p, opts, fromKinesis)
}

// All handles the events of [DynamoDB], [Kinesis] and [OnFailure]. The source that an event names decides how All
// handles the event. An event without a source and without records succeeds.
func All(p *pipeline.Pipeline, opts ...Option) lambda.Handler {
	return newHandler(p, opts, fromDynamoDB, fromKinesis, fromSQS, fromCommand)
}

// handler implements every handler of this package.
type handler struct {
	pipeline        *pipeline.Pipeline
	decoder         *record.Decoder
	options         options
	tel             *telemetry
	acceptedOrigins []origin

	runSlot chan struct{}            // holds one value while a run is in flight
	lastRun atomic.Pointer[runState] // the latest run
}

var _ lambda.Handler = (*handler)(nil)

func newHandler(p *pipeline.Pipeline, opts []Option, origins ...origin) *handler {
	o := newOptions(opts)
	return &handler{pipeline: p, decoder: p.Decoder(), options: o, tel: newTelemetry(&o, p.Name()),
		acceptedOrigins: origins, runSlot: make(chan struct{}, 1)}
}

// Error is the error of an invocation that failed as a whole, so that Lambda brings its event again. Logs may show its
// text. An invocation returns an error of another type only if the process must be replaced.
type Error struct {
	Err error
}

// Error returns the redacted text of the cause.
func (e *Error) Error() string { return "tablewake: " + redact.LogText(e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Invoke handles one event.
func (h *handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	now := time.Now()
	deadlines := h.options.newDeadlines(ctx, now)
	info := detectEvent(payload)
	a, err := h.handleEvent(ctx, deadlines, now, info, payload)
	h.tel.countInvocation(ctx, info.origin, &a, len(payload), err)
	if err != nil {
		return nil, lambdaError(err)
	}
	return a.json(), nil
}

// lambdaError returns the error that lambda.Start receives.
func lambdaError(err error) error {
	e := &Error{err}
	if errors.Is(err, errStuck) { // lambda.Start ends the process only for an error of this type that is not wrapped
		return reply.InvokeResponse_Error{Message: e.Error(), Type: "Stuck", ShouldExit: true}
	}
	return e
}

// handleEvent handles an event of any accepted origin.
func (h *handler) handleEvent(
	ctx context.Context, limits deadlines, now time.Time, info eventInfo, payload []byte,
) (answer, error) {
	if err := h.accepts(info); err != nil {
		if info.origin == "" {
			if _, syntaxErr := h.decoder.Decode(bytes.Clone(payload)); syntaxErr != nil {
				return answer{}, syntaxErr // it is more helpful if the event is not JSON
			}
		}
		return answer{}, err
	}
	switch info.origin {
	case fromCommand:
		return h.runCommand(ctx, limits, info.command)
	case fromSQS:
		return h.deliverNotices(ctx, limits, payload)
	}
	// aws-lambda-go reuses its buffer after the answer, but a sink may keep bytes of the event.
	return h.deliverRecords(ctx, limits, now, info.origin, bytes.Clone(payload))
}

// deliverRecords delivers the records of an event of a stream.
func (h *handler) deliverRecords(
	ctx context.Context, limits deadlines, now time.Time, from origin, event []byte,
) (answer, error) {
	batch, err := h.decodeEvent(event, from)
	if err != nil {
		return answer{}, err
	}
	size := batch.size()
	a := answer{records: size, nackedCount: size, window: batch.window, oldestAge: batch.age(now)}
	if size == 0 {
		return a, nil
	}
	a.timedOut, err = h.run(ctx, limits, batch.pages...)
	if err != nil {
		return a, errs.Errorf("the records are not delivered: %w", err)
	}
	unfinished := batch.firstUnfinished()
	if unfinished == nil {
		a.nackedCount, a.timedOut = 0, false
		return a, nil
	}
	a.nackedCount = size - unfinished.Index
	h.logNacked(ctx, batch, &a)
	if unfinished.Sequence == "" {
		return a, errs.Errorf(
			"record %d is not finished and has no sequence number to name it to Lambda, so all of the batch comes again",
			unfinished.Index)
	}
	if a.timedOut && batch.noneFinished() {
		// If the answer named the first record, Lambda would bring the same event again, without splitting it.
		return a, errs.Errorf(
			"%w and none of its %d records is finished, so all of the batch comes again, in halves if the event source mapping has BisectBatchOnFunctionError: if no sink is down, give the function a larger timeout, or the mapping a smaller batch", errDeadline, size)
	}
	a.failedIDs = []string{unfinished.Sequence}
	return a, nil
}
