package redrive_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/redrive"
)

// If an undecodable record can be decoded now, Run delivers it once and removes its dead letter. This is so even if the
// record contained white space, which stored dead letters do not have.
func TestRun_UndecodableLaidOut(t *testing.T) {
	folder, err := dir.New(dir.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	w := newWorld(t)
	raw := bytes.ReplaceAll(recordJSON("a", 1, `"S":"x"`), []byte(`:`), []byte(": "))
	raw = bytes.ReplaceAll(raw, []byte(`arn: aws: dynamodb: eu-central-1: 123456789012: table/shop/stream/2026-01-02T03: 04: 05.678`), []byte(arn))
	l := pipeline.DeadLetter{Pipeline: "shop", Key: "a", Class: "undecodable", Error: "it was", Raw: raw}
	if err := folder.Put(t.Context(), []pipeline.DeadLetter{l}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		report := w.redrive(t, func(o *redrive.Options) {
			o.Letters = folder
			o.Progress = func(r redrive.Report) {
				if r.Delivered() > 10 {
					panic(errors.New("it is delivered over and over"))
				}
			}
		})
		if report.Left() != 0 {
			t.Errorf("left: %+v", report)
		}
	}
	if got := w.free.take() + " " + w.safe.take(); got != "a1 a1" {
		t.Errorf("the sinks got %q, and are to have it once each", got)
	}
	for l := range folder.Read(t.Context()) {
		t.Errorf("the letter %s stays", deadletter.ID(&l))
	}
}

// If a sink is suppressed now, an undecodable record that was for this sink becomes a dead letter of the sink. The dead
// letter stays until a redrive without the suppression delivers it.
func TestRun_UndecodableOfASinkThatIsHeldBack(t *testing.T) {
	w := newWorld(t)
	w.run(t, recordJSON("a", 1, ""), recordJSON("a", 2, text))
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

// Discarding letters does not release a key that has an undecodable record: a later change
// would overtake that record.
func TestRun_DiscardKeepsTheMarkOfWhatDoesNotDecode(t *testing.T) {
	w := newWorld(t)
	w.free.fail = refuse(1)
	w.run(t, recordJSON("a", 1, text))
	w.run(t, recordJSON("a", 2, "")) // in a run of its own: otherwise it can hold the key before change 1 fails
	w.free.fail = nil
	w.redrive(t, func(o *redrive.Options) { o.Discard, o.Key, o.Classes = true, "a", []string{"write"} })
	if w.marks.list() != "free:a" {
		t.Errorf("marks %q, letters %s", w.marks.list(), w.box.list())
	}
	w.run(t, recordJSON("a", 3, text))
	w.redrive(t, func(o *redrive.Options) { o.Decoder.DynamoDBLocal = true })
	if got := w.free.take(); got != "a2 a3" {
		t.Errorf("the sink got %s", got)
	}
}

// A letter may wait for an undecodable record of its key that is not selected. The report names this record.
func TestRun_UndecodableThatIsNotSelected(t *testing.T) {
	w := newWorld(t)
	w.run(t, recordJSON("a", 1, text))
	w.free.take()
	w.run(t, recordJSON("a", 2, ""))
	w.free.fail = refuse(3)
	w.run(t, recordJSON("a", 3, text))
	w.free.fail = nil
	var undecodable, waiting pipeline.DeadLetter
	for l := range w.box.Read(t.Context()) {
		switch l.Sink {
		case "":
			undecodable = l
		case "free":
			waiting = l
		}
	}
	report := w.redrive(t, func(o *redrive.Options) { o.Classes = []string{waiting.Class} })
	if report.Undecodable != 0 || report.Sinks["free"].Waiting != 1 || report.Left() != 1 {
		t.Errorf("report %+v, letters %s", report, w.box.list())
	}
	if f := report.Failures; len(f) != 1 || f[0].ID != deadletter.ID(&undecodable) || f[0].Sink != "" || f[0].Class != undecodable.Class {
		t.Errorf("the letter that another one waits for: %+v", f)
	}
}

// A letter may wait for an earlier letter that failed. The report does not name a later undecodable record for it.
func TestRun_UndecodableAfterTheWaitingLetters(t *testing.T) {
	w := newWorld(t)
	w.free.fail = refuse(1)
	w.run(t, recordJSON("a", 1, text))
	w.run(t, recordJSON("a", 2, text))
	w.run(t, recordJSON("a", 3, ""))
	var classes []string
	for l := range w.box.Read(t.Context()) {
		if l.Sink == "free" {
			classes = append(classes, l.Class)
		}
	}
	report := w.redrive(t, func(o *redrive.Options) { o.Classes = classes })
	if free := report.Sinks["free"]; free.Failed != 1 || free.Waiting != 1 {
		t.Errorf("report %+v, letters %s", report, w.box.list())
	}
	if f := report.Failures; len(f) != 1 || f[0].Sink != "free" {
		t.Errorf("the letters that stay for a reason of their own: %+v", f)
	}
}

// A dry run of Discard removes no letter, and counts what it would remove apart.
func TestRun_UndecodableInADryRun(t *testing.T) {
	w := newWorld(t)
	w.run(t, recordJSON("a", 2, ""))
	discard := func(dry bool) redrive.Report {
		return w.redrive(t, func(o *redrive.Options) { o.Discard, o.DryRun, o.Classes = true, dry, []string{"undecodable"} })
	}
	if report := discard(true); report.Discarded != 0 || report.Discardable != 1 || report.Empty() || len(w.box.letters) != 1 {
		t.Errorf("a dry run: %+v", report)
	}
	if report := discard(false); report.Discarded != 1 || report.Discardable != 0 || len(w.box.letters) != 0 {
		t.Errorf("a run: %+v", report)
	}
}
