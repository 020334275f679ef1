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

// A record that could not be decoded and now can is delivered once and its letter is gone,
// however the record was laid out: letters are kept without white space.
func TestRun_UndecodableLaidOut(t *testing.T) {
	folder, err := dir.New(dir.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	w := newWorld(t)
	raw := bytes.ReplaceAll(record("a", 1, `"S":"x"`), []byte(`:`), []byte(": "))
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
