package sqs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/internal/queue"
)

// Read yields the letters that are there, each once, roughly in the order in which
// they came: SQS promises none. It receives until the queue has no more, and keeps
// what it received from others until that is removed or released. Where somebody else is
// reading too it waits for Settle, and then its error is transient: it saw a part of the
// letters only. A pulled error ends the sequence.
func (s *Store) Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error] {
	return func(yield func(pipeline.DeadLetter, error) bool) {
		r, err := s.open()
		began := time.Now()
		for i := 0; err == nil; {
			h, ok := r.at(i)
			if !ok {
				var more bool
				if more, err = s.more(ctx, r, began); !more {
					break
				}
				continue
			}
			i++
			if h.removed {
				continue
			}
			var l pipeline.DeadLetter
			if l, err = r.letter(h); err == nil && !yield(l, nil) {
				return
			}
		}
		if err != nil {
			yield(pipeline.DeadLetter{}, err)
			return
		}
		if s.Large == nil {
			return
		}
		for l, err := range s.Large.Read(ctx) {
			if !yield(l, err) {
				return
			}
		}
	}
}

// more receives once; it is false when the queue has nothing more, and nobody else
// was reading just before.
func (s *Store) more(ctx context.Context, r *reader, began time.Time) (more bool, err error) {
	alone := r.isAlone()
	if more, err = s.receive(ctx, r); more || err != nil || alone {
		return more, err
	}
	// Once is enough: whoever comes later finds something being read, and is told.
	if alone, err = s.alone(ctx, r); err != nil {
		return false, err
	}
	if !alone {
		r.tellOnce(func() {
			s.Logger.LogAttrs(ctx, slog.LevelWarn, "letters of the queue are being read elsewhere, by a redrive that runs or was killed: it waits for them",
				slog.String("queue", s.place.Name), slog.Duration("waits_for", s.Settle), slog.Duration("there_again_within", s.Visibility))
		})
	}
	switch {
	case alone:
		r.setAlone() // and what the other gave back meanwhile is received
	case time.Since(began) >= s.Settle:
		return false, pipeline.RetryAfter(&awserr.Error{
			Op: "deadletter: the queue " + s.place.Name, Code: "some of its letters are being read elsewhere",
			Hint: fmt.Sprintf("another redrive is at work: wait for it; what one that died was reading is there again within %v", s.Visibility),
		}, s.Settle)
	case pipeline.Sleep(ctx, max(s.Poll, s.Settle/20)) != nil:
		return false, pipeline.Transient(context.Cause(ctx))
	}
	return true, nil
}

// alone tells whether nothing is being read but what this reader received. The queue's
// own count may be behind.
func (s *Store) alone(ctx context.Context, r *reader) (bool, error) {
	attributes, err := s.attributes(ctx, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible)
	if err != nil {
		return false, err
	}
	n, err := strconv.Atoi(attributes["ApproximateNumberOfMessagesNotVisible"])
	known := err == nil
	return !known || n <= r.count(), nil
}

// receive takes what one call gives into the reader; more is false where there is
// nothing, or as much is being read as SQS allows: then the rest comes with the next Read.
func (s *Store) receive(ctx context.Context, r *reader) (more bool, err error) {
	out, err := s.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &s.place.URL, MaxNumberOfMessages: queue.Entries,
		VisibilityTimeout: seconds(s.Visibility), WaitTimeSeconds: int32(s.Poll / time.Second),
	}, s.place.In)
	if awserr.Code(err) == "OverLimit" {
		return false, nil
	}
	if err != nil {
		return false, s.failed(ctx, "ReceiveMessage", err)
	}
	var wrong error
	for _, m := range out.Messages {
		h := handle{message: aws.ToString(m.MessageId), receipt: aws.ToString(m.ReceiptHandle)}
		line, err := decode(aws.ToString(m.Body))
		var l pipeline.DeadLetter
		var id string
		if err == nil {
			l, id, err = deadletter.Parse(line)
		}
		if err == nil {
			err = r.take(h, id, line, l.Pipeline == s.Pipeline)
		} else {
			wrong = errors.Join(wrong, r.take(h, "", nil, false))
		}
		if err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("the message %s of the queue %s: %w", aws.ToString(m.MessageId), s.place.Name, err))
		}
	}
	return len(out.Messages) > 0, wrong
}

// seconds is d in whole ones, at least one.
func seconds(d time.Duration) int32 { return int32(max(d/time.Second, 1)) }
