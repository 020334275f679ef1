package dynamo_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// If the answer of a write is lost, the write is sent again and fails because of the first one. The write still counts
// as done.
func TestLostAnswersOfBackfills(t *testing.T) {
	var faults dynamotest.Faults
	s := open(t, &faults).State("p")
	lost := func(write func() (bool, error)) {
		t.Helper()
		faults.Next("PutItem", dynamotest.Lost())
		if done, err := write(); err != nil || !done {
			t.Errorf("the answer was lost: %v, %v", done, err)
		}
	}
	b := state.Backfill{Run: "run", Start: time.Unix(1000, 0).UTC(), Parts: 1}
	lost(func() (bool, error) {
		stored, err := s.AddBackfill(t.Context(), b)
		return stored == b, err
	})
	var was state.Part
	for counter := range int64(2) {
		now := state.Part{Run: "run", ID: "1", Owner: "a", Counter: counter + 1, Position: "x"}
		lost(func() (bool, error) { return s.SetPart(t.Context(), was, now) })
		was = now
	}
	birth, err := s.RecordBirth(t.Context(), state.NewBirth("orders", "table a", time.Unix(1000, 0)))
	if err != nil {
		t.Fatal(err)
	}
	filling := birth
	filling.Stage, filling.Run = state.Filling, "run"
	lost(func() (bool, error) { return s.SetBirth(t.Context(), birth, filling) })

	// The write of another process does not count as this write.
	rival := was
	rival.Owner, rival.Counter = "b", 3
	if done, err := s.SetPart(t.Context(), was, rival); err != nil || !done {
		t.Fatal(done, err)
	}
	late := was
	late.Counter = 3
	if done, err := s.SetPart(t.Context(), was, late); err != nil || done {
		t.Errorf("a rival wrote first, and yet %v, %v", done, err)
	}
}

// Records that are too large for an item are refused with a permanent error.
func TestPartIsTooLarge(t *testing.T) {
	db := open(t, nil)
	_, err := db.State("p").SetPart(t.Context(), state.Part{}, state.Part{Run: "run", ID: "1", Counter: 1, Position: strings.Repeat("x", dynamo.MaxItem)})
	if err == nil || !state.IsPermanent(err) || !strings.Contains(err.Error(), "400 KB") {
		t.Errorf("got %v", err)
	}
	_, err = db.State("p").AddBackfill(t.Context(), state.Backfill{Run: "run", Source: strings.Repeat("x", dynamo.MaxItem)})
	if err == nil || !state.IsPermanent(err) {
		t.Errorf("got %v", err)
	}
}

// A record that cannot be read is a fatal error. In particular, a birth with an unknown stage does not count as live.
func TestDamagedBackfills(t *testing.T) {
	db := open(t, nil)
	s := db.State("p")
	item := func(pk, sk string, attributes dynamo.Item) {
		t.Helper()
		attributes["pk"], attributes["sk"] = dynamo.S(pk), dynamo.S(sk)
		if err := db.Write(t.Context(), dynamo.Action{Put: &types.Put{TableName: aws.String(table), Item: attributes}}); err != nil {
			t.Fatal(err)
		}
	}
	item("p#births", "orders#table", dynamo.Item{"sink": dynamo.S("orders"), "birth": dynamo.S("b"), "stage": dynamo.S("frozen")})
	item("p#backfills", "run", dynamo.Item{"run": dynamo.S("run"), "begun": dynamo.N("1.5")})
	item("p#parts#run", "1", dynamo.Item{"run": dynamo.S("run"), "id": dynamo.S("1")})
	for what, read := range map[string]func() error{
		"the birth of the sink orders":   func() error { return first(s.Births(t.Context())) },
		"the backfill run":               func() error { return first(s.Backfills(t.Context())) },
		"the part 1 of the backfill run": func() error { return first(s.Parts(t.Context(), "run")) },
	} {
		if err := read(); !pipeline.IsFatal(err) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := first(s.Births(t.Context())); !strings.Contains(err.Error(), "newer tablewake") {
		t.Errorf("of an unknown stage: %v", err)
	}
}

// first returns the error of the first value.
func first[T any](values func(func(T, error) bool)) error {
	for _, err := range values {
		return err
	}
	return errors.New("there is no value")
}
