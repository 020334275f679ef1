package eventruler

import (
	"strings"
	"testing"
)

func TestEngine(t *testing.T) {
	e, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	ruler := func(patterns ...string) *Ruler {
		t.Helper()
		r, err := e.Ruler(patterns)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	order := []byte(`{"eventName": "INSERT", "dynamodb": {
		"Keys": {"PK": {"S": "USER#1"}}, "NewImage": {"Type": {"S": "Order"}, "N.S": {"S": "x"}, "Gift": {"BOOL": true}}}, "userIdentity": null}`)
	for _, tt := range []struct {
		patterns []string
		want     bool
	}{
		{nil, true},
		{[]string{`{"eventName": ["REMOVE"]}`}, false},
		{[]string{`{"eventName": ["REMOVE"]}`, `{"dynamodb": {"NewImage": {"Type": {"S": ["Order"]}}}}`}, true},
		{[]string{`{"eventName":["MODIFY"],"dynamodb":{"NewImage":{"Type":{"S":["Order"]}}}}`}, false},
		{[]string{`{"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"USER#"}]}}}}`}, true},
		{[]string{`{"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"ORDER#"},{"exists":false}]}}}}`}, false},
		{[]string{`{"dynamodb":{"OldImage":{"Type":{"S":[{"anything-but":["Order"]},{"exists":false}]}}}}`}, true},
		{[]string{`{"dynamodb":{"NewImage":{"Type":{"S":[{"anything-but":["Order"]},{"exists":false}]}}}}`}, false},
		{[]string{`{"dynamodb":{"NewImage":{"Gift":{"BOOL":[true]}}}}`}, true},
		{[]string{`{"userIdentity":{"type":[{"anything-but":["Service"]},{"exists":false}]}}`}, true},
	} {
		if got, err := ruler(tt.patterns...).Match(order); err != nil || got != tt.want {
			t.Errorf("%s = %v, %v, want %v", tt.patterns, got, err, tt.want)
		}
	}
	if _, err := e.Ruler([]string{`{"eventName": "INSERT"}`}); err == nil {
		t.Error("a pattern that is no pattern was taken")
	}
	if _, err := ruler(`{"eventName":["INSERT"]}`).Match([]byte("{")); err == nil {
		t.Error("what is not JSON was matched")
	}
}

func TestMatchAllKeepsOrder(t *testing.T) {
	r, err := Start(t.Context(), []string{`{"eventName":["REMOVE"]}`})
	if err != nil {
		t.Fatal(err)
	}
	events := make([][]byte, 20000) // more events than a pipe holds
	for i := range events {
		name := "INSERT"
		if i%3 == 0 {
			name = "REMOVE"
		}
		events[i] = []byte(`{"eventName":"` + name + `","padding":"` + strings.Repeat("x", i%100) + `"}`)
	}
	got, err := r.MatchAll(events)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range got {
		if m != (i%3 == 0) {
			t.Fatalf("event %d: %v", i, m)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
