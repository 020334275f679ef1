package aws

import (
	"iter"

	"github.com/tablewake/tablewake/sinks/notify"
)

// stringType is the type of text attributes. SQS and SNS count its bytes in the message size, like the bytes of an
// attribute's name and value.
const stringType = "String"

// traceAttributes yields the message attributes of the trace context. Receivers use them to continue a trace without
// parsing the body.
func traceAttributes(m *notify.Message) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		if m.TraceParent != "" && !yield(notify.TraceParent, m.TraceParent) {
			return
		}
		if m.TraceState != "" {
			yield(notify.TraceState, m.TraceState)
		}
	}
}
