package redrive_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/redrive"
)

// If a sink has a newer version of the item, Run removes the dead letter, even if the sink refuses its change
// permanently.
func TestRun_Superseded(t *testing.T) {
	w := newWorld(t)
	w.safe.fail = func(*record.Change) error { return errBad }
	w.run(t, recordJSON("a", 1, text), recordJSON("b", 2, text), recordJSON("c", 3, text))
	w.safe.overtaken = func(c *record.Change) bool { return c.Key != "c" }
	w.safe.fail = func(c *record.Change) error {
		switch c.Key {
		case "a":
			return errBad
		case "b":
			return pipeline.Transient(errBad)
		}
		return nil
	}
	report := w.redrive(t)
	if s := report.Sinks["safe"]; s.Superseded != 1 || s.Delivered != 1 || s.Failed != 1 || w.box.list() != "safe:b2:write" {
		t.Errorf("report %+v; left %s", report, w.box.list())
	}
	w.safe.fail = nil
	if report = w.redrive(t); report.Sinks["safe"].Superseded != 1 || report.Left() != 0 || len(w.box.letters) > 0 {
		t.Errorf("report %+v; left %s", report, w.box.list())
	}
}

// A superseded dead letter stays as long as an earlier dead letter of its item stays. After the settings are repaired,
// the earlier change may write output that the later change has to remove.
func TestRun_SupersededBehindALetterThatStays(t *testing.T) {
	for name, why := range map[string]error{"for good": errBad, "for now": pipeline.Transient(errBad)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.safe.fail = func(*record.Change) error { return errBad }
			w.run(t, recordJSON("a", 1, text), recordJSON("a", 2, text), recordJSON("b", 3, text))
			w.safe.overtaken = func(c *record.Change) bool { return nth(c) > 1 }
			w.safe.fail = func(c *record.Change) error {
				if nth(c) == 1 {
					return why
				}
				return nil
			}
			report := w.redrive(t)
			if s := report.Sinks["safe"]; s.Superseded != 1 || w.box.list() != "safe:a1:write safe:a2:write" {
				t.Errorf("report %+v; left %s", s, w.box.list())
			}
			report = w.redrive(t, func(o *redrive.Options) { o.Classes = []string{"nothing"} })
			if w.box.list() != "safe:a1:write safe:a2:write" {
				t.Errorf("report %+v; left %s", report, w.box.list())
			}
			w.safe.fail = nil
			report = w.redrive(t)
			if s := report.Sinks["safe"]; s.Superseded != 1 || s.Delivered != 1 || report.Left() != 0 || w.box.list() != "" {
				t.Errorf("report %+v; left %s", s, w.box.list())
			}
		})
	}
}

// renamed returns a world with the dead letters and marks of w, and with a pipeline whose sinks have other names.
func renamed(t *testing.T, w *world) *world {
	t.Helper()
	next := newWorld(t, func(o *pipeline.Options) {
		o.Routes[0].Name, o.Routes[1].Name, o.DeadLetters, o.Quarantine = "other", "guarded", w.box, w.marks
	})
	next.box, next.marks = w.box, w.marks
	return next
}

func TestRun_MovesLettersOfASinkThatIsGone(t *testing.T) {
	for _, to := range []string{"other", "guarded"} {
		t.Run(to, func(t *testing.T) {
			old := newWorld(t)
			old.free.fail = refuse(1)
			old.run(t, recordJSON("a", 1, text), recordJSON("b", 2, text), recordJSON("a", 3, text))
			w := renamed(t, old)
			if s := w.redrive(t).Sinks["free"]; s.Failed != 2 || len(w.box.letters) != 2 {
				t.Fatalf("of a sink that is gone: %+v", s)
			}
			move := func(o *redrive.Options) { o.Sink, o.To = "free", to }
			report := w.redrive(t, move, func(o *redrive.Options) { o.DryRun = true })
			if report.Sinks["free"].Letters != 2 || w.box.list() != "free:a1:write free:a3:quarantined" {
				t.Fatalf("a dry run says %+v, and leaves %s", report, w.box.list())
			}
			report = w.redrive(t, move)
			got := w.free
			if to == "guarded" {
				got = w.safe
			}
			if got := got.take(); got != "a1 a3" || report.Moved != 2 || report.Sinks[to].Delivered != 2 || len(w.box.letters) > 0 || w.marks.list() != "" {
				t.Errorf("the sink got %s; report %+v; left %s, marks %s", got, report, w.box.list(), w.marks.list())
			}
		})
	}
}

// If a moved change fails again, it becomes a dead letter of the new sink and holds back later changes of its key.
func TestRun_MovedLettersThatFail(t *testing.T) {
	old := newWorld(t)
	old.free.fail = refuse(1)
	old.run(t, recordJSON("a", 1, text), recordJSON("a", 2, text), recordJSON("b", 3, text))
	w := renamed(t, old)
	w.free.fail = refuse(1)
	report := w.redrive(t, func(o *redrive.Options) { o.Sink, o.To = "free", "other" })
	if got := w.box.list(); sorted(got) != sorted("other:a1:write other:a2:quarantined") || w.marks.list() != "other:a" || report.Left() != 2 {
		t.Errorf("left %s, marks %s; report %+v", got, w.marks.list(), report)
	}
	w.run(t, recordJSON("a", 4, text))
	w.free.fail = nil
	w.redrive(t)
	if got := w.free.take(); got != "a1 a2 a4" || w.marks.list() != "" {
		t.Errorf("the sink got %s; marks %s", got, w.marks.list())
	}
}

// If only one class is moved, dead letters of other classes stay, and so do the marks of their keys.
func TestRun_MovesAClass(t *testing.T) {
	old := newWorld(t)
	old.free.fail = refuse(1)
	old.run(t, recordJSON("a", 1, text), recordJSON("a", 2, text))
	w := renamed(t, old)
	w.redrive(t, func(o *redrive.Options) { o.Sink, o.To, o.Classes = "free", "guarded", []string{"write"} })
	if w.box.list() != "free:a2:quarantined" || w.marks.list() != "free:a" {
		t.Errorf("left %s, marks %s", w.box.list(), w.marks.list())
	}
	w.redrive(t, func(o *redrive.Options) { o.Sink, o.Discard = "free", true })
	if w.box.list() != "" || w.marks.list() != "" {
		t.Errorf("after the discard: left %s, marks %s", w.box.list(), w.marks.list())
	}
}

// If only one key is moved, dead letters of other keys stay, and so do their marks.
func TestRun_MovesAKey(t *testing.T) {
	old := newWorld(t)
	old.free.fail = func(*record.Change) error { return errBad }
	old.run(t, recordJSON("a", 1, text), recordJSON("b", 2, text), recordJSON("b", 3, text))
	w := renamed(t, old)
	w.redrive(t, func(o *redrive.Options) { o.Sink, o.To, o.Key = "free", "guarded", "a" })
	if sorted(w.box.list()) != sorted("free:b2:write free:b3:quarantined") || w.marks.list() != "free:b" {
		t.Errorf("left %s, marks %s", w.box.list(), w.marks.list())
	}
}

// dying is a box whose first Remove fails, as if the process crashed.
type dying struct {
	*box
	died bool
}

func (b *dying) Remove(ctx context.Context, ids []string) error {
	if !b.died {
		b.died = true
		return errors.New("the process dies")
	}
	return b.box.Remove(ctx, ids)
}

func TestRun_MoveIsStartedAgain(t *testing.T) {
	old := newWorld(t)
	old.free.fail = refuse(1)
	old.run(t, recordJSON("a", 1, text), recordJSON("a", 2, text))
	w := renamed(t, old)
	o := redrive.Options{Pipeline: w, Letters: &dying{box: w.box}, Quarantine: w.marks, Name: "shop", Sink: "free", To: "other"}
	if _, err := redrive.Run(t.Context(), o); err == nil || len(w.box.letters) != 4 {
		t.Fatalf("error %v; letters %s", err, w.box.list())
	}
	if _, err := redrive.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if got := w.free.take(); got != "a1 a2" || len(w.box.letters) > 0 || w.marks.list() != "" {
		t.Errorf("the sink got %s; left %s, marks %s", got, w.box.list(), w.marks.list())
	}
}

func TestRun_RefusesToMove(t *testing.T) {
	w := newWorld(t)
	for _, o := range []redrive.Options{
		{To: "free"}, {Sink: "safe", To: "free"}, {Sink: "gone", To: "no"}, {Sink: "gone", To: "free", Discard: true}, {Sink: "gone"},
	} {
		o.Pipeline, o.Letters = w, w.box
		if _, err := redrive.Run(t.Context(), o); err == nil {
			t.Errorf("from %q to %q is not refused", o.Sink, o.To)
		}
	}
}

// If only one class is moved to a sink without versions, dead letters behind one of another class stay, because the
// order of the key must be kept. A sink with versions gets them.
func TestRun_MovesNoLetterBehindOneThatStays(t *testing.T) {
	for to, want := range map[string]string{"other": "b3", "guarded": "a2 b3"} {
		old := newWorld(t)
		old.free.fail = refuse(1)
		old.run(t, recordJSON("a", 1, text), recordJSON("a", 2, text))
		old.free.fail = refuse(3)
		old.run(t, recordJSON("b", 3, text))
		for i := range old.box.letters {
			if old.box.letters[i].Key == "b" {
				old.box.letters[i].Class = "quarantined"
			}
		}
		w := renamed(t, old)
		move := func(o *redrive.Options) { o.Sink, o.To, o.Classes = "free", to, []string{"quarantined"} }
		w.redrive(t, move)
		got := w.free
		if to == "guarded" {
			got = w.safe
		}
		if got := byKey(got.take()); got != want {
			t.Errorf("%s got %s, want %s; left %s", to, got, want, w.box.list())
		}
		if to == "guarded" {
			continue
		}
		w.redrive(t, move, func(o *redrive.Options) { o.Classes = nil })
		if got := got.take(); got != "a1 a2" || w.box.list() != "" || w.marks.list() != "" {
			t.Errorf("then it got %s; left %s, marks %s", got, w.box.list(), w.marks.list())
		}
	}
}
