package sqs

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/internal/queue"
)

// Put sends letters, and blocks until the queue has them. After an error some may be
// sent; the next attempt does not send them again. If a letter is too large and there is no Large, Put
// fails before it sends any.
func (s *Store) Put(ctx context.Context, letters []pipeline.DeadLetter) error {
	var large []pipeline.DeadLetter
	var batch []types.SendMessageBatchRequestEntry
	var batchNames []string // sentName of each message of batch
	var batches [][]types.SendMessageBatchRequestEntry
	var names [][]string
	size := 0
	for i := range letters {
		if err := ctx.Err(); err != nil {
			return pipeline.Transient(err)
		}
		l := &letters[i]
		name := sentName(l)
		if s.wasSent(name) {
			continue
		}
		body, err := encode(l, s.MaxBytes)
		if err != nil {
			return err
		}
		if len(body) > s.MaxBytes {
			if s.Large == nil {
				return errs.Errorf("deadletter: a letter has %d bytes, and the queue %s takes %d: give its dead letters a bucket", len(body), s.place.Name, s.MaxBytes)
			}
			large = append(large, *l)
			continue
		}
		if len(batch) == queue.MaxEntries || len(batch) > 0 && size+len(body) > s.MaxBytes {
			batches, names = append(batches, batch), append(names, batchNames)
			batch, batchNames, size = nil, nil, 0
		}
		batch = append(batch, types.SendMessageBatchRequestEntry{Id: new(queue.EntryID(len(batch))), MessageBody: &body})
		batchNames, size = append(batchNames, name), size+len(body)
	}
	if len(batch) > 0 {
		batches, names = append(batches, batch), append(names, batchNames)
	}
	if len(large) > 0 {
		if err := s.Large.Put(ctx, large); err != nil {
			return err
		}
	}
	for i, b := range batches {
		if err := s.send(ctx, b, names[i]); err != nil {
			return err
		}
	}
	return nil
}

// send sends one batch, and remembers the letters that the queue accepted.
func (s *Store) send(ctx context.Context, batch []types.SendMessageBatchRequestEntry, names []string) error {
	out, err := s.Client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &s.place.URL, Entries: batch}, s.place.In)
	if err != nil {
		return s.failed(ctx, "SendMessageBatch", err)
	}
	s.mu.Lock()
	for _, ok := range out.Successful {
		if i := queue.EntryIndex(ok.Id); i >= 0 && i < len(names) {
			s.sent.Add(names[i])
		}
	}
	s.mu.Unlock()
	if len(out.Failed) > 0 {
		f := out.Failed[0]
		return awserr.EntryError(s.op("SendMessageBatch"), aws.ToString(f.Code), !f.SenderFault, s.hints("SendMessage"))
	}
	if len(out.Successful) < len(batch) {
		return pipeline.Transient(errs.Errorf("%s: it did not say what became of %d letters", s.op("SendMessageBatch"), len(batch)-len(out.Successful)))
	}
	return nil
}

// sentName identifies a sent letter. A change that is dead-lettered again has another time,
// and is another letter.
func sentName(l *pipeline.DeadLetter) string {
	return fmt.Sprintf("%s@%d", deadletter.ID(l), l.Time.UnixNano())
}

func (s *Store) wasSent(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent.Has(name)
}
