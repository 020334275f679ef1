package redrive_test

import (
	"context"
	"iter"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/redrive"
)

// lateBox is a box whose first reads return all dead letters except one, as if this one was put during the reads.
type lateBox struct {
	*box
	late  string // the dead letter that is missing, in the form of box.list
	reads int    // number of next reads without the dead letter
}

func (b *lateBox) Read(ctx context.Context) iter.Seq2[pipeline.DeadLetter, error] {
	all := b.box.Read(ctx)
	if b.reads == 0 {
		return all
	}
	b.reads--
	return func(yield func(pipeline.DeadLetter, error) bool) {
		for l, err := range all {
			if one := (&box{letters: []pipeline.DeadLetter{l}}).list(); one != b.late && !yield(l, err) {
				return
			}
		}
	}
}

// If a dead letter of an item is put while Run reads, later dead letters of the item are not delivered before it. Run
// reads the dead letters once to decode them and once to sort them, and here both reads miss the second one.
func TestRun_ALetterThatIsPutWhileTheyAreReadIsNotOvertaken(t *testing.T) {
	w := newWorld(t)
	w.free.fail = refuse(1)
	w.run(t, recordJSON("a", 1, text), recordJSON("a", 2, text), recordJSON("a", 3, text), recordJSON("b", 4, text))
	w.free.take()
	w.free.fail = nil
	late := &lateBox{box: w.box, late: "free:a2:quarantined", reads: 2}
	report := w.redrive(t, func(o *redrive.Options) { o.Letters = late })
	if got := w.free.take(); got != "a1 a2 a3" {
		t.Errorf("the sink got %s", got)
	}
	if late.reads != 0 || w.box.list() != "" || w.marks.list() != "" || report.Left() != 0 {
		t.Errorf("left: %d reads, letters %q, marks %q, %+v", late.reads, w.box.list(), w.marks.list(), report)
	}
}
