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

// startReader returns the store's reader, and makes one if there is none. A new reader has a goroutine that keeps its
// messages invisible to others.
func (s *Store) startReader() (*reader, error) {
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
			// The next round repeats a failed renewal. If another reader has received the message meanwhile, this
			// reader cannot delete it any more.
			_ = s.setVisibility(ctx, r.allHandles(), seconds(s.Visibility))
		}
	})
	s.reader = r
	return r, nil
}

// Release makes the received messages visible to others, except those that were removed.
func (s *Store) Release(ctx context.Context) error {
	s.mu.Lock()
	r := s.reader
	s.reader = nil
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	handles := r.allHandles()
	r.close()
	return s.setVisibility(ctx, handles, 0)
}

// setVisibility hides messages from other readers for some seconds from now. With 0 it makes them visible.
func (s *Store) setVisibility(ctx context.Context, handles []handle, seconds int32) error {
	return s.callInBatches(handles, func(chunk []handle) error {
		in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &s.address.URL}
		for i, h := range chunk {
			in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: new(queue.EntryID(i)),
				ReceiptHandle: &h.receipt, VisibilityTimeout: seconds})
		}
		_, err := s.Client.ChangeMessageVisibilityBatch(ctx, in, s.address.InRegion) // failed entries are visible already
		return s.wrapError(ctx, "ChangeMessageVisibilityBatch", err)
	})
}

// Remove deletes letters by ID, and blocks until they are deleted. It first receives letters that were not read yet.
// The error is transient if another reader has meanwhile received one of the letters. Then nothing is deleted, not even
// the large bodies.
func (s *Store) Remove(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	r, err := s.startReader()
	if err != nil {
		return err
	}
	handles, allKnown := r.handlesOf(ids)
	for !allKnown {
		received, err := s.receiveMessages(ctx, r)
		if err != nil {
			return err
		}
		handles, allKnown = r.handlesOf(ids)
		if received || allKnown {
			continue
		}
		if isAlone, err := s.isOnlyReader(ctx, r); err != nil || !isAlone {
			return cmp.Or(err, errReadElsewhere)
		}
		break // the queue does not have the other letters
	}
	if err := s.deleteMessages(ctx, r, handles); err != nil {
		return err
	}
	r.noteRemoved(ids)
	if s.Large != nil {
		return s.Large.Remove(ctx, ids)
	}
	return nil
}

var errReadElsewhere = pipeline.Transient(errs.New("deadletter: another reader has letters that are to be removed"))

// deleteMessages deletes messages, and notes in r which are deleted.
func (s *Store) deleteMessages(ctx context.Context, r *reader, handles []handle) error {
	return s.callInBatches(handles, func(chunk []handle) error {
		in := &sqs.DeleteMessageBatchInput{QueueUrl: &s.address.URL}
		for i, h := range chunk {
			in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: new(queue.EntryID(i)),
				ReceiptHandle: &h.receipt})
		}
		out, err := s.Client.DeleteMessageBatch(ctx, in, s.address.InRegion)
		if err != nil {
			return s.wrapError(ctx, "DeleteMessageBatch", err)
		}
		for _, deleted := range out.Successful {
			if i := queue.EntryIndex(deleted.Id); i >= 0 && i < len(chunk) {
				r.noteDeleted(chunk[i])
			}
		}
		if len(out.Failed) > 0 {
			f := out.Failed[0]
			return pipeline.Transient(awserr.EntryError(s.op("DeleteMessageBatch"), aws.ToString(f.Code), true,
				s.hints("DeleteMessage")))
		}
		if deleted := len(out.Successful); deleted < len(chunk) {
			return pipeline.Transient(errs.Errorf("%s: it did not say what became of %d messages",
				s.op("DeleteMessageBatch"), len(chunk)-deleted))
		}
		return nil
	})
}

// callsAtOnce is the number of concurrent calls for many messages.
const callsAtOnce = 8

// callInBatches makes a call for each chunk of messages. It returns the first error.
func (s *Store) callInBatches(handles []handle, call func(chunk []handle) error) error {
	chunks := slices.Collect(slices.Chunk(handles, queue.MaxEntries))
	return cmp.Or(parallel.Each(len(chunks), callsAtOnce, func(i int) error { return call(chunks[i]) })...)
}
