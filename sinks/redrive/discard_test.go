package redrive_test

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/redrive"
)

// Letters that are discarded do not let the key go while a record of it that cannot be decoded
// is still to come: a later change would overtake it.
func TestRun_DiscardKeepsTheMarkOfWhatDoesNotDecode(t *testing.T) {
	w := newWorld(t)
	w.free.fail = refuse(1)
	w.run(t, record("a", 1, text))
	w.run(t, record("a", 2, "")) // alone: else it may hold the key before the first one fails
	w.free.fail = nil
	w.redrive(t, func(o *redrive.Options) { o.Discard, o.Key, o.Classes = true, "a", []string{"write"} })
	if w.marks.list() != "free:a" {
		t.Errorf("marks %q, letters %s", w.marks.list(), w.box.list())
	}
	w.run(t, record("a", 3, text))
	w.redrive(t, func(o *redrive.Options) { o.Decoder.DynamoDBLocal = true })
	if got := w.free.take(); got != "a2 a3" {
		t.Errorf("the sink got %s", got)
	}
}
