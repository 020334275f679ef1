package sqs

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/bounded"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/internal/queue"
)

// Put sends letters, and blocks until the queue has them. After an error, some letters may have been sent; the next Put
// does not send them again. If a letter is too large for a message and Options.Large is nil, Put fails before it sends
// any letter.
func (s *Store) Put(ctx context.Context, letters []pipeline.DeadLetter) error {
	letters = slices.DeleteFunc(slices.Clone(letters), s.wasSent)
	bodies := make([]string, len(letters)) // "" for a letter that is too large for a message
	for i := range letters {
		if err := ctx.Err(); err != nil {
			return pipeline.Transient(err)
		}
		body, err := encode(&letters[i], s.MaxBytes)
		switch {
		case err != nil:
			return err
		case len(body) <= s.MaxBytes:
			bodies[i] = body
		case s.Large == nil:
			return errs.Errorf("deadletter: a letter has %d bytes, and the queue %s takes %d: give its dead letters a bucket",
				len(body), s.address.Name, s.MaxBytes)
		}
	}
	for _, round := range deadletter.Rounds(letters) {
		if err := s.putRound(ctx, letters, bodies, round); err != nil {
			return err
		}
	}
	return nil
}

// sentName names a letter that was sent. It contains the time of the letter, so a change that is dead-lettered again
// gets another name.
func sentName(l *pipeline.DeadLetter) string {
	return fmt.Sprintf("%s@%d", deadletter.ID(l), l.Time.UnixNano())
}

func (s *Store) wasSent(l pipeline.DeadLetter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent.Has(sentName(&l))
}

// putRound sends the letters at the indexes of round. It puts letters that are too large for a message into s.Large.
func (s *Store) putRound(ctx context.Context, letters []pipeline.DeadLetter, bodies []string, round []int) error {
	var large []pipeline.DeadLetter
	var entries []types.SendMessageBatchRequestEntry
	var names []string // sentName of each entry's letter
	for _, i := range round {
		if bodies[i] == "" {
			large = append(large, letters[i])
			continue
		}
		entries = append(entries, types.SendMessageBatchRequestEntry{MessageBody: &bodies[i]})
		names = append(names, sentName(&letters[i]))
	}
	if len(large) > 0 {
		if err := s.Large.Put(ctx, large); err != nil {
			return err
		}
	}
	return s.sendAll(ctx, entries, names)
}

// sendAll sends entries in batches of up to MaxBytes. names has the sentName of each entry's letter.
func (s *Store) sendAll(ctx context.Context, entries []types.SendMessageBatchRequestEntry, names []string) error {
	for len(entries) > 0 {
		n := s.batchLength(entries)
		for i := range n {
			entries[i].Id = new(queue.EntryID(i))
		}
		if err := s.send(ctx, entries[:n], names[:n]); err != nil {
			return err
		}
		entries, names = entries[n:], names[n:]
	}
	return nil
}

// batchLength returns how many entries fit into the next batch, at least 1.
func (s *Store) batchLength(entries []types.SendMessageBatchRequestEntry) int {
	limit := min(len(entries), queue.MaxEntries)
	size := len(*entries[0].MessageBody)
	for n := 1; n < limit; n++ {
		size += len(*entries[n].MessageBody)
		if size > s.MaxBytes {
			return n
		}
	}
	return limit
}

// send sends one batch, and remembers the letters that the queue accepted.
func (s *Store) send(ctx context.Context, batch []types.SendMessageBatchRequestEntry, names []string) error {
	out, err := s.Client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &s.address.URL, Entries: batch},
		s.address.InRegion)
	if err != nil {
		return s.wrapError(ctx, "SendMessageBatch", err)
	}
	s.mu.Lock()
	for _, sent := range out.Successful {
		if i := queue.EntryIndex(sent.Id); i >= 0 && i < len(names) {
			s.sent.Add(names[i])
		}
	}
	s.mu.Unlock()
	if len(out.Failed) > 0 {
		f := out.Failed[0]
		return awserr.EntryError(s.op("SendMessageBatch"), aws.ToString(f.Code), !f.SenderFault, s.hints("SendMessage"))
	}
	if len(out.Successful) < len(batch) {
		return pipeline.Transient(errs.Errorf("%s: it did not say what became of %d letters", s.op("SendMessageBatch"),
			len(batch)-len(out.Successful)))
	}
	return nil
}

// encode returns a letter as a message body. The body is the JSON of the letter. If the JSON is too large, or contains
// a character that SQS refuses, the body is base64 of its gzip. The first byte distinguishes the two forms.
func encode(l *pipeline.DeadLetter, maxBytes int) (string, error) {
	line, err := deadletter.Append(nil, l)
	if err != nil {
		return "", err
	}
	// SQS accepts the characters of XML. JSON escapes the control characters, so only these two refused characters can
	// remain.
	if len(line) <= maxBytes && !bytes.ContainsAny(line, "\ufffe\uffff") {
		return string(line), nil
	}
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	_, err = zip.Write(line)
	if err := errors.Join(err, zip.Close()); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(zipped.Bytes()), nil
}

// decode returns the JSON of a letter from a message body.
func decode(body string) ([]byte, error) {
	if strings.HasPrefix(body, "{") {
		return []byte(body), nil
	}
	zip, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(body)))
	if err != nil {
		return nil, err
	}
	return bounded.ReadAll(zip, bounded.Object)
}
