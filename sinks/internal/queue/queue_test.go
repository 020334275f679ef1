package queue_test

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/internal/queue"
)

// An entry is found again by its name alone.
func TestEntryIndex(t *testing.T) {
	for i := range queue.MaxEntries {
		if got := queue.EntryIndex(new(queue.EntryID(i))); got != i {
			t.Errorf("entry %d is taken for %d", i, got)
		}
	}
	for _, name := range []string{"", "e", "f1", "e10"} {
		if got := queue.EntryIndex(&name); got != -1 {
			t.Errorf("%q is taken for entry %d", name, got)
		}
	}
	if got := queue.EntryIndex(nil); got != -1 {
		t.Errorf("no name is taken for entry %d", got)
	}
}
