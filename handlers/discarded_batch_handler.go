package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// OnFailure handles SQS messages about batches that Lambda discarded. The messages come from the on-failure destination
// of an event source mapping. The destination can be the queue itself, or a topic that the queue subscribes to. It can
// also be a bucket whose notifications (s3:ObjectCreated:*) go to the queue. The handler delivers the records of the
// batches. Its answer names the messages that are not finished.
//
// The handler delivers the event in the message, or in the object that the message names. If the whole event is in
// neither, it fetches the records from the stream ([WithStreams]). Records that neither the event nor the stream has
// are lost. Before the message is finished, the handler stores and logs the gap, the range of the lost records
// ([WithGaps]). If the shard shows no records at all, the loss is certain only 25 hours after the batch. Until then the
// message comes again.
//
// A message about something else fails, and the handler logs the reason. An example is a dead letter of the pipeline,
// which `tablewake redrive` delivers.
//
// Late records are safe for views, aggregates, search and archive, because these sinks compare versions. Notifications
// and Go sinks are not protected: a late record reaches them after newer records of its item.
//
// The event {"tablewake":"redrive"}, from a schedule or a person, redrives dead letters of an outage ([WithRedrive]).
func OnFailure(p *pipeline.Pipeline, opts ...Option) lambda.Handler {
	return newHandler(p, opts, fromSQS, fromCommand)
}

// runCommand runs the command that an event names.
func (h *handler) runCommand(ctx context.Context, limits deadlines, name string) (answer, error) {
	a := answer{isCommand: true}
	switch {
	case name != "redrive":
		return a, errs.New(
			`the event names an unknown command: write {"tablewake":"redrive"}, and send {"tablewake":"audit"} to a function with TABLEWAKE_COMMAND=audit`)
	case h.options.redrive == nil:
		return a, errs.New(
			"the event asks to redrive dead letters, and this function is not set up to: write dead_letters.redrive: auto")
	}
	ctx, cancel := limits.withDeadline(ctx)
	defer cancel()
	if err := h.options.redrive(ctx); err != nil {
		return a, errs.Errorf("dead letters are not redriven: %w", err)
	}
	return a, nil
}

// sqsEvent is an event of SQS, with the fields that the handler reads.
type sqsEvent struct {
	Records []sqsMessage `json:"Records"`
}

type sqsMessage struct {
	MessageID string `json:"messageId"`
	Body      string `json:"body"`
}

// deliverNotices delivers the batches of the messages of an event, one message after the other.
func (h *handler) deliverNotices(ctx context.Context, limits deadlines, payload []byte) (answer, error) {
	var event sqsEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return answer{}, errs.New("the event is not an event of SQS: its JSON is broken or has another shape")
	}
	a := answer{records: len(event.Records), nackedCount: len(event.Records)}
	for i, m := range event.Records {
		if m.MessageID == "" {
			return a, errs.Errorf("message %d has no messageId to name it to Lambda", i)
		}
		if limits.pastSoftRevoke(time.Now()) {
			a.timedOut = true
			a.failedIDs = append(a.failedIDs, m.MessageID)
			continue
		}
		err := h.deliverMessage(ctx, limits, m)
		if errors.Is(err, errStuck) {
			return a, err
		}
		if err != nil {
			a.failedIDs = append(a.failedIDs, m.MessageID)
			a.timedOut = a.timedOut || errors.Is(err, errDeadline)
		}
	}
	a.nackedCount = len(a.failedIDs)
	return a, nil
}

// deliverMessage delivers the batches of a message, counts the message, and logs a failure. It leaves errStuck to its
// caller.
func (h *handler) deliverMessage(ctx context.Context, limits deadlines, m sqsMessage) error {
	lost, err := h.deliverNotice(ctx, limits, m.Body)
	switch {
	case errors.Is(err, errStuck):
	case err != nil:
		h.options.log.LogAttrs(ctx, slog.LevelError, "a message is not redriven; it comes again",
			slog.String("message", m.MessageID), slog.String("error", redact.LogText(err)))
		h.tel.countMessage(ctx, failed, 0) // lost records are counted only once, when the message is finished
	case lost > 0:
		h.tel.countMessage(ctx, gapNoted, lost)
	default:
		h.tel.countMessage(ctx, redriven, 0)
	}
	return err
}

// deliverNotice delivers the batch in a message, or in the objects that it names. lost estimates the lost records.
func (h *handler) deliverNotice(ctx context.Context, limits deadlines, body string) (lost int, err error) {
	notice, err := parseNotice([]byte(body))
	if err != nil {
		return 0, err
	}
	if notice.record != nil {
		return h.deliverDiscarded(ctx, limits, notice.record)
	}
	for _, ref := range notice.objects {
		record, err := h.readInvocationRecord(ctx, limits, ref)
		if err != nil {
			return lost, err
		}
		lostOfBatch, err := h.deliverDiscarded(ctx, limits, record)
		lost += lostOfBatch
		if err != nil {
			return lost, errs.Errorf("%s: %w", redact.Safe(ref.String()), err)
		}
	}
	return lost, nil
}

// deliverDiscarded delivers the records of a discarded batch, and stores the gaps of its lost records. lost is the
// estimated number of lost records.
func (h *handler) deliverDiscarded(ctx context.Context, limits deadlines, r *invocationRecord) (lost int, err error) {
	records, losses, err := h.fetchDiscarded(ctx, limits, r)
	if err != nil {
		return 0, err
	}
	// The remaining records are delivered first, because at the next try the stream may have trimmed them.
	if err := h.deliverAll(ctx, limits, records); err != nil {
		return 0, err
	}
	for _, loss := range losses {
		if err := h.storeGap(ctx, limits, loss); err != nil {
			return lost, err
		}
		lost += loss.count
	}
	return lost, nil
}

// storeGap stores and logs the gap of lost records. Without a store of gaps, it returns an error.
func (h *handler) storeGap(ctx context.Context, limits deadlines, l lostRecords) error {
	if h.options.gaps == nil {
		h.logLoss(ctx, l, "records are lost, and no store of gaps is configured: the message stays")
		return errs.New(
			"records are lost and there is no store of gaps: configure state.table, or give handlers.WithGaps, or delete the message after you noted the loss")
	}
	storeCtx, cancel := limits.withDeadline(ctx)
	defer cancel()
	if err := h.options.gaps.AddGap(storeCtx, l.gap()); err != nil {
		return errs.Errorf("records are lost, and the gap could not be stored: %w", err)
	}
	h.logLoss(ctx, l, "records are lost: Lambda discarded them, and the stream no longer has them")
	return nil
}

// deliverAll delivers records through the pipeline. It returns an error unless all of them are finished.
func (h *handler) deliverAll(ctx context.Context, limits deadlines, records *eventRecords) error {
	if len(records.pages) == 0 {
		return nil
	}
	timedOut, err := h.run(ctx, limits, records.pages...)
	if err != nil {
		return err
	}
	unfinished := records.firstUnfinished()
	if unfinished == nil {
		return nil
	}
	const text = "record %d of its page (sequence number %s) is not delivered"
	if timedOut {
		return errs.Errorf(text+": %w", unfinished.Index, redact.Safe(unfinished.Sequence), errDeadline)
	}
	return errs.Errorf(text, unfinished.Index, redact.Safe(unfinished.Sequence))
}

// ObjectGetter reads objects from S3.
type ObjectGetter interface {
	// GetObject blocks until the whole object is read. If version is "", it reads the newest version. The error wraps
	// [ErrGone] if the object no longer exists.
	GetObject(ctx context.Context, bucket, key, version string) ([]byte, error)
}

// ErrGone is the error for an object that was deleted or that has expired.
var ErrGone = errs.New("the object is gone")

// readInvocationRecord reads the record of a discarded batch from an object of the on-failure bucket.
func (h *handler) readInvocationRecord(
	ctx context.Context, limits deadlines, ref objectRef,
) (*invocationRecord, error) {
	if h.options.objects == nil {
		return nil, errs.New(
			"the message names an object of S3, and this function does not read S3: give handlers.WithObjects")
	}
	ctx, cancel := limits.withDeadline(ctx)
	defer cancel()
	body, err := h.options.objects.GetObject(ctx, ref.bucket, ref.key, ref.version)
	switch {
	case errors.Is(err, ErrGone):
		return nil, errs.Errorf(
			"%s: %w, and with it the position of its records in the stream: restore it from its versions or a backup, or delete the message; views and indexes of these items are correct again after their next change", redact.Safe(ref.String()), ErrGone)
	case err != nil:
		return nil, errs.Errorf("%s: %w", redact.Safe(ref.String()), err)
	}
	var r invocationRecord
	if json.Unmarshal(body, &r) != nil || r.DynamoDB == nil && r.Kinesis == nil {
		return nil, errs.Errorf(
			"%s: this is not the record of a discarded batch: narrow the bucket's notification to the prefix aws/lambda/, and delete the message", redact.Safe(ref.String()))
	}
	return &r, nil
}
