package redrive_test

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/redrive"
)

// A sink that a redrive holds back keeps what could not be decoded too, where it was
// meant when the record came: until a redrive delivers it.
func TestRun_UndecodableOfASinkThatIsHeldBack(t *testing.T) {
	w := newWorld(t)
	w.run(t, record("a", 1, ""), record("a", 2, text))
	back := newWorld(t, func(o *pipeline.Options) { o.Routes[0].Suppress = "redrive" })
	back.box, back.marks = w.box, w.marks
	decodes := func(o *redrive.Options) { o.Decoder.DynamoDBLocal = true }
	report := back.redrive(t, decodes)
	if report.Left() == 0 || w.marks.list() != "free:a" {
		t.Errorf("held back: %+v, marks %s, letters %s", report, w.marks.list(), w.box.list())
	}
	w.redrive(t, decodes)
	if got := w.free.take(); got != "a1 a2" || w.marks.list() != "" || len(w.box.letters) > 0 {
		t.Errorf("the sink got %s; marks %s, letters %s", got, w.marks.list(), w.box.list())
	}
}
