// Package notify tells others what the detectors of a pipeline saw, as
// CloudEvents 1.0 in JSON.
//
// Delivery is at least once: an event that comes again has the id that it had,
// and the same bytes, but for the trace that it is sent in, where there is one: the
// attributes traceparent and tracestate of CloudEvents' tracing extension. What a TTL
// delete raised is not sent.
package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
)

// Options describe one notify sink.
type Options struct {
	Pipeline string   // required: name of the pipeline, part of every event's type
	Store    Store    // required: where the events go
	Events   []string // names of the detectors whose events are sent. Default: all

	// Mask hides attributes: the event's values, the keys and the subject are of the
	// masked change, and so is the id where a key attribute is hidden. Default: nothing
	// is hidden
	Mask *mask.Mask
}

// The reasons of changes of which nothing is sent.
const (
	ReasonNoEvent   = "no_event"   // no detector that this sink listens to saw anything
	ReasonTTLDelete = "ttl_delete" // the item expired
)

// Store takes messages on.
//
// Publish blocks until every message is durable or has failed. A
// *pipeline.BatchError names those that failed, by their index in ms; any other
// error fails them all. What is not marked by pipeline.Transient or RetryAfter is
// not tried again. Messages of one Key stay in order: behind one that failed the
// later ones fail with a transient error. ms is the store's until Publish returns.
// Publish is called concurrently, never with one Key in two calls at a time.
type Store interface {
	Publish(ctx context.Context, ms []Message) error
}

// Message is one event on its way.
type Message struct {
	ID     string    // the same for every delivery of the event
	Type   string    // tablewake.<pipeline>.<detector>
	Source string    // the stream's ARN, or the table where the record has none
	Time   time.Time // of the change; zero where the record has none
	Key    item.Key  // of the item
	Body   []byte    // the CloudEvent, one JSON object on one line

	// TraceParent and TraceState are the trace context that it is sent in, as Body has them;
	// empty where there is none. A store whose messages have attributes sends them there too.
	TraceParent, TraceState string
}

// String is a line of `explain`: send tablewake.shop.order_completed of ORDER%231,META (id ...).
func (m *Message) String() string {
	return fmt.Sprintf("send %s of %s (id %s)", m.Type, m.Key, m.ID)
}

// Sink plans and publishes events. It is safe for concurrent use.
type Sink struct {
	pipeline string
	store    Store
	events   []string
	mask     *mask.Mask
}

var (
	_ pipeline.Sink       = (*Sink)(nil)
	_ pipeline.Planner    = (*Sink)(nil)
	_ pipeline.KeyOrderer = (*Sink)(nil)
)

// New checks the options and makes a sink. The error names the option.
func New(o Options) (*Sink, error) {
	switch {
	case o.Pipeline == "":
		return nil, errors.New("notify: Pipeline is empty: give the pipeline's name")
	case o.Store == nil:
		return nil, errors.New("notify: Store is nil: give the store that takes the events")
	case slices.Contains(o.Events, ""):
		return nil, errors.New("notify: Events holds an empty name: give the names of detectors")
	}
	return &Sink{pipeline: o.Pipeline, store: o.Store, events: slices.Clone(o.Events), mask: o.Mask}, nil
}

// KeepsKeyOrder is true: where a message fails, the later ones of its key fail with it.
func (s *Sink) KeepsKeyOrder() bool { return true }

// Plan makes one message of each event that the sink listens to.
func (s *Sink) Plan(d *pipeline.Delivery) error {
	if d.Change.TTLDelete() {
		d.Outcome, d.Reason = pipeline.NoEffect, ReasonTTLDelete
		return nil
	}
	masked := s.mask.Delivery(d)
	c := masked.Change
	for i := range masked.Events {
		e := &masked.Events[i]
		if len(s.events) > 0 && !slices.Contains(s.events, e.Detector) {
			continue
		}
		m := &Message{ID: e.ID(), Type: "tablewake." + s.pipeline + "." + e.Detector, Source: source(c), Time: c.Time, Key: c.Key}
		m.Body = appendCloudEvent(nil, m, e, c)
		d.Ops = append(d.Ops, m)
	}
	if len(d.Ops) == 0 {
		d.Outcome, d.Reason = pipeline.NoEffect, ReasonNoEvent
	}
	return nil
}

// Write publishes the planned messages. A change fails where one of its messages
// does, and comes again with all of them.
func (s *Sink) Write(ctx context.Context, ds []pipeline.Delivery) error {
	var ms []Message
	var of []int // the delivery that each message belongs to
	parent, state := traceOf(ctx)
	for i := range ds {
		for _, op := range ds[i].Ops {
			if m, ok := op.(*Message); ok {
				ms, of = append(ms, m.traced(parent, state)), append(of, i)
			}
		}
	}
	err := s.store.Publish(ctx, ms)
	partial, ok := errors.AsType[*pipeline.BatchError](err)
	if !ok {
		return err
	}
	var failed pipeline.BatchError
	behind := make(map[item.Key]error)
	for i, m := range ms {
		err := partial.Failed[i]
		switch first := behind[m.Key]; {
		case err != nil && first == nil:
			behind[m.Key] = err
		case err == nil && first != nil:
			err = pipeline.Transient(fmt.Errorf("notify: an earlier event of its item failed: %w", first))
		}
		if failed.Failed[of[i]] == nil { // the first of a change's messages says why
			failed.Add(of[i], err)
		}
	}
	return failed.OrNil()
}
