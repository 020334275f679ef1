// Package sqs stores dead letters in a standard queue of SQS, one message each.
//
// Use a queue only if letters are redriven within days, because SQS deletes a message after at most 14 days. To keep
// letters longer, use a bucket. New refuses three kinds of queues, which would lose letters sooner. The first has a
// shorter retention. The second moves messages away after a few reads. The third is a FIFO queue, which drops a letter
// that is put again within minutes.
//
// A reader hides the messages that it has read from other readers until they are removed or released. So a redrive sees
// either all letters of a key or none, and a second redrive at the same time has to wait. If a process dies, its
// messages become visible again after Options.Visibility.
package sqs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/internal/linefile"
	"github.com/tablewake/tablewake/sinks/internal/queue"
)

// errs makes the errors of this package. Their redacted text holds no data.
const errs = redact.Class("dead_letters")

// Options configure a store.
type Options struct {
	Client   *sqs.Client // required
	Queue    string      // required: URL, ARN or name; calls go to the Region of a URL or ARN
	Pipeline string      // required: name of the pipeline; only the letters of this pipeline are read

	// Create creates a missing queue, which then keeps messages for 14 days. Default: a missing queue is an error.
	Create bool

	// Large stores letters that are too large for a message even when they are compressed. Default: none. Put then
	// fails for such a letter, and the pipeline retries the change, since no store has it.
	Large deadletter.Store

	MaxBytes int // largest size of a call's messages. Default: the queue's setting
	// Visibility is the time after which the messages of a dead process are visible to others. Default: 10m; at most
	// 12h
	Visibility time.Duration
	Poll       time.Duration // longest wait of a receive; at most 20s, in whole seconds. Default: 1s
	Logger     *slog.Logger  // logs that Read has to wait for another reader. Default: discards
	Settle     time.Duration // largest delay of the queue's count of invisible messages. Default: 1m
}

// Store stores the dead letters of one pipeline in a queue. It is safe for concurrent use.
type Store struct {
	Options
	address queue.Address

	mu     sync.Mutex
	sent   *linefile.Recent // names of letters that were sent recently
	reader *reader          // nil until something is read
}

var (
	_ deadletter.Store    = (*Store)(nil)
	_ deadletter.Releaser = (*Store)(nil)
)

const (
	maxRetention = 14 * 24 * time.Hour // longest retention of a queue
	maxSentNames = 10_000              // number of names in Store.sent
)

// New finds the queue, and returns an error if the queue would lose letters. If the role may not read the attributes of
// the queue, New checks only its name.
func New(ctx context.Context, o Options) (*Store, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("deadletter: Client is nil: give an SQS client")
	case o.Queue == "":
		return nil, errors.New("deadletter: Queue is empty: give the queue's URL, ARN or name")
	case o.Pipeline == "":
		return nil, errors.New("deadletter: Pipeline is empty: give the pipeline's name")
	case o.MaxBytes < 0, o.Settle < 0,
		o.Visibility < 0 || o.Visibility > 12*time.Hour,
		o.Poll < 0 || o.Poll > 20*time.Second:
		return nil, errors.New("deadletter: MaxBytes, Visibility, Poll or Settle is out of range")
	}
	o.Visibility = cmp.Or(o.Visibility, 10*time.Minute)
	o.Poll = cmp.Or(o.Poll, time.Second)
	o.Settle = cmp.Or(o.Settle, time.Minute)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	s := &Store{Options: o, address: queue.ParseAddress(o.Queue), sent: linefile.NewRecent(maxSentNames)}
	var attributes map[string]string
	find := func(ctx context.Context) (err error) { attributes, err = s.findQueue(ctx); return err }
	if err := queue.Ensure(ctx, o.Create, find, s.create); err != nil {
		return nil, err
	}
	if err := s.checkQueue(attributes); err != nil {
		return nil, err
	}
	s.MaxBytes = cmp.Or(s.MaxBytes, queue.MaxBytes(attributes))
	return s, nil
}

// create creates the queue.
func (s *Store) create(ctx context.Context) error {
	attributes := map[string]string{"MessageRetentionPeriod": strconv.Itoa(int(maxRetention / time.Second))}
	if err := s.address.Create(ctx, s.Client, attributes); err != nil {
		return s.wrapError(ctx, "CreateQueue", err)
	}
	if err := s.address.CheckAccount(); err != nil {
		return fmt.Errorf("deadletter: %w", err)
	}
	return nil
}

// findQueue finds the queue, and returns its attributes.
func (s *Store) findQueue(ctx context.Context) (map[string]string, error) {
	if err := s.address.Find(ctx, s.Client); err != nil {
		return nil, s.wrapError(ctx, "GetQueueUrl", err)
	}
	return s.readAttributes(ctx, types.QueueAttributeNameAll)
}

// checkQueue returns an error if the queue would lose letters.
func (s *Store) checkQueue(attributes map[string]string) error {
	retentionSeconds, err := strconv.Atoi(attributes["MessageRetentionPeriod"])
	retention := time.Duration(retentionSeconds) * time.Second
	switch {
	case strings.HasSuffix(s.address.Name, ".fifo"):
		return errs.Errorf(
			"deadletter: the queue %s is FIFO, and would drop a letter that comes again within five minutes: give a standard queue", s.address.Name)
	case attributes["RedrivePolicy"] != "":
		return errs.Errorf(
			"deadletter: the queue %s moves messages to another one that were read a few times, as every redrive reads them: remove its RedrivePolicy", s.address.Name)
	case err == nil && retention < maxRetention:
		return errs.Errorf(
			"deadletter: the queue %s deletes letters after %v: set its MessageRetentionPeriod to 1209600, 14 days, or keep the letters in a bucket",
			s.address.Name, retention)
	}
	return nil
}

// readAttributes returns attributes of the queue. It returns nil if the role may not read them.
func (s *Store) readAttributes(ctx context.Context, names ...types.QueueAttributeName) (map[string]string, error) {
	out, err := s.Client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &s.address.URL,
		AttributeNames: names}, s.address.InRegion)
	switch {
	case err != nil && awserr.KindOf(err) == awserr.Denied:
		return nil, nil
	case err != nil:
		return nil, s.wrapError(ctx, "GetQueueAttributes", err)
	}
	return out.Attributes, nil
}

func (s *Store) wrapError(ctx context.Context, op string, err error) error {
	return awserr.CallError(ctx, s.op(op), err, s.hints(op))
}

func (s *Store) op(op string) string {
	return fmt.Sprintf("deadletter: %s of the queue %s", op, s.address.Name)
}

func (s *Store) hints(op string) map[awserr.Kind]string {
	return map[awserr.Kind]string{
		awserr.Denied: fmt.Sprintf(
			"check the credentials, and that they and the queue's policy allow sqs:%s, and the use of its KMS key where it has one",
			strings.TrimSuffix(op, "Batch")),
		awserr.Missing: "check the queue's name, Region and account, or make it with --create (`tablewake consume`, `backfill` and `replay`; in Go, aws.Create)",
	}
}

// Close calls Release. A second call does nothing.
func (s *Store) Close() error { return s.Release(context.Background()) }
