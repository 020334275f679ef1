package sqs

import (
	"cmp"
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
	"github.com/tablewake/tablewake/sinks/internal/queue"
)

// open is the reader, which from now on renews what it holds.
func (s *Store) open() (*reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != nil {
		return s.reader, nil
	}
	r, err := newReader()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.renewing.Go(func() {
		for pipeline.Sleep(ctx, s.Visibility/3) == nil {
			// What is not renewed now is the next time; what is then read by another is missed
			// when it is to be deleted.
			_ = s.keep(ctx, r.all(), seconds(s.Visibility))
		}
	})
	s.reader = r
	return r, nil
}

// Release gives back what was read and not removed, so that others can read it.
func (s *Store) Release(ctx context.Context) error {
	s.mu.Lock()
	r := s.reader
	s.reader = nil
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	held := r.all()
	r.close()
	return s.keep(ctx, held, 0)
}

// keep keeps messages from others for so many seconds from now.
func (s *Store) keep(ctx context.Context, handles []handle, secs int32) error {
	return s.batches(handles, func(some []handle) error {
		in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &s.place.URL}
		for i, h := range some {
			in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: new(queue.EntryID(i)), ReceiptHandle: &h.receipt, VisibilityTimeout: secs})
		}
		_, err := s.Client.ChangeMessageVisibilityBatch(ctx, in, s.place.In) // an entry that fails is not held any more
		return s.failed(ctx, "ChangeMessageVisibilityBatch", err)
	})
}

// Remove deletes letters by their IDs, and blocks until that is done. Those that
// were not read it reads first. An error is transient where one of them is
// being read elsewhere by now.
func (s *Store) Remove(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	r, err := s.open()
	if err != nil {
		return err
	}
	handles, known := r.of(ids)
	for more := true; more && !known; handles, known = r.of(ids) {
		if more, err = s.receive(ctx, r); err != nil {
			return err
		}
	}
	err = s.batches(handles, func(some []handle) error {
		in := &sqs.DeleteMessageBatchInput{QueueUrl: &s.place.URL}
		for i, h := range some {
			in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: new(queue.EntryID(i)), ReceiptHandle: &h.receipt})
		}
		out, err := s.Client.DeleteMessageBatch(ctx, in, s.place.In)
		if err != nil {
			return s.failed(ctx, "DeleteMessageBatch", err)
		}
		for _, ok := range out.Successful {
			if i := queue.EntryOf(ok.Id); i >= 0 && i < len(some) {
				r.deleted(some[i])
			}
		}
		if len(out.Failed) > 0 {
			f := out.Failed[0]
			return pipeline.Transient(awserr.Entry(s.op("DeleteMessageBatch"), aws.ToString(f.Code), true, s.hints("DeleteMessage")))
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.remove(ids)
	if s.Large != nil {
		return s.Large.Remove(ctx, ids)
	}
	return nil
}

// callsAtOnce is how many calls are made at once where many messages are kept or deleted.
const callsAtOnce = 8

// batches does something with messages, as many as a call takes at a time. Its error is
// the first.
func (s *Store) batches(handles []handle, do func(some []handle) error) error {
	calls := slices.Collect(slices.Chunk(handles, queue.Entries))
	return cmp.Or(parallel.Each(len(calls), callsAtOnce, func(i int) error { return do(calls[i]) })...)
}
