package search

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// Owner is the sink that an index belongs to: the one that first wrote it.
type Owner struct{ Pipeline, Sink string }

// ForeignIndexError says that an index belongs to another sink than the one that would write it.
// No later try can do better, and it is the same on every store.
type ForeignIndexError struct {
	By    Owner  // the sink that may not write the index
	Index string // which
	Owner Owner  // the sink that the index belongs to; the zero Owner of an index that no sink made under this name
}

var _ redact.Redacted = (*ForeignIndexError)(nil)

// Error names the index and both sinks.
func (e *ForeignIndexError) Error() string { return e.text("the index " + e.Index) }

// Redacted leaves out the index, whose name may be made of values of the item.
func (e *ForeignIndexError) Redacted() string { return e.text("an index") }

// Describe is its class.
func (e *ForeignIndexError) Describe() (class, field string) { return "foreign_index", "" }

func (e *ForeignIndexError) text(index string) string {
	of := fmt.Sprintf("sink %q of pipeline %q: %s", e.By.Sink, e.By.Pipeline, index)
	if e.Owner == (Owner{}) {
		return of + " was not made for it: give the sink another index name, or delete the index"
	}
	return fmt.Sprintf("%s belongs to the sink %q of pipeline %q: give one of the two another index name", of, e.Owner.Sink, e.Owner.Pipeline)
}
