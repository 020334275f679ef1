// Package notify publishes the events of a pipeline's detectors as CloudEvents 1.0 in JSON.
//
// Delivery is at least once. A repeated event has the same id. It also has the same bytes, except for its trace
// context: the attributes traceparent and tracestate of CloudEvents' tracing extension. Events of TTL deletes are not
// published.
//
// Sink.Plan builds the messages and Sink.Write publishes them through a [Store]: notify/aws or notify/jsonl.
package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// errs makes the errors of this package. Their redacted text holds no data.
const errs = redact.Class("notify")

// Options configure a notify sink.
type Options struct {
	Pipeline string   // required: name of the pipeline, part of every event's type
	Store    Store    // required: receives the events
	Events   []string // names of the detectors whose events are sent. Default: all detectors

	// Attributes are the paths of attributes that each event contains. Their values are those of the item's new image
	// or, without one, of its old image. A path without a value is left out. Default: none
	Attributes []item.Path

	// Bound are names that the keys of entities bind to values. Each event contains these values too. A name without a
	// value is left out. Default: none
	Bound []*entity.Binding

	// Region is the Region whose changes raise events. Each Region of a global table has a stream with all changes, so
	// without a choice each change would raise events in each Region.
	//
	// Origin makes the choice for each item: it is the path of an attribute that names the Region. An item without this
	// attribute raises events in each Region. A change that does not name its Region raises events. Default: every
	// Region
	Region string
	Origin item.Path

	// Mask hides attributes in the events' values, keys and subject. If it hides a key attribute, the event's id is
	// made of the masked key. Default: nothing is hidden
	Mask *mask.Mask
}

// Reasons for ignoring a change.
const (
	ReasonNoEvent   = "no_event"   // no event of this sink's detectors
	ReasonTTLDelete = "ttl_delete" // the item expired
	ReasonRegion    = "region"     // another Region raises the event
)

// Store publishes messages.
//
// Publish blocks until every message is durable or has failed. A *pipeline.BatchError names the failed messages by
// their index in ms. Any other error means that all messages failed. The caller retries only errors that are marked by
// pipeline.Transient or RetryAfter.
//
// Messages of one Key stay in order: after a failed message, the later messages of its Key fail with a transient error.
// The store may use ms until Publish returns. Publish is called concurrently, but two calls at a time never have
// messages of the same Key.
type Store interface {
	Publish(ctx context.Context, ms []Message) error
}

// Message is one event to publish.
type Message struct {
	ID     string    // equal for all deliveries of the event
	Type   string    // tablewake.<pipeline>.<detector>
	Source string    // ARN of the stream, or the table if the record has no stream
	Time   time.Time // creation time of the change; zero if unknown
	Key    item.Key
	Body   []byte // the CloudEvent, one JSON object on one line

	// TraceParent and TraceState are the trace context of the message. Body contains them, too. They are "" without a
	// trace context. A store whose messages have attributes also sends them as attributes.
	TraceParent, TraceState string
}

// String returns the text that `explain` prints: send tablewake.shop.order_completed of ORDER%231,META (id ...).
func (m *Message) String() string {
	return fmt.Sprintf("send %s of %s (id %s)", m.Type, m.Key, m.ID)
}

// Sink plans and publishes events. It is safe for concurrent use.
type Sink struct{ o Options }

var (
	_ pipeline.Sink       = (*Sink)(nil)
	_ pipeline.Planner    = (*Sink)(nil)
	_ pipeline.KeyOrderer = (*Sink)(nil)
)

// New checks the options and returns a sink. Its error names the wrong option.
func New(o Options) (*Sink, error) {
	switch {
	case o.Pipeline == "":
		return nil, errors.New("notify: Pipeline is empty: give the pipeline's name")
	case o.Store == nil:
		return nil, errors.New("notify: Store is nil: give the store that takes the events")
	case slices.Contains(o.Events, ""):
		return nil, errors.New("notify: Events holds an empty name: give the names of detectors")
	}
	o.Events = slices.Clone(o.Events)
	o.Attributes = distinctPaths(o.Attributes)
	return &Sink{o}, nil
}

// distinctPaths returns the paths without repetitions.
func distinctPaths(paths []item.Path) (distinct []item.Path) {
	for _, path := range paths {
		if !slices.ContainsFunc(distinct, func(p item.Path) bool { return p.String() == path.String() }) {
			distinct = append(distinct, path)
		}
	}
	return distinct
}

// KeepsKeyOrder returns true: after a failed message, the later messages of its key fail too.
func (s *Sink) KeepsKeyOrder() bool { return true }

// Plan adds one message for each event of the sink's detectors.
func (s *Sink) Plan(d *pipeline.Delivery) error {
	if d.Change.TTLDelete() {
		d.Outcome, d.Reason = pipeline.NoEffect, ReasonTTLDelete
		return nil
	}
	if !s.raisesHere(d.Change) {
		d.Outcome, d.Reason = pipeline.NoEffect, ReasonRegion
		return nil
	}
	masked := s.o.Mask.Delivery(d)
	c := masked.Change
	for i := range masked.Events {
		event := &masked.Events[i]
		isSent := len(s.o.Events) == 0 || slices.Contains(s.o.Events, event.Detector)
		if !isSent {
			continue
		}
		m := &Message{ID: event.ID(), Type: "tablewake." + s.o.Pipeline + "." + event.Detector, Source: source(c),
			Time: c.Time, Key: c.Key}
		m.Body = appendCloudEvent(nil, m, event, c, s)
		d.Ops = append(d.Ops, m)
	}
	if len(d.Ops) == 0 {
		d.Outcome, d.Reason = pipeline.NoEffect, ReasonNoEvent
	}
	return nil
}

// raisesHere reports whether the Region of a change raises its events.
func (s *Sink) raisesHere(c *record.Change) bool {
	region := s.o.Region
	if !s.o.Origin.IsZero() {
		v, _ := latestImage(c).At(s.o.Origin)
		region, _ = v.Text()
	}
	return region == "" || c.Region == "" || region == c.Region
}

// latestImage returns the new image of a change, or the old image if the change has no new one.
func latestImage(c *record.Change) item.Image {
	if c.New.Exists() {
		return c.New
	}
	return c.Old
}

// Write publishes the planned messages. A change fails if one of its messages fails. The next Write then publishes all
// messages of the change again.
func (s *Sink) Write(ctx context.Context, ds []pipeline.Delivery) error {
	var ms []Message
	var deliveries []int // index of the delivery of each message
	parent, state := traceOf(ctx)
	for i := range ds {
		for _, op := range ds[i].Ops {
			if m, ok := op.(*Message); ok {
				ms, deliveries = append(ms, m.withTrace(parent, state)), append(deliveries, i)
			}
		}
	}
	messageErrors, err := pipeline.FailuresOf(s.o.Store.Publish(ctx, ms), len(ms))
	if len(messageErrors) == 0 {
		return err
	}
	return changeFailures(ms, deliveries, messageErrors)
}

// changeFailures returns the failures of the changes whose messages failed. deliveries has the index of the delivery of
// each message. If a message fails, the later messages of its item fail too, so that they are published after it.
func changeFailures(ms []Message, deliveries []int, messageErrors map[int]error) error {
	var failed pipeline.BatchError
	firstErrors := make(map[item.Key]error)
	for i, m := range ms {
		err, earlierErr := messageErrors[i], firstErrors[m.Key]
		switch {
		case err != nil && earlierErr == nil:
			firstErrors[m.Key] = err
		case err == nil && earlierErr != nil:
			err = pipeline.Transient(fmt.Errorf("notify: an earlier event of its item failed: %w", earlierErr))
		}
		if failed.Failed[deliveries[i]] == nil { // a change fails with its first error
			failed.Add(deliveries[i], err)
		}
	}
	return failed.OrNil()
}
