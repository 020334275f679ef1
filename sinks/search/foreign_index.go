package search

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// Owner is the sink that an index belongs to: the first sink that wrote to it.
type Owner struct{ Pipeline, Sink string }

// ForeignIndexError reports that an index belongs to another sink. The error is permanent. Every store returns it.
type ForeignIndexError struct {
	Writer Owner  // the sink that tried to write
	Index  string // name of the index
	Owner  Owner  // the sink that the index belongs to; the zero Owner if no sink made an index of this name
}

var _ redact.Redacted = (*ForeignIndexError)(nil)

// Error returns a text with the index and both sinks.
func (e *ForeignIndexError) Error() string { return e.message("the index " + e.Index) }

// Redacted omits the name of the index, which may contain values of the item.
func (e *ForeignIndexError) Redacted() string { return e.message("an index") }

// Describe returns the class of the error.
func (e *ForeignIndexError) Describe() (class, field string) { return "foreign_index", "" }

func (e *ForeignIndexError) message(index string) string {
	prefix := fmt.Sprintf("sink %q of pipeline %q: %s", e.Writer.Sink, e.Writer.Pipeline, index)
	if e.Owner == (Owner{}) {
		return prefix + " was not made for it: give the sink another index name, or delete the index"
	}
	return fmt.Sprintf("%s belongs to the sink %q of pipeline %q: give one of the two another index name", prefix,
		e.Owner.Sink, e.Owner.Pipeline)
}
