package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/notify"
)

// Refer replaces only the data of an event by a reference, and Resolve restores the whole event. Texts that look like
// the member data are not changed.
func TestRefer(t *testing.T) {
	const uri = `s3://shop-archive/changes/events/x.json`
	c := change(t, "MODIFY", `a,\"data\":{`, "")
	d := pipeline.Delivery{Change: c, Events: []pipeline.Event{{Detector: `x,"data":`, Path: `,"data":`, New: item.StringValue(`,"data":1}`), Change: c}}}
	if err := newSink(t, &publisher{}).Plan(&d); err != nil {
		t.Fatal(err)
	}
	m := d.Ops[0].(*notify.Message)
	whole, small := members(t, m.Body), members(t, m.WithDataRef(uri))
	if string(whole["data"]) != string(m.Data()) || !json.Valid(m.Data()) {
		t.Errorf("the data is %s, want %s", m.Data(), whole["data"])
	}
	if string(small["dataref"]) != `"`+uri+`"` {
		t.Errorf("it refers to %s", small["dataref"])
	}
	got, err := notify.Resolve(t.Context(), m.WithDataRef(uri), func(_ context.Context, at string) ([]byte, error) {
		if at != uri {
			t.Errorf("the data is looked for at %s", at)
		}
		return m.Data(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if back := members(t, got); !reflect.DeepEqual(back, whole) {
		t.Errorf("resolved it is\n%s, want\n%s", got, m.Body)
	}
	delete(small, "dataref")
	delete(whole, "data")
	if !reflect.DeepEqual(small, whole) {
		t.Errorf("besides its data it is %s, want %s", small, whole)
	}
}

func TestResolve_Whole(t *testing.T) {
	never := func(context.Context, string) ([]byte, error) { return nil, errors.New("asked for the data") }
	for _, event := range []string{`{"id":"1","data":{}}`, `{"id":"1"}`, `{"id":"1","data":1,"dataref":"s3://b/k"}`} {
		if got, err := notify.Resolve(t.Context(), []byte(event), never); err != nil || string(got) != event {
			t.Errorf("%s becomes %s (%v)", event, got, err)
		}
	}
	for _, event := range []string{`[]`, `{`, `{"dataref":1}`, `{"dataref":"s3://b/k"}`} {
		if got, err := notify.Resolve(t.Context(), []byte(event), never); err == nil {
			t.Errorf("%s becomes %s", event, got)
		}
	}
	if m := (&notify.Message{Body: []byte(`{"id":"1"}`)}); m.Data() != nil || string(m.WithDataRef("s3://b/k")) != `{"id":"1"}` {
		t.Errorf("an event without data refers to some: %s", m.WithDataRef("s3://b/k"))
	}
}

func members(t *testing.T, event []byte) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(event, &m); err != nil {
		t.Fatalf("%v in %s", err, event)
	}
	return m
}
