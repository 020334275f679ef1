package esm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestFact17_BatchesEndAtEachBound(t *testing.T) {
	size := len(of(1, "a")) + 1
	for _, tt := range []struct {
		name string
		m    Mapping
		want string
	}{
		{"default", Mapping{}, "1 2 3 4 5 6 7"},
		{"records", Mapping{BatchSize: 3}, "1 2 3|4 5 6|7"},
		{"bytes", Mapping{BatchBytes: envelope + 2*size}, "1 2|3 4|5 6|7"},
		{"a record above the bytes goes alone", Mapping{BatchBytes: 1}, "1|2|3|4|5|6|7"},
		{"time", Mapping{BatchWindow: 3 * time.Second}, "1 2 3 4|5 6 7"},
	} {
		var f told
		went(t, tt.m, &f, shard(7, 3))
		if got := f.batches(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestFact16_WhatAnAnswerComesTo(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		err          error
		deaf         bool // ReportBatchItemFailures is not set
		want         string
	}{
		{name: "nothing", answer: "", want: "1 2 3 4"},
		{name: "null", answer: "null", want: "1 2 3 4"},
		{name: "an empty object", answer: "{}", want: "1 2 3 4"},
		{name: "no failures", answer: `{"batchItemFailures":[]}`, want: "1 2 3 4"},
		{name: "null failures", answer: `{"batchItemFailures":null}`, want: "1 2 3 4"},
		{name: "one", answer: failing("3"), want: "1 2 3 4|3 4"},
		{name: "the lowest of several", answer: `{"batchItemFailures":[{"itemIdentifier":"4"},{"itemIdentifier":"2"},{"itemIdentifier":"3"}]}`, want: "1 2 3 4|2 3 4"},
		{name: "the first", answer: failing("1"), want: "1 2 3 4|1 2 3 4"},
		{name: "an empty identifier", answer: failing(""), want: "1 2 3 4|1 2 3 4"},
		{name: "a null identifier", answer: `{"batchItemFailures":[{"itemIdentifier":null}]}`, want: "1 2 3 4|1 2 3 4"},
		{name: "another name", answer: `{"batchItemFailures":[{"id":"3"}]}`, want: "1 2 3 4|1 2 3 4"},
		{name: "one of another batch", answer: failing("9"), want: "1 2 3 4|1 2 3 4"},
		{name: "no JSON", answer: "done", want: "1 2 3 4|1 2 3 4"},
		{name: "an error", err: errDown, want: "1 2 3 4|1 2 3 4"},
		{name: "one, and nobody asked", answer: failing("3"), deaf: true, want: "1 2 3 4"},
		{name: "an error, and nobody asked", err: errDown, deaf: true, want: "1 2 3 4|1 2 3 4"},
	} {
		f := told{do: func(call int, _ *event) (string, error) {
			if call > 1 {
				return "", nil
			}
			return tt.answer, tt.err
		}}
		went(t, Mapping{ReportFailures: !tt.deaf, MaxRetries: -1}, &f, shard(4, 2))
		if got := f.batches(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// A record that fails its batch is found by bisection, and the other records continue. Splitting does not count as an
// attempt.
func TestHalves(t *testing.T) {
	var given []Discarded
	f := told{do: func(_ int, e *event) (string, error) {
		if strings.Contains(" "+e.sequences()+" ", " 3 ") {
			return "", errDown
		}
		return "", nil
	}}
	r := went(t, Mapping{Bisect: true, MaxRetries: 1, Discard: func(_ context.Context, d Discarded) error { given = append(given, d); return nil }}, &f, shard(8, 3))
	const want = "1 2 3 4 5 6 7 8|1 2 3 4|1 2|3 4|3|3|4|5 6 7 8"
	if got := f.batches(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(given) != 1 || r.Discarded != 1 || r.Halved != 3 || r.Errors != 5 {
		t.Errorf("%d given up, %+v", len(given), r)
	}
}

func TestFact17_RetriesAreForEverUnlessTold(t *testing.T) {
	for _, tt := range []struct {
		retries int
		want    int // attempts
	}{{-1, 50}, {0, 1}, {3, 4}} {
		f := told{do: func(call int, _ *event) (string, error) {
			if call == 50 {
				return "", nil
			}
			return "", errDown
		}}
		r := went(t, Mapping{MaxRetries: tt.retries}, &f, shard(2, 1))
		if len(f.events) != tt.want || r.Discarded != map[bool]int{true: 2}[tt.want < 50] {
			t.Errorf("%d retries: %d tries, %+v", tt.retries, len(f.events), r)
		}
	}
}

// Records that become too old while they fail are abandoned, and younger records continue.
func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(began.Add(3 * time.Second)))
		f := told{do: func(int, *event) (string, error) {
			if time.Now().Before(began.Add(8 * time.Second)) {
				return "", errDown
			}
			return "", nil
		}}
		r := went(t, Mapping{MaxRetries: -1, MaxAge: 5*time.Second + time.Millisecond, Pause: func(int) time.Duration { return time.Second }}, &f, shard(4, 1))
		const want = "1 2 3 4|1 2 3 4|1 2 3 4|1 2 3 4|2 3 4|3 4"
		if got := f.batches(); got != want || r.Discarded != 2 {
			t.Errorf("%s, want %s; %+v", got, want, r)
		}
	})
}

func TestFilter(t *testing.T) {
	var f told
	even := func(rs [][]byte) ([]bool, error) {
		matches := make([]bool, len(rs))
		for i := range rs {
			matches[i] = i%2 == 1
		}
		return matches, nil
	}
	r := went(t, Mapping{Filter: even, BatchSize: 2}, &f, shard(7, 1))
	if got := f.batches(); got != "2 4|6" || r.Filtered != 4 {
		t.Errorf("%s, %+v", got, r)
	}
}

func TestWhatCannotBe(t *testing.T) {
	f := []Function{&told{}}
	for name, m := range map[string]Mapping{
		"no function":   {},
		"batch":         {Functions: f, BatchSize: 10_001},
		"parallel":      {Functions: f, Parallelization: 11},
		"window":        {Functions: f, Parallelization: 2, TumblingWindow: time.Second},
		"filter":        {Functions: f, Filter: func([][]byte) ([]bool, error) { return nil, errDown }},
		"discard fails": {Functions: []Function{&told{do: func(int, *event) (string, error) { return "", errDown }}}, Discard: func(context.Context, Discarded) error { return errDown }},
	} {
		if _, err := m.Run(t.Context(), shard(1, 1)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := (&Mapping{Functions: f}).Run(t.Context(), Shard{Records: [][]byte{[]byte(`{}`)}}); err == nil || !strings.Contains(err.Error(), "record 0") {
		t.Errorf("a record that is none: %v", err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	down := told{do: func(call int, _ *event) (string, error) {
		if call == 3 {
			stop(errDown)
		}
		return "", fmt.Errorf("call %d", call)
	}}
	if _, err := (&Mapping{Functions: []Function{&down}, MaxRetries: -1}).Run(ctx, shard(1, 1)); !errors.Is(err, errDown) || len(down.events) != 3 {
		t.Errorf("a run that is stopped: %v after %d calls", err, len(down.events))
	}
}
