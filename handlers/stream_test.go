package handlers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// Fact 16: Lambda retries everything from the lowest reported sequence number on; an empty list
// is success; an empty identifier fails the whole batch.
func TestFact16_Answers(t *testing.T) {
	down := func(key string) func(context.Context, string) error {
		return func(_ context.Context, k string) error {
			if k == key {
				return pipeline.Transient(errDown)
			}
			return nil
		}
	}
	refused := func(_ context.Context, k string) error {
		if k == "b" {
			return errors.New("refused")
		}
		return nil
	}
	broken := `{"eventID":"x","eventName":"INSERT","eventSource":"aws:dynamodb","eventSourceARN":"` + streamARN + `","dynamodb":{"SequenceNumber":"102","Keys":{"PK":{"S":"b"}},"NewImage":{"PK":{"S":5}}}}`
	for name, tt := range map[string]struct {
		event   string
		fail    func(context.Context, string) error
		buried  func() error
		answer  string // "" where it is an error
		written string
		letters string
	}{
		"all is written":                          {event: records("a", "b", "c"), answer: `{"batchItemFailures":[]}`, written: "a b c"},
		"no records":                              {event: event(), answer: `{"batchItemFailures":[]}`},
		"one key is down":                         {event: records("a", "b", "c", "b", "d"), fail: down("b"), answer: `{"batchItemFailures":[{"itemIdentifier":"102"}]}`, written: "a c d"},
		"the first is down":                       {event: records("b", "a"), fail: down("b"), answer: `{"batchItemFailures":[{"itemIdentifier":"101"}]}`, written: "a"},
		"one is refused":                          {event: records("a", "b", "c"), fail: refused, answer: `{"batchItemFailures":[]}`, written: "a c", letters: "write 102"},
		"one cannot be decoded":                   {event: event(recordJSON("a", 101), broken, recordJSON("c", 103)), answer: `{"batchItemFailures":[]}`, written: "a c", letters: "undecodable 102"},
		"it cannot, and dead letters are down":    {event: event(recordJSON("a", 101), broken), buried: func() error { return errDown }, answer: `{"batchItemFailures":[{"itemIdentifier":"102"}]}`, written: "a"},
		"behind it nothing is begun":              {event: event(recordJSON("a", 101), broken, recordJSON("c", 103)), buried: func() error { return errDown }, answer: `{"batchItemFailures":[{"itemIdentifier":"102"}]}`, written: "a"},
		"it is the first, with dead letters down": {event: event(broken, recordJSON("c", 103)), buried: func() error { return errDown }},
		"all are down":                            {event: records("b", "b"), fail: down("b")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, g := &store{fail: tt.fail}, &graveyard{fail: tt.buried}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				answer, err := DynamoDB(assemble(t, s, g)).Invoke(ctx, []byte(tt.event))
				if errors.Is(err, errDeadline) != (tt.answer == "") || string(answer) != tt.answer {
					t.Errorf("the answer is %s, %v; want %s", answer, err, tt.answer)
				}
				if s.keys() != tt.written || g.classes() != tt.letters {
					t.Errorf("written %q, letters %q; want %q and %q", s.keys(), g.classes(), tt.written, tt.letters)
				}
			})
		})
	}
}

// A value that Lambda could not use to send the batch again is not an identifier.
func TestFact16_NoSequenceNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		p := assemble(t, &store{}, &graveyard{fail: func() error { return errDown }})
		bad := strings.Replace(recordJSON("a", 101), `"SequenceNumber":"101"`, `"SequenceNumber":"1x"`, 1)
		answer, err := DynamoDB(p).Invoke(ctx, []byte(event(bad, recordJSON("b", 102))))
		if answer != nil || err == nil || !strings.Contains(err.Error(), "record 0 is not finished and has no sequence number") {
			t.Errorf("%s, %v", answer, err)
		}
	})
}

// An event that does not belong to the handler is an error that says what it is. Nothing of it is delivered.
func TestNoSuchEvent(t *testing.T) {
	s3 := `{"Records":[{"eventVersion":"2.1","eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{}}]}`
	kinesis := `{"Records":[{"kinesis":{"data":"e30=","sequenceNumber":"1"},"eventSource":"aws:kinesis","eventID":"s:1"}]}`
	sound := records("a", "b")
	for name, tt := range map[string]struct{ event, want string }{
		"empty object":      {`{}`, "has no Records, and events of aws:dynamodb do"},
		"null":              {`null`, "is not a JSON object"},
		"text":              {`"hello"`, "is not a JSON object"},
		"array":             {`[` + recordJSON("a", 1) + `]`, "is not a JSON object"},
		"a record":          {recordJSON("a", 1), "has no Records"},
		"nothing":           {``, "record 0, byte 0 of the input"},
		"no JSON":           {`hello`, "record 0, byte 0 of the input"},
		"of S3":             {s3, "comes from aws:s3, and this handler takes events of aws:dynamodb"},
		"of Kinesis":        {kinesis, "comes from aws:kinesis"},
		"of nobody known":   {`{"Records":[{"eventSource":"the secret"}]}`, "comes from an unknown source"},
		"of nobody":         {`{"Records":[{}]}`, "name no eventSource"},
		"a command":         {`{"tablewake":"redrive"}`, "is a command of tablewake"},
		"Records no array":  {`{"Records":5}`, "Records is no array"},
		"Records in a mess": {`{"eventName":5,"Records":[` + recordJSON("a", 1) + `]}`, "is not one of a stream"},
		"cut":               {sound[:len(sound)-40], "the event is broken, and none of its records is delivered: record 1, byte"},
		"trailing garbage":  {sound + `x`, "something follows the JSON document"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &store{}
			answer, err := DynamoDB(assemble(t, s, &graveyard{})).Invoke(t.Context(), []byte(tt.event))
			if answer != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %v; want an error with %q", answer, err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "the secret") {
				t.Errorf("%v shows a value", err)
			}
			if s.keys() != "" {
				t.Errorf("%q is delivered of it", s.keys())
			}
		})
	}
}

// Fact 31: aws-lambda-go reuses its buffer after the answer. Data that outlives the handler must own its bytes.
func TestFact31_BytesOutliveTheInvocation(t *testing.T) {
	var kept []*record.Change
	g := &graveyard{}
	p := assemble(t, pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
		for _, d := range ds {
			if kept = append(kept, d.Change); len(kept)%2 == 0 {
				return errors.New("refused")
			}
		}
		return nil
	}), g)
	h := DynamoDB(p)
	buffer := make([]byte, 0, 1<<16) // as the pool of aws-lambda-go hands it out
	for i, e := range []string{records("a", "b", "c"), records("d", "e", "f")} {
		if _, err := h.Invoke(t.Context(), append(buffer, e...)); err != nil {
			t.Fatal(i, err)
		}
	}
	clear(buffer[:cap(buffer)])
	for i, want := range []string{"a", "b", "c", "d", "e", "f"} {
		v, _ := kept[i].New.Get("PK")
		if got, _ := v.Text(); got != want || string(kept[i].Raw) != recordJSON(want, 101+i%3) {
			t.Errorf("change %d is of %q now, with the record %s", i, got, kept[i].Raw)
		}
	}
	for _, l := range g.letters {
		if !slices.Contains([]string{recordJSON("b", 102), recordJSON("d", 101), recordJSON("f", 103)}, string(l.Raw)) {
			t.Errorf("a letter holds %s", l.Raw)
		}
	}
	if len(g.letters) != 3 {
		t.Errorf("%d letters", len(g.letters))
	}
}

// A fatal error fails the invocation, and the next one starts afresh.
func TestFatal(t *testing.T) {
	fatal := true
	s := &store{fail: func(context.Context, string) error {
		if fatal {
			return pipeline.Fatal(redact.Class("missing").New("the table is gone"))
		}
		return nil
	}}
	p, err := pipeline.New(pipeline.Options{Name: "shop", Routes: []pipeline.Route{{Name: "store", Sink: s}}})
	if err != nil {
		t.Fatal(err)
	}
	h := DynamoDB(p)
	answer, err := h.Invoke(t.Context(), []byte(records("a")))
	if answer != nil || err == nil || !strings.Contains(err.Error(), "the table is gone") {
		t.Errorf("%s, %v", answer, err)
	}
	fatal = false
	answer, err = h.Invoke(t.Context(), []byte(records("a")))
	if err != nil || failures(t, answer) != "" || s.keys() != "a" {
		t.Errorf("%s, %v, written %q", answer, err, s.keys())
	}
}

// Invocations that come at the same time run one after the other.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{fail: func(context.Context, string) error { time.Sleep(time.Second); return nil }}
		h := DynamoDB(assemble(t, s, nil))
		first := make(chan error, 1)
		go func() {
			_, err := h.Invoke(t.Context(), []byte(records("a", "b")))
			first <- err
		}()
		synctest.Wait()
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if answer, err := h.Invoke(late, []byte(records("c"))); answer != nil || !errors.Is(err, errDeadline) {
			t.Errorf("beside another one: %s, %v", answer, err)
		}
		if _, err := h.Invoke(t.Context(), []byte(records("d"))); err != nil {
			t.Error(err)
		}
		if err := <-first; err != nil || s.keys() != "a b d" {
			t.Errorf("%v, written %q", err, s.keys())
		}
	})
}
