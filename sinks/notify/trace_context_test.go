package notify_test

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/notify"
)

// inSpan returns a context with a span context whose trace state is state.
func inSpan(t *testing.T, state string) context.Context {
	t.Helper()
	s, err := trace.ParseTraceState(state)
	if err != nil {
		t.Fatal(err)
	}
	return trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: s,
	}))
}

// sent returns the message that a Write publishes for a change.
func sent(ctx context.Context, t *testing.T) notify.Message {
	t.Helper()
	store := &messages{}
	s := newSink(t, store)
	c := change(t, "MODIFY", `a,\"data\":{`, "")
	d := pipeline.Delivery{Change: c, Events: []pipeline.Event{{Detector: `x,"data":`, New: item.StringValue(`,"data":1}`), Change: c}}}
	if err := s.Plan(&d); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(ctx, []pipeline.Delivery{d}); err != nil {
		t.Fatal(err)
	}
	return store.all[0]
}

// messages is a store that keeps its messages.
type messages struct{ all []notify.Message }

func (m *messages) Publish(_ context.Context, ms []notify.Message) error {
	m.all = append(m.all, ms...)
	return nil
}

// An event contains the trace context in which it was sent. Everything else in the event is the same as without a
// trace, such as its id and its data.
func TestWrite_TraceContext(t *testing.T) {
	const parent = "00-01000000000000000000000000000000-0200000000000000-01"
	bare := sent(t.Context(), t)
	whole := members(t, bare.Body)
	if _, ok := whole["traceparent"]; ok || bare.TraceParent != "" || bare.TraceState != "" {
		t.Errorf("an event outside of any span has a trace: %s", bare.Body)
	}
	if back := bare.WithoutTrace(); !reflect.DeepEqual(back, bare) {
		t.Errorf("without the trace that it has not it is %+v", back)
	}
	for _, state := range []string{"", "vendor=1"} {
		m := sent(inSpan(t, state), t)
		if m.TraceParent != parent || m.TraceState != state {
			t.Errorf("sent with %q and %q", m.TraceParent, m.TraceState)
		}
		got := members(t, m.Body)
		if string(got["traceparent"]) != `"`+parent+`"` {
			t.Errorf("the event has the traceparent %s", got["traceparent"])
		}
		if s, there := got["tracestate"]; there != (state != "") || there && string(s) != `"`+state+`"` {
			t.Errorf("of the state %q the event has %s", state, s)
		}
		delete(got, "traceparent")
		delete(got, "tracestate")
		if !reflect.DeepEqual(got, whole) || m.ID != bare.ID || m.Key != bare.Key || string(m.Data()) != string(bare.Data()) {
			t.Errorf("besides its trace it is\n%s, want\n%s", m.Body, bare.Body)
		}
		if back := m.WithoutTrace(); !reflect.DeepEqual(back, bare) {
			t.Errorf("without its trace it is\n%+v, want\n%+v", back, bare)
		}
		if small := m.WithDataRef("s3://b/k"); !json.Valid(small) || string(members(t, small)["traceparent"]) != `"`+parent+`"` {
			t.Errorf("without its data it is %s", small)
		}
	}
}
