package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/tablewake/tablewake/pipeline"
)

// Redrive handles messages of SQS that tell of batches which Lambda gave up: the on-failure
// destination of an event source mapping, be it the queue itself, a topic that the queue
// subscribes to, or a bucket whose notifications (s3:ObjectCreated:*) go to the queue. It
// delivers their records, and answers with the messages that are not done with.
//
// Where the message or its object holds the event, with as many records as it says, that is
// delivered. Otherwise the records are fetched from the stream, by their place ([WithStreams]).
// What the stream keeps no more, nor the event, is lost: its exact place is logged and noted
// ([WithGaps]), and only then does the message go. Where the shard is left empty that is known
// 25 hours after the batch: the message comes again until then.
// A message fails, for a reason that is logged, when it tells of anything else: a dead letter
// of this pipeline's own, say, which `tablewake redrive` delivers.
//
// Versions decide in views, aggregates, search and archive, so what is brought late does no
// harm there. Notifications and Go sinks see it behind later changes of the item.
//
// The event {"tablewake":"redrive"}, sent by a schedule or by hand, redrives the dead letters of
// an outage ([WithRedrive]).
func Redrive(p *pipeline.Pipeline, opts ...Option) lambda.Handler {
	return newHandler(p, opts, fromSQS, fromNobody)
}

// command does what an event asks for by its name.
func (h *handler) command(ctx context.Context, cuts cuts, name string) (answer, error) {
	a := answer{command: true}
	switch {
	case name != "redrive":
		return a, errs.New(`the event asks for an unknown command: the one there is is {"tablewake":"redrive"}`)
	case h.o.redrive == nil:
		return a, errs.New("the event asks to redrive dead letters, and this function is not set up to: write dead_letters.redrive: auto")
	}
	ctx, cancel := cuts.context(ctx)
	defer cancel()
	if err := h.o.redrive(ctx); err != nil {
		return a, errs.Errorf("dead letters are not redriven: %w", err)
	}
	return a, nil
}

// queued is an event of SQS, as far as it is read.
type queued struct {
	Records []struct {
		MessageID string `json:"messageId"`
		Body      string `json:"body"`
	} `json:"Records"`
}

// messages redrives one message after the other.
func (h *handler) messages(ctx context.Context, cuts cuts, payload []byte) (answer, error) {
	var event queued
	if err := json.Unmarshal(payload, &event); err != nil {
		return answer{}, errs.New("the event is no event of SQS: its JSON is broken or has another shape")
	}
	a := answer{records: len(event.Records)}
	for i, m := range event.Records {
		if m.MessageID == "" {
			return a, errs.Errorf("message %d has no messageId, by which it could be named to Lambda", i)
		}
		if cuts.over(time.Now()) {
			a.cut = true
			a.failed = append(a.failed, m.MessageID)
			continue
		}
		lost, err := h.message(ctx, cuts, m.Body)
		if errors.Is(err, errStuck) {
			return a, err
		}
		outcome := redriven
		switch {
		case err != nil:
			outcome, lost = failed, 0 // what is lost of it is told of once, when it is done with
			a.failed = append(a.failed, m.MessageID)
			h.o.log.LogAttrs(ctx, slog.LevelError, "a message is not redriven; it comes again",
				slog.String("message", m.MessageID), slog.String("error", pipeline.LogText(err)))
		case lost > 0:
			outcome = gapNoted
		}
		a.cut = a.cut || errors.Is(err, errDeadline)
		h.tel.message(ctx, outcome, lost)
	}
	a.done = a.records - len(a.failed)
	return a, nil
}

// message redrives what a message tells of; lost counts records that cannot be.
func (h *handler) message(ctx context.Context, cuts cuts, body string) (lost int, err error) {
	told, err := read([]byte(body))
	if err != nil {
		return 0, err
	}
	for _, at := range told.objects {
		record, err := h.object(ctx, cuts, at)
		if err != nil {
			return lost, err
		}
		n, err := h.givenUp(ctx, cuts, record)
		if lost += n; err != nil {
			return lost, errs.Errorf("%s: %w", pipeline.Safe(at.String()), err)
		}
	}
	if told.record != nil {
		return h.givenUp(ctx, cuts, told.record)
	}
	return lost, nil
}

// givenUp delivers the records of a batch that Lambda gave up.
func (h *handler) givenUp(ctx context.Context, cuts cuts, r *invocation) (lost int, err error) {
	b, losses, err := h.salvage(ctx, cuts, r)
	if err != nil {
		return 0, err
	}
	// What is left is delivered before anything else: it may be gone the next time.
	if err := h.redeliver(ctx, cuts, b); err != nil {
		return 0, err
	}
	for _, l := range losses {
		if err := h.note(ctx, cuts, l); err != nil {
			return lost, err
		}
		lost += l.records
	}
	return lost, nil
}

// note makes durable what is lost.
func (h *handler) note(ctx context.Context, cuts cuts, l loss) error {
	if h.o.gaps == nil {
		h.logLoss(ctx, l, "records are lost, and there is nowhere to note that: the message stays")
		return errs.New("records are lost and there is no place for gaps: configure state.table, or give handlers.WithGaps, or delete the message once it is written down")
	}
	within, cancel := cuts.context(ctx)
	defer cancel()
	if err := h.o.gaps.AddGap(within, l.gap()); err != nil {
		return errs.Errorf("records are lost, and that could not be noted: %w", err)
	}
	h.logLoss(ctx, l, "records are lost: Lambda gave them up, and the stream keeps them no more")
	return nil
}

// redeliver runs a batch through the pipeline; its error says what is not finished.
func (h *handler) redeliver(ctx context.Context, cuts cuts, b *batch) error {
	if len(b.pages) == 0 {
		return nil
	}
	cut, err := h.run(ctx, cuts, b.pages...)
	if err != nil {
		return err
	}
	switch index, sequence, all := b.unfinished(); {
	case all:
		return nil
	case cut:
		return errs.Errorf("record %d of its page (sequence number %s) is not delivered: %w", index, pipeline.Safe(sequence), errDeadline)
	default:
		return errs.Errorf("record %d of its page (sequence number %s) is not delivered", index, pipeline.Safe(sequence))
	}
}
