package notify

import (
	"bytes"
	"context"
	"slices"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The attribute names of CloudEvents' extension for distributed tracing. They equal the names of the W3C's headers.
const (
	TraceParent = "traceparent"
	TraceState  = "tracestate"
)

// traceOf returns the trace context of ctx as text; both are empty if ctx has no span.
func traceOf(ctx context.Context) (parent, state string) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return "", ""
	}
	c := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, c)
	return c[TraceParent], c[TraceState]
}

// withTrace returns the message with a trace context. The message keeps its id, so receivers still recognize a repeated
// event.
func (m *Message) withTrace(parent, state string) Message {
	sent := *m
	if parent == "" {
		return sent
	}
	sent.TraceParent, sent.TraceState = parent, state
	head, tail := bytes.TrimSuffix(m.Body, []byte("}")), []byte("}")
	if start := bytes.Index(m.Body, []byte(dataMember)); start >= 0 { // the trace context is before the data
		head, tail = m.Body[:start], m.Body[start:]
	}
	body := make([]byte, 0, len(m.Body)+len(parent)+len(state)+len(TraceParent)+len(TraceState)+12)
	body = appendMember(append(body, head...), TraceParent, parent)
	if state != "" {
		body = appendMember(body, TraceState, state)
	}
	body = append(body, tail...)
	sent.Body = body
	return sent
}

// WithoutTrace returns the message without its trace context, for a store that cannot take the trace context. The other
// bytes of Body do not change.
func (m *Message) WithoutTrace() Message {
	bare := *m
	if m.TraceParent == "" {
		return bare
	}
	bare.TraceParent, bare.TraceState = "", ""
	trace := appendMember(nil, TraceParent, m.TraceParent)
	if m.TraceState != "" {
		trace = appendMember(trace, TraceState, m.TraceState)
	}
	if head, tail, ok := bytes.Cut(m.Body, trace); ok { // the first occurrence is before the data, and not in a string
		bare.Body = slices.Concat(head, tail)
	}
	return bare
}
