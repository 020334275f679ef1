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

// target is one queue, topic or bus.
type target interface {
	// weigh tells what a body counts against the bytes of a call, and what is in it
	// that the target refuses; "" where nothing is.
	weigh(m *notify.Message, body []byte) (bytes int, refuses string)

	// send is one call of up to entries messages, no two of one key. errs has an
	// error for each that failed, nil for one that did not; whole fails all of them.
	send(ctx context.Context, ms []outgoing) (errs []error, whole error)
}

// outgoing is a message as it is sent.
type outgoing struct {
	*notify.Message
	at    int // in the slice that is published
	body  []byte
	bytes int // that it counts against those of a call
}

// publisher sends messages in batches, those of a key one after the other. It has
// no state of its own: it is safe for concurrent use.
type publisher struct {
	target
	name     string // "queue orders"
	maxBytes int    // of the bodies of a call
	overflow Overflow
}

// op names a call in an error.
func (p *publisher) op(call string) string { return "notify: " + call + " to the " + p.name }

var (
	errBehind   = pipeline.Transient(errs.New("notify: not sent behind an earlier event of its item that failed"))
	errNotTried = errs.New("notify: not sent, since the call before it failed as a whole")
	errNoAnswer = pipeline.Transient(errs.New("notify: the service did not say what became of the event"))
)

// Publish sends ms; see [notify.Store]. A call that fails for now ends it: what was
// not sent yet fails for now as well, so that the pipeline waits.
func (p *publisher) Publish(ctx context.Context, ms []notify.Message) error {
	s := sending{publisher: p, held: map[item.Key]bool{}}
	rest := make([]outgoing, len(ms))
	for i := range ms {
		rest[i] = outgoing{Message: &ms[i], at: i}
	}
	for len(rest) > 0 {
		var batch []outgoing
		batch, rest = s.take(ctx, rest)
		if len(batch) == 0 {
			continue
		}
		if down := s.deliver(ctx, batch); down != nil {
			after, _ := pipeline.Retryable(down)
			for _, m := range rest {
				s.fail(m, pipeline.RetryAfter(errNotTried, after))
			}
			break
		}
	}
	return s.failed.OrNil()
}

// sending is one Publish.
type sending struct {
	*publisher
	failed pipeline.BatchError
	held   map[item.Key]bool // one of its messages failed
}

func (s *sending) fail(m outgoing, err error) {
	if err != nil {
		s.failed.Add(m.at, err)
		s.held[m.Key] = true
	}
}

// take takes the messages of the next call, and leaves those that are to come
// after it in their order.
func (s *sending) take(ctx context.Context, rest []outgoing) (batch, later []outgoing) {
	size := 0
	passed := map[item.Key]bool{} // in the batch, or one of theirs comes later
	for _, m := range rest {
		if s.held[m.Key] {
			s.fail(m, errBehind)
			continue
		}
		if len(batch) == queue.Entries || passed[m.Key] {
			passed[m.Key] = true
			later = append(later, m)
			continue
		}
		if m.body == nil {
			var err error
			if m, err = s.prepare(ctx, m); err != nil {
				s.fail(m, err)
				continue
			}
		}
		passed[m.Key] = true
		if len(batch) > 0 && size+m.bytes > s.maxBytes {
			later = append(later, m)
			continue
		}
		batch, size = append(batch, m), size+m.bytes
	}
	return batch, later
}

// prepare makes the body of a message: its data goes elsewhere where the target does
// not take it.
func (s *sending) prepare(ctx context.Context, m outgoing) (outgoing, error) {
	whole, err := s.fit(m, func(m *notify.Message) []byte { return m.Body })
	if err == nil {
		return whole, nil
	}
	data := m.Data()
	switch {
	case data == nil:
		return m, pipeline.Permanent(err)
	case s.overflow == nil:
		return m, pipeline.Permanent(fmt.Errorf("%w; name an archive with a bucket, where the data of such events is kept", err))
	}
	uri, failed := s.overflow.Put(ctx, "events/"+m.ID+".json", data)
	if failed != nil {
		return m, fmt.Errorf("%w; keeping its data: %w", err, failed)
	}
	small, err := s.fit(m, func(m *notify.Message) []byte { return m.Refer(uri) })
	if err != nil {
		return m, pipeline.Permanent(fmt.Errorf("%w, and that is without its data", err))
	}
	return small, nil
}

// fit is the message with the body that the target takes. Its trace is the first thing
// that it goes without: whether an event is delivered must not depend on who watches.
func (s *sending) fit(m outgoing, body func(*notify.Message) []byte) (outgoing, error) {
	fits, err := s.measure(m, body(m.Message))
	if err == nil || m.TraceParent == "" {
		return fits, err
	}
	m.Message = new(m.Untraced())
	return s.measure(m, body(m.Message))
}

// measure gives a message its body; the error says why the target does not take it.
func (s *sending) measure(m outgoing, body []byte) (outgoing, error) {
	m.body = sendable(body)
	n, refuses := s.weigh(m.Message, m.body)
	m.bytes = n
	switch {
	case refuses != "":
		return m, errs.Errorf("notify: the %s does not take an event with %s", redact.Safe(s.name), refuses)
	case n > s.maxBytes:
		return m, errs.Errorf("notify: the %s takes %d bytes, and an event has %d", redact.Safe(s.name), s.maxBytes, n)
	}
	return m, nil
}

// sendable is JSON as a message may hold it: the services take every character
// that XML has, which are all but two and the control characters that JSON escapes.
func sendable(body []byte) []byte {
	for _, c := range []string{"\ufffe", "\uffff"} {
		if bytes.Contains(body, []byte(c)) {
			body = bytes.ReplaceAll(body, []byte(c), fmt.Appendf(nil, `\u%04x`, []rune(c)[0]))
		}
	}
	return body
}

// deliver sends a batch. An error that refuses it as a whole is not believed of each:
// they are sent one by one. It answers the error that failed all of them for now, or
// that stops the pipeline.
func (s *sending) deliver(ctx context.Context, batch []outgoing) (down error) {
	errs, whole := s.send(ctx, batch)
	if whole == nil {
		for i, m := range batch {
			s.fail(m, errs[i])
		}
		return nil
	}
	if _, retry := pipeline.Retryable(whole); !retry && !pipeline.IsFatal(whole) {
		if len(batch) == 1 {
			s.fail(batch[0], whole)
			return nil
		}
		for i := range batch {
			if down != nil {
				s.fail(batch[i], pipeline.Transient(errNotTried))
				continue
			}
			down = s.deliver(ctx, batch[i:i+1])
		}
		return down
	}
	for _, m := range batch {
		s.fail(m, whole)
	}
	return whole
}

// answers turns the failures of entries, which are named by their place, into one
// error each; an entry that is not among those that succeeded failed too.
type answers struct{ errs []error }

func newAnswers(n int) answers { return answers{slices.Repeat([]error{errNoAnswer}, n)} }

// set says what became of the entry of that id.
func (a answers) set(id *string, err error) {
	if i := queue.EntryOf(id); i >= 0 && i < len(a.errs) {
		a.errs[i] = err
	}
}
