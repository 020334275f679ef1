package aws

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/internal/queue"
	"github.com/tablewake/tablewake/sinks/notify"
)

// target is a queue, topic or bus.
type target interface {
	// weigh returns the size of a message in a call. refused describes content of the message that the target refuses;
	// "" if it refuses nothing.
	weigh(m *notify.Message, body []byte) (bytes int, refused string)

	// send makes one call with up to queue.MaxEntries messages. No two of them have the same key. errs has an error or
	// nil for each message. If callErr is not nil, the whole call and all its messages have failed.
	send(ctx context.Context, ms []outgoing) (errs []error, callErr error)
}

// outgoing is a message with the body to send.
type outgoing struct {
	*notify.Message
	index int // index in the published slice
	body  []byte
	bytes int // size in a call
}

// publisher sends messages in batches, and the messages of one key in order. It has no state, so it is safe for
// concurrent use.
type publisher struct {
	target
	name     string // such as "queue orders"
	maxBytes int    // largest size of a call
	overflow Overflow
}

// op returns the name of a call for its errors.
func (p *publisher) op(call string) string { return "notify: " + call + " to the " + p.name }

var (
	errBehind   = pipeline.Transient(errs.New("notify: not sent after an earlier event of its item that failed"))
	errNotTried = errs.New("notify: not sent, since the call before it failed as a whole")
	errNoAnswer = pipeline.Transient(errs.New("notify: the service did not say what became of the event"))
)

// Publish implements [notify.Store]. If a whole call fails with a transient error, Publish makes no other call. The
// messages that were not sent yet get a transient error too, so that the pipeline waits.
func (p *publisher) Publish(ctx context.Context, ms []notify.Message) error {
	s := sending{publisher: p, failedKeys: map[item.Key]bool{}}
	rest := make([]outgoing, len(ms))
	for i := range ms {
		rest[i] = outgoing{Message: &ms[i], index: i}
	}
	for len(rest) > 0 {
		var batch []outgoing
		batch, rest = s.takeBatch(ctx, rest)
		if len(batch) == 0 {
			continue
		}
		if outage := s.deliver(ctx, batch); outage != nil {
			after, _ := pipeline.Retryable(outage)
			for _, m := range rest {
				s.fail(m, pipeline.RetryAfter(errNotTried, after))
			}
			break
		}
	}
	return s.failed.OrNil()
}

// sending is the state of one call of Publish.
type sending struct {
	*publisher
	failed     pipeline.BatchError
	failedKeys map[item.Key]bool // keys with a failed message
}

// fail sets the error of a message; nil changes nothing.
func (s *sending) fail(m outgoing, err error) {
	if err != nil {
		s.failed.Add(m.index, err)
		s.failedKeys[m.Key] = true
	}
}

// takeBatch divides rest: batch has the messages of the next call, and later has the messages of later calls, both in
// order. Messages that cannot be sent get an error, and are in neither list.
func (s *sending) takeBatch(ctx context.Context, rest []outgoing) (batch, later []outgoing) {
	size := 0
	takenKeys := map[item.Key]bool{} // keys of batch and later
	for _, m := range rest {
		if s.failedKeys[m.Key] {
			s.fail(m, errBehind)
			continue
		}
		mayFit := len(batch) < queue.MaxEntries && !takenKeys[m.Key]
		if mayFit && m.body == nil {
			var err error
			if m, err = s.prepare(ctx, m); err != nil {
				s.fail(m, err)
				continue
			}
		}
		takenKeys[m.Key] = true
		fits := mayFit && (len(batch) == 0 || size+m.bytes <= s.maxBytes)
		if fits {
			batch, size = append(batch, m), size+m.bytes
		} else {
			later = append(later, m)
		}
	}
	return batch, later
}

// prepare builds the body of a message. If the target refuses the body, prepare puts the data into the overflow, and
// makes a body that refers to the data.
func (s *sending) prepare(ctx context.Context, m outgoing) (outgoing, error) {
	complete, err := s.shrinkToFit(m)
	if err == nil {
		return complete, nil
	}
	data := m.Data()
	switch {
	case data == nil:
		return m, pipeline.Permanent(err)
	case s.overflow == nil:
		return m, pipeline.Permanent(fmt.Errorf("%w; name an archive with a bucket, where the data of such events is kept",
			err))
	}
	uri, putErr := s.overflow.Put(ctx, "events/"+m.ID+".json", data)
	if putErr != nil {
		return m, fmt.Errorf("%w; keeping its data: %w", err, putErr)
	}
	withRef := *m.Message
	withRef.Body = m.WithDataRef(uri)
	m.Message = &withRef
	small, err := s.shrinkToFit(m)
	if err != nil {
		return m, pipeline.Permanent(fmt.Errorf("%w, and that is without its data", err))
	}
	return small, nil
}

// shrinkToFit returns the message with a body that the target accepts. If the body is too large, shrinkToFit drops the
// trace context, because tracing must not decide whether an event is delivered.
func (s *sending) shrinkToFit(m outgoing) (outgoing, error) {
	fits, err := s.measure(m)
	if err == nil || m.TraceParent == "" {
		return fits, err
	}
	m.Message = new(m.WithoutTrace())
	return s.measure(m)
}

// measure sets the body to send and its size. It returns an error if the target refuses the body.
func (s *sending) measure(m outgoing) (outgoing, error) {
	m.body = escapeRefused(m.Body)
	var refused string
	m.bytes, refused = s.weigh(m.Message, m.body)
	switch {
	case refused != "":
		return m, errs.Errorf("notify: the %s does not take an event with %s", redact.Safe(s.name), refused)
	case m.bytes > s.maxBytes:
		return m, errs.Errorf("notify: the %s takes %d bytes, and an event has %d", redact.Safe(s.name), s.maxBytes, m.bytes)
	}
	return m, nil
}

// escapeRefused escapes the two characters that the services refuse. The services accept all other characters of the
// body, because JSON already escapes the control characters.
func escapeRefused(body []byte) []byte {
	for _, c := range []string{"\ufffe", "\uffff"} {
		if bytes.Contains(body, []byte(c)) {
			body = bytes.ReplaceAll(body, []byte(c), fmt.Appendf(nil, `\u%04x`, []rune(c)[0]))
		}
	}
	return body
}

// deliver sends a batch. If the service permanently refuses the whole batch, deliver sends its messages one by one,
// since one message may be the cause. outage is a transient or fatal error of a whole call.
func (s *sending) deliver(ctx context.Context, batch []outgoing) (outage error) {
	messageErrors, callErr := s.send(ctx, batch)
	if callErr == nil {
		for i, m := range batch {
			s.fail(m, messageErrors[i])
		}
		return nil
	}
	if _, isTransient := pipeline.Retryable(callErr); isTransient || pipeline.IsFatal(callErr) {
		for _, m := range batch {
			s.fail(m, callErr)
		}
		return callErr
	}
	if len(batch) == 1 {
		s.fail(batch[0], callErr)
		return nil
	}
	for i, m := range batch {
		if outage != nil {
			s.fail(m, pipeline.Transient(errNotTried))
			continue
		}
		outage = s.deliver(ctx, batch[i:i+1])
	}
	return outage
}

// answers has the result of each entry of a call. An entry without an answer has failed.
type answers []error

func newAnswers(n int) answers { return slices.Repeat([]error{errNoAnswer}, n) }

// set sets the result of the entry with this id.
func (a answers) set(id *string, err error) {
	if i := queue.EntryIndex(id); i >= 0 && i < len(a) {
		a[i] = err
	}
}
