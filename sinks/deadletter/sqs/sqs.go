// Package sqs keeps dead letters in a standard queue of SQS, a message each.
//
// A queue is for letters that are looked after within days: after 14 days SQS throws a
// message away, and no setting makes it longer. New refuses a queue that
// would lose letters sooner: one that keeps its messages for less than that, one that moves
// those away that were read a few times, and a FIFO queue, which takes a letter that comes
// again for the one before. Where letters may lie longer, keep them in a bucket.
//
// Who reads keeps what was read from others until it is removed or released, so that a
// redrive sees all letters of a key or none: a second one at the same time is told to
// wait. What a process that died had read is there again after Options.Visibility.
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
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/internal/linefile"
	"github.com/tablewake/tablewake/sinks/internal/queue"
)

// Options describe a store.
type Options struct {
	Client   *sqs.Client // required
	Queue    string      // required: URL, ARN or name; the Region that a URL or ARN names is that of the calls
	Pipeline string      // required: name of the pipeline, whose letters alone are read

	// Large keeps the letters that are larger than a message, which most are not: they
	// are compressed first. Default: none; Put then fails for such a letter, and what it
	// is of is blocked, since nothing else would keep it.
	Large deadletter.Store

	MaxBytes   int           // of a message, and of those of a call. Default: what the queue is set to take
	Visibility time.Duration // how long a process that died keeps letters from others. Default: 10m; at most 12h
	Poll       time.Duration // how long a Read waits for one letter more; in seconds, 20 at most. Default: 1s
	Logger     *slog.Logger  // told when Read has to wait. Default: discards
	Settle     time.Duration // how long the queue's own count of what is being read may be behind. Default: 1m
}

// Store is the dead letters of a pipeline in a queue. It is safe for concurrent use.
type Store struct {
	Options
	place queue.Place

	mu     sync.Mutex
	sent   *linefile.Recent // letters that a Put sent, by ID and time
	reader *reader          // nil while nobody reads
}

var (
	_ deadletter.Store    = (*Store)(nil)
	_ deadletter.Releaser = (*Store)(nil)
)

const (
	longest    = 14 * 24 * time.Hour // that a queue keeps a message
	remembered = 10_000              // letters that are known to be sent
)

// New finds the queue and looks whether letters are safe in it.
func New(ctx context.Context, o Options) (*Store, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("deadletter: Client is nil: give an SQS client")
	case o.Queue == "":
		return nil, errors.New("deadletter: Queue is empty: give the queue's URL, ARN or name")
	case o.Pipeline == "":
		return nil, errors.New("deadletter: Pipeline is empty: give the pipeline's name")
	case o.MaxBytes < 0 || o.Visibility < 0 || o.Visibility > 12*time.Hour || o.Poll < 0 || o.Poll > 20*time.Second || o.Settle < 0:
		return nil, errors.New("deadletter: MaxBytes, Visibility, Poll or Settle is out of range")
	}
	o.Visibility = cmp.Or(o.Visibility, 10*time.Minute)
	o.Poll = cmp.Or(o.Poll, time.Second)
	o.Settle = cmp.Or(o.Settle, time.Minute)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{Options: o, place: queue.PlaceOf(o.Queue), sent: linefile.NewRecent(remembered)}
	if err := s.place.Find(ctx, s.Client); err != nil {
		return nil, s.failed(ctx, "GetQueueUrl", err)
	}
	attributes, err := s.attributes(ctx, types.QueueAttributeNameAll)
	if err == nil {
		err = s.safe(attributes)
	}
	if err != nil {
		return nil, err
	}
	s.MaxBytes = cmp.Or(s.MaxBytes, queue.MaxBytes(attributes))
	return s, nil
}

// safe says why letters would be lost in the queue.
func (s *Store) safe(attributes map[string]string) error {
	switch kept, err := strconv.Atoi(attributes["MessageRetentionPeriod"]); {
	case strings.HasSuffix(s.place.Name, ".fifo"):
		return errs.Errorf("deadletter: the queue %s is FIFO, and would drop a letter that comes again within five minutes: give a standard queue", s.place.Name)
	case attributes["RedrivePolicy"] != "":
		return errs.Errorf("deadletter: the queue %s moves messages to another one that were read a few times, as every redrive reads them: take its RedrivePolicy away", s.place.Name)
	case err == nil && time.Duration(kept)*time.Second < longest:
		return errs.Errorf("deadletter: the queue %s throws letters away after %v: set its MessageRetentionPeriod to 1209600, 14 days, or keep the letters in a bucket",
			s.place.Name, time.Duration(kept)*time.Second)
	}
	return nil
}

// attributes asks for attributes of the queue; a role that may not ask gets none.
func (s *Store) attributes(ctx context.Context, names ...types.QueueAttributeName) (map[string]string, error) {
	out, err := s.Client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &s.place.URL, AttributeNames: names}, s.place.In)
	switch {
	case err != nil && awserr.KindOf(err) == awserr.Denied:
		return nil, nil
	case err != nil:
		return nil, s.failed(ctx, "GetQueueAttributes", err)
	}
	return out.Attributes, nil
}

func (s *Store) failed(ctx context.Context, op string, err error) error {
	return awserr.Call(ctx, s.op(op), err, s.hints(op))
}

func (s *Store) op(op string) string {
	return fmt.Sprintf("deadletter: %s of the queue %s", op, s.place.Name)
}

func (s *Store) hints(op string) map[awserr.Kind]string {
	return map[awserr.Kind]string{
		awserr.Denied: fmt.Sprintf("check the credentials, and that they and the queue's policy allow sqs:%s, and the use of its KMS key where it has one",
			strings.TrimSuffix(op, "Batch")),
		awserr.Missing: "check the queue's name, Region and account; it is never made by the pipeline",
	}
}

// Close gives back what was read. A second call does nothing.
func (s *Store) Close() error { return s.Release(context.Background()) }
