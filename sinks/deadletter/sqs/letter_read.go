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
	"github.com/tablewake/tablewake/pipeline/awshttp"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/internal/queue"
	"github.com/tablewake/tablewake/sinks/internal/seq"
)

// Read yields each letter once. Like SQS, it promises no exact order. It receives messages until the queue is empty. A
// received message is invisible to other readers until it is removed or released.
//
// If another reader has messages, Read could not see all letters. So it waits up to Options.Settle for them, and then
// returns a transient error. The sequence ends after the first error.
func (s *Store) Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error] {
	if s.Large == nil {
		return s.readMessages(ctx)
	}
	return seq.Concat(s.readMessages(ctx), s.Large.Read(ctx))
}

// readMessages yields the letters of the queue's messages.
func (s *Store) readMessages(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error] {
	return func(yield func(pipeline.DeadLetter, error) bool) {
		r, err := s.startReader()
		if err != nil {
			yield(pipeline.DeadLetter{}, err)
			return
		}
		started := time.Now()
		for next := 0; ; next++ {
			received, ok, err := s.receiveLetter(ctx, r, next, started)
			if err != nil {
				yield(pipeline.DeadLetter{}, err)
				return
			}
			if !ok {
				return
			}
			if received.removed {
				continue
			}
			letter, err := r.readLetter(received)
			if !yield(letter, err) || err != nil {
				return
			}
		}
	}
}

// receiveLetter returns the letter with the index i in r. If r has not received it, receiveLetter receives messages
// first. ok is false if the queue has no more letters.
func (s *Store) receiveLetter(
	ctx context.Context, r *reader, i int, started time.Time,
) (letter receivedLetter, ok bool, err error) {
	for {
		if letter, ok = r.letterAt(i); ok {
			return letter, true, nil
		}
		more, err := s.receiveOrWait(ctx, r, started)
		if err != nil || !more {
			return receivedLetter{}, false, err
		}
	}
}

// receiveOrWait receives messages, or waits for those of another reader. more is false if there are no others.
func (s *Store) receiveOrWait(ctx context.Context, r *reader, started time.Time) (more bool, err error) {
	wasAlone := r.alone.Load()
	received, err := s.receiveMessages(ctx, r)
	if received || err != nil {
		return received, err
	}
	if wasAlone { // readers that started later wait for the messages of this one
		return false, nil
	}
	isAlone, err := s.isOnlyReader(ctx, r)
	if err != nil {
		return false, err
	}
	if isAlone {
		r.alone.Store(true) // the other reader may have released messages, so receive again
		return true, nil
	}
	if err := s.waitForOthers(ctx, r, started); err != nil {
		return false, err
	}
	return true, nil
}

// waitForOthers waits a moment for the messages of another reader. It returns an error if the Read, which began at
// started, lasts for s.Settle already.
func (s *Store) waitForOthers(ctx context.Context, r *reader, started time.Time) error {
	if !r.warned.Swap(true) {
		s.Logger.LogAttrs(ctx, slog.LevelWarn,
			"letters of the queue are being read elsewhere, by a redrive that runs or was killed: it waits for them",
			slog.String("queue", s.address.Name), slog.Duration("waits_for", s.Settle),
			slog.Duration("there_again_within", s.Visibility))
	}
	if time.Since(started) >= s.Settle {
		return pipeline.RetryAfter(&awserr.Error{
			Op: "deadletter: the queue " + s.address.Name, Code: "some of its letters are being read elsewhere",
			Hint: fmt.Sprintf("another redrive runs: wait for it; letters that a dead one was reading are there again within %v",
				s.Visibility),
		}, s.Settle)
	}
	if pipeline.Sleep(ctx, max(s.Poll, s.Settle/20)) != nil {
		return pipeline.Transient(context.Cause(ctx))
	}
	return nil
}

// Count returns the number of messages in the queue, for all pipelines that use it. SQS counts approximately. Count
// hides no message. known is false if the credentials do not allow the count.
func (s *Store) Count(ctx context.Context) (n int, known bool, err error) {
	names := []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
	}
	attributes, err := s.readAttributes(ctx, names...)
	if err != nil || attributes == nil {
		return 0, false, err
	}
	for _, name := range names {
		count, err := strconv.Atoi(attributes[string(name)])
		if err != nil {
			return 0, false, fmt.Errorf("deadletter: the queue %s: %s is not a number: %w", s.address.Name, name, err)
		}
		n += count
	}
	return n, true, nil
}

// isOnlyReader reports whether only this reader has invisible messages. It returns true if the count is unknown. The
// queue's count may be outdated.
func (s *Store) isOnlyReader(ctx context.Context, r *reader) (bool, error) {
	attributes, err := s.readAttributes(ctx, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible)
	if err != nil {
		return false, err
	}
	n, err := strconv.Atoi(attributes["ApproximateNumberOfMessagesNotVisible"])
	known := err == nil
	return !known || n <= r.messageCount(), nil
}

// receiveMessages makes one ReceiveMessage call, and adds the messages to r. received is false if the queue is empty,
// or if SQS allows no more invisible messages. In the second case the next Read gets the rest.
func (s *Store) receiveMessages(ctx context.Context, r *reader) (received bool, err error) {
	out, err := s.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &s.address.URL, MaxNumberOfMessages: queue.MaxEntries,
		VisibilityTimeout: seconds(s.Visibility), WaitTimeSeconds: int32(s.Poll / time.Second),
	}, s.address.InRegion, verifyAnswer)
	if awserr.Code(err) == "OverLimit" {
		return false, nil
	}
	if err != nil {
		return false, s.wrapError(ctx, "ReceiveMessage", err)
	}
	for _, m := range out.Messages {
		err = errors.Join(err, s.addMessage(r, m))
	}
	return len(out.Messages) > 0, err
}

// addMessage adds a message to r, as a letter or as a foreign message. A letter of another pipeline is foreign. So is a
// message that is no letter, for which addMessage also returns an error.
func (s *Store) addMessage(r *reader, m types.Message) error {
	h := handle{message: aws.ToString(m.MessageId), receipt: aws.ToString(m.ReceiptHandle)}
	line, err := decode(aws.ToString(m.Body))
	var letter pipeline.DeadLetter
	var id string
	if err == nil {
		letter, id, err = deadletter.Parse(line)
	}
	switch {
	case err != nil:
		return errors.Join(r.addForeign(h), s.messageError(h, err))
	case letter.Pipeline != s.Pipeline:
		return s.messageError(h, r.addForeign(h))
	}
	return s.messageError(h, r.addLetter(h, id, line))
}

// messageError adds the names of a message and the queue to an error; nil stays nil.
func (s *Store) messageError(h handle, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the message %s of the queue %s: %w", h.message, s.address.Name, err)
}

// verifyAnswer makes the SDK accept only a JSON object. Otherwise it takes an empty body for an answer without
// messages.
func verifyAnswer(o *sqs.Options) { o.HTTPClient = awshttp.Verify(o.HTTPClient) }

// seconds returns d in whole seconds, at least 1.
func seconds(d time.Duration) int32 { return int32(max(d/time.Second, 1)) }
