package aws

import (
	"iter"

	"github.com/tablewake/tablewake/sinks/notify"
)

// stringType is the type of a message's attributes that are text; its bytes count as those of
// the name and the value do.
const stringType = "String"

// traceAttributes are the attributes of a message by which its trace goes on without a look
// into its body.
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
