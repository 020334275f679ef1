package redrive_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/redrive"
)

var errBad = errors.New("refused")

// source returns a source with one page for each record.
func source(records [][]byte) pipeline.Source {
	n := 0
	return pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		if n == len(records) {
			return nil, io.EOF
		}
		n++
		p := stream(records[n-1])
		p.Position = pipeline.Position(fmt.Sprint(n))
		return p, nil
	})
}

// refuse returns a function that fails permanently for the n-th change.
func refuse(n int) func(*record.Change) error {
	return func(c *record.Change) error {
		if nth(c) == n {
			return errBad
		}
		return nil
	}
}

var text = `"S":"x"`

// byKey sorts changes by key and keeps the order within each key. Changes of different keys can be in any order.
func byKey(changes string) string {
	all := strings.Fields(changes)
	slices.SortStableFunc(all, func(x, y string) int { return cmp.Compare(x[0], y[0]) })
	return strings.Join(all, " ")
}

func TestRun_DeliversInOrderToTheFailedSinkOnly(t *testing.T) {
	w := newWorld(t)
	w.free.fail, w.safe.fail = refuse(2), refuse(3)
	w.run(t, recordJSON("a", 1, text), recordJSON("a", 2, text), recordJSON("a", 3, text), recordJSON("b", 4, text), recordJSON("a", 5, text))
	if got := byKey(w.free.take()); got != "a1 b4" {
		t.Fatalf("the unguarded sink got %s", got)
	}
	if got := byKey(w.safe.take()); got != "a1 a2 a5 b4" {
		t.Fatalf("the guarded sink got %s", got)
	}
	if got := w.marks.list(); got != "free:a" {
		t.Fatalf("marks %s", got)
	}
	w.free.fail, w.safe.fail = nil, nil

	report := w.redrive(t, func(o *redrive.Options) { o.DryRun = true })
	if s := report.Sinks["free"]; s.Letters != 3 || s.Held != 1 || w.free.take() != "" || len(w.box.letters) != 4 {
		t.Errorf("a dry run says %+v, and leaves %s", report, w.box.list())
	}
	report = w.redrive(t)
	if got := w.free.take(); got != "a2 a3 a5" {
		t.Errorf("redriven to the unguarded sink: %s", got)
	}
	if got := w.safe.take(); got != "a3" {
		t.Errorf("redriven to the guarded sink: %s", got)
	}
	if len(w.box.letters) > 0 || w.marks.list() != "" {
		t.Errorf("left: letters %s, marks %s", w.box.list(), w.marks.list())
	}
	if s := report.Sinks["free"]; s.Delivered != 3 || s.Released != 1 || s.Held != 0 || report.Left() != 0 || report.Delivered() != 4 {
		t.Errorf("report %+v", report)
	}
	w.run(t, recordJSON("a", 6, text))
	if got := w.free.take(); got != "a6" {
		t.Errorf("the key is released, and the sink got %q", got)
	}
}

// If a dead letter fails again, this dead letter, its mark and all later dead letters of its key stay. Dead letters of
// other keys are delivered.
func TestRun_WhatFailsAgainStays(t *testing.T) {
	w := newWorld(t)
	bad := func(c *record.Change) error {
		if n := nth(c); n == 2 || n == 3 || n == 5 {
			return errBad
		}
		return nil
	}
	w.free.fail, w.safe.fail = bad, bad
	w.run(t, recordJSON("a", 1, text), recordJSON("a", 2, text), recordJSON("b", 3, text), recordJSON("a", 4, text), recordJSON("a", 5, text), recordJSON("b", 6, text))
	w.free.take()
	w.safe.take()
	w.free.fail, w.safe.fail = refuse(2), refuse(2)
	report := w.redrive(t)
	if got := w.free.take(); got != "b3 b6" {
		t.Errorf("redriven %s", got)
	}
	if got := w.safe.take(); got != "b3 a5" && got != "a5 b3" {
		t.Errorf("where versions decide, what fails keeps nothing back: redriven %s", got)
	}
	if got, want := w.box.list(), "free:a2:write safe:a2:write free:a4:quarantined free:a5:quarantined"; sorted(got) != sorted(want) {
		t.Errorf("left %s, want %s", got, want)
	}
	if got := w.marks.list(); got != "free:a" {
		t.Errorf("marks %s", got)
	}
	if s := report.Sinks["free"]; s.Failed != 1 || s.Waiting != 2 || s.Held != 1 || s.Released != 1 || report.Left() != 4 || len(report.Failures) != 2 {
		t.Errorf("report %+v", report)
	}
	if f := report.Failures[0]; f.Sink != "free" || f.Key != "a" || f.Class != "write" || !strings.Contains(f.Error, "refused") {
		t.Errorf("failure %+v", f)
	}

	// After a dead letter that can never be delivered is discarded, the later ones are delivered.
	w.redrive(t, func(o *redrive.Options) { o.Discard, o.Classes, o.Key = true, []string{"write"}, "a" })
	if got := w.box.list(); sorted(got) != sorted("free:a4:quarantined free:a5:quarantined") || w.free.take() != "" {
		t.Errorf("after the discard: %s", got)
	}
	w.redrive(t)
	if got := w.free.take(); got != "a4 a5" || w.marks.list() != "" || len(w.box.letters) > 0 {
		t.Errorf("redriven %s; left %s, marks %s", got, w.box.list(), w.marks.list())
	}
}

func sorted(words string) string {
	ws := strings.Fields(words)
	slices.Sort(ws)
	return strings.Join(ws, " ")
}

// If a sink is down, Run tries each change Attempts times. The dead letters and marks stay, also those of a guarded
// sink.
func TestRun_ASinkThatIsDown(t *testing.T) {
	w := newWorld(t)
	w.safe.fail, w.free.fail = refuse(1), refuse(1)
	w.run(t, recordJSON("a", 1, text), recordJSON("b", 2, text))
	if err := w.marks.MarkKeys(t.Context(), "safe", []item.Key{"a"}); err != nil { // as if max_hold were over
		t.Fatal(err)
	}
	w.free.take()
	w.safe.take()
	tries := 0
	down := func(*record.Change) error { tries++; return pipeline.Transient(errBad) }
	w.safe.fail, w.free.fail = down, down
	report := w.redrive(t)
	if tries != 4 || report.Left() != 2 || w.marks.list() != "free:a safe:a" || len(w.box.letters) != 2 {
		t.Errorf("%d tries; report %+v; marks %s", tries, report, w.marks.list())
	}
	once := true
	again := func(*record.Change) error {
		if once {
			once = false
			return pipeline.Transient(errBad)
		}
		return nil
	}
	w.safe.fail, w.free.fail = again, nil
	if report = w.redrive(t); report.Left() != 0 || w.marks.list() != "" {
		t.Errorf("once the sinks are back: report %+v, marks %s", report, w.marks.list())
	}
}

func TestRun_Filters(t *testing.T) {
	w := newWorld(t)
	w.free.fail, w.safe.fail = refuse(1), refuse(2)
	w.run(t, recordJSON("a", 1, text), recordJSON("b", 2, text), recordJSON("a", 3, text))
	w.free.take()
	w.safe.take()
	w.free.fail, w.safe.fail = nil, nil
	// A dead letter that is not selected holds back the later ones of its key.
	if report := w.redrive(t, func(o *redrive.Options) { o.Classes = []string{"quarantined"} }); report.Delivered() != 0 || report.Sinks["free"].Waiting != 1 {
		t.Errorf("of the class quarantined: %+v", report)
	}
	if w.redrive(t, func(o *redrive.Options) { o.Key = "b" }); w.safe.take() != "b2" || w.free.take() != "" {
		t.Error("of the key b: others were delivered too")
	}
	if w.redrive(t, func(o *redrive.Options) { o.Sink = "safe" }); w.free.take() != "" {
		t.Error("of the sink safe: others were delivered too")
	}
	if w.redrive(t, func(o *redrive.Options) { o.Name = "other" }); w.free.take() != "" {
		t.Error("of another pipeline: this one's were delivered")
	}
	if w.redrive(t, func(o *redrive.Options) { o.Sink = "free" }); w.free.take() != "a1 a3" {
		t.Error("of the sink free: not delivered")
	}
	if _, err := redrive.Run(t.Context(), redrive.Options{Pipeline: w, Letters: w.box, Sink: "no"}); err == nil || !strings.Contains(err.Error(), `no sink "no"`) {
		t.Errorf("a sink that is not there: %v", err)
	}
}

// If an undecodable record can be decoded now, Run delivers it to all sinks whose filters accept it, before later
// changes of its key.
func TestRun_Undecodable(t *testing.T) {
	drop := pipeline.FilterFunc(func(c *record.Change) (pipeline.Verdict, error) {
		return pipeline.Verdict{Drop: true, Reason: "not_here"}, nil
	})
	other := &sink{}
	w := newWorld(t, func(o *pipeline.Options) {
		o.Routes = append(o.Routes, pipeline.Route{Name: "other", Sink: other, Filters: []pipeline.Filter{drop}})
	})
	empty := recordJSON("a", 2, "") // {} is a valid value only for DynamoDB Local
	w.run(t, recordJSON("a", 1, text))
	w.run(t, empty, recordJSON("a", 3, text))
	if got := w.free.take() + "/" + w.safe.take(); got != "a1/a1 a3" {
		t.Fatalf("the sinks got %s", got)
	}
	report := w.redrive(t)
	if report.Undecodable != 1 || report.Sinks["free"].Waiting != 1 || len(report.Failures) != 1 || w.free.take() != "" || w.marks.list() != "free:a other:a" {
		t.Errorf("while it does not decode: %+v, marks %s, letters %s", report, w.marks.list(), w.box.list())
	}
	report = w.redrive(t, func(o *redrive.Options) { o.Decoder.DynamoDBLocal = true })
	if got := w.free.take() + "/" + w.safe.take() + "/" + other.take(); got != "a2 a3/a2/" {
		t.Errorf("redriven %s", got)
	}
	if report.Decoded != 1 || report.Undecodable != 0 || report.Left() != 0 || len(w.box.letters) > 0 || w.marks.list() != "" {
		t.Errorf("report %+v, letters %s, marks %s", report, w.box.list(), w.marks.list())
	}
}

// A crash can leave a dead letter without a mark. Run holds the key while it delivers such a dead letter.
func TestRun_ALetterWithoutAMark(t *testing.T) {
	w := newWorld(t)
	w.free.fail = refuse(1)
	w.run(t, recordJSON("a", 1, text), recordJSON("b", 2, text))
	clear(w.marks.marks)
	held := false
	w.free.take()
	w.free.fail = func(*record.Change) error { held = w.marks.list() == "free:a"; return nil }
	if w.redrive(t); !held || w.free.take() != "a1" || w.marks.list() != "" || len(w.box.letters) > 0 {
		t.Errorf("held %v; left: letters %s, marks %s", held, w.box.list(), w.marks.list())
	}
	// A crash can also leave a mark without dead letters. Run clears it.
	if err := w.marks.MarkKeys(t.Context(), "free", []item.Key{"c"}); err != nil {
		t.Fatal(err)
	}
	if report := w.redrive(t); report.Sinks["free"].Released != 1 || w.marks.list() != "" {
		t.Errorf("a mark without letters stays: %+v", report)
	}
}

func TestRun_LettersOfASinkThatIsGone(t *testing.T) {
	w := newWorld(t)
	w.free.fail = refuse(1)
	w.run(t, recordJSON("a", 1, text))
	left := newWorld(t, func(o *pipeline.Options) { o.Routes = o.Routes[1:] })
	left.box, left.marks = w.box, w.marks
	if report := left.redrive(t); report.Sinks["free"].Failed != 1 || len(report.Failures) != 1 || !strings.Contains(report.Failures[0].Error, "no such sink") {
		t.Errorf("report %+v", report)
	}
	if left.redrive(t, func(o *redrive.Options) { o.Discard = true }); len(w.box.letters) > 0 || w.marks.list() != "" {
		t.Errorf("discarded: letters %s, marks %s", w.box.list(), w.marks.list())
	}
}

// Run delivers more dead letters than it holds in memory at once, from a folder like that of an embedded run.
func TestRun_ManyLettersInAFolder(t *testing.T) {
	store, err := dir.New(dir.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w := newWorld(t, func(o *pipeline.Options) { o.DeadLetters = store })
	w.free.fail = func(*record.Change) error { return errBad }
	var records [][]byte
	for n := 1; n <= 1200; n++ {
		records = append(records, recordJSON(fmt.Sprintf("k%d-", n%300), n, text))
	}
	page := stream(records...)
	if err := w.Run(t.Context(), pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		p := page
		page = nil
		return p, io.EOF
	}), nil); err != nil {
		t.Fatal(err)
	}
	w.free.fail = nil
	told := 0
	report := w.redrive(t, func(o *redrive.Options) {
		o.Letters, o.Bytes = store, 100_000
		o.Progress = func(redrive.Report) { told++ }
	})
	if report.Sinks["free"].Delivered != 1200 || report.Left() != 0 || w.marks.list() != "" || told < 3 {
		t.Errorf("report %+v, told %d times", report, told)
	}
	if wrong := disorder(w.free.take()); wrong != "" {
		t.Error(wrong)
	}
	for l, err := range store.Read(t.Context()) {
		t.Fatalf("a letter is left: %v %v", l, err)
	}
}

// appending is a box that calls add before its first Remove.
type appending struct {
	*box
	add func()
}

func (a *appending) Remove(ctx context.Context, ids []string) error {
	if a.add != nil {
		a.add()
		a.add = nil
	}
	return a.box.Remove(ctx, ids)
}

// If a change of a key arrives after the dead letters of the key are delivered and before the mark is cleared, the mark
// stays. Run delivers the change in its next pass.
func TestRun_AppendedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.free.fail = refuse(1)
	w.run(t, recordJSON("a", 1, text))
	w.free.take()
	w.free.fail = nil
	var held string
	letters := &appending{w.box, func() {
		w.run(t, recordJSON("a", 2, text))
		held = w.free.take()
	}}
	report := w.redrive(t, func(o *redrive.Options) { o.Letters = letters })
	if got := held + "/" + w.free.take(); got != "a1/a2" {
		t.Errorf("the sink got %s: want a1, and a2 in the next pass", got)
	}
	if s := report.Sinks["free"]; s.Letters != 2 || s.Delivered != 2 || s.Released != 1 || s.Held != 0 || w.marks.list() != "" || len(w.box.letters) > 0 {
		t.Errorf("report %+v; left: letters %s, marks %s", s, w.box.list(), w.marks.list())
	}
}
