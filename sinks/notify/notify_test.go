package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/notify"
)

// publisher is a store that records the detectors of its events and returns the error fail.
type publisher struct {
	sent []string // detectors of the published events
	fail error
}

func (p *publisher) Publish(_ context.Context, ms []notify.Message) error {
	for _, m := range ms {
		p.sent = append(p.sent, strings.TrimPrefix(m.Type, "tablewake.shop."))
	}
	return p.fail
}

const arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678"

// change returns a change of the item pk.
func change(t *testing.T, op, pk string, identity string) *record.Change {
	t.Helper()
	image := `,"NewImage":{"PK":{"S":"` + pk + `"},"SK":{"N":"1"}}`
	if op == "REMOVE" {
		image = ""
	}
	page, err := record.NewDecoder(record.DecoderOptions{}).Decode([]byte(`{"eventID":"1","eventName":"` + op + `","eventSourceARN":"` + arn + `"` + identity +
		`,"dynamodb":{"Keys":{"PK":{"S":"` + pk + `"},"SK":{"N":"1"}}` + image + `,"SequenceNumber":"100000000000000000001","ApproximateCreationDateTime":1767323045,"StreamViewType":"NEW_IMAGE"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Errors) > 0 {
		t.Fatal(page.Errors[0])
	}
	return &page.Changes[0]
}

// plan plans a change with one event for each detector in events.
func plan(t *testing.T, s *notify.Sink, c *record.Change, events ...string) pipeline.Delivery {
	t.Helper()
	d := pipeline.Delivery{Change: c}
	for _, detector := range events {
		d.Events = append(d.Events, pipeline.Event{Detector: detector, Change: c})
	}
	if err := s.Plan(&d); err != nil {
		t.Fatal(err)
	}
	return d
}

func newSink(t *testing.T, store notify.Store, events ...string) *notify.Sink {
	t.Helper()
	s, err := notify.New(notify.Options{Pipeline: "shop", Store: store, Events: events})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCloudEvent(t *testing.T) {
	c := change(t, "MODIFY", "ORDER#1", "")
	d := pipeline.Delivery{Change: c, Events: []pipeline.Event{
		{Detector: "order_completed", Path: "Status", Old: item.StringValue("paid"), New: item.StringValue("completed"), Change: c},
		{Detector: "vip", Ordinal: 1, Change: c},
	}}
	if err := newSink(t, &publisher{}).Plan(&d); err != nil {
		t.Fatal(err)
	}
	version := "1767323045" + strings.Repeat("0", 19) + "100000000000000000001"
	const rest = `"op":"MODIFY","table":"shop","keys":{"PK":"ORDER#1","SK":1}`
	head := func(id, kind string) string {
		return `{"specversion":"1.0","id":"` + id + `","source":"` + arn + `","type":"tablewake.shop.` + kind + `","subject":"ORDER%231,+1","time":"2026-01-02T03:04:05Z",` +
			`"datacontenttype":"application/json","sequence":"` + version + `","data":`
	}
	for i, want := range []string{
		head(d.Events[0].ID(), "order_completed") + `{"detector":"order_completed","path":"Status",` + rest + `,"old":"paid","new":"completed"}}`,
		head(d.Events[1].ID(), "vip") + `{"detector":"vip",` + rest + `}}`,
	} {
		m := d.Ops[i].(*notify.Message)
		if got := string(m.Body); got != want || !json.Valid(m.Body) {
			t.Errorf("event\n%s, want\n%s", got, want)
		}
		if m.Key != c.Key || m.ID != d.Events[i].ID() {
			t.Errorf("message %+v", m)
		}
	}
	if got, want := d.Ops[0].String(), "send tablewake.shop.order_completed of ORDER%231,+1 (id "+d.Events[0].ID()+")"; got != want {
		t.Errorf("op %q, want %q", got, want)
	}
}

func paths(t *testing.T, texts ...string) (ps []item.Path) {
	t.Helper()
	for _, text := range texts {
		p, err := item.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	return ps
}

// An event contains the given attributes of the new image, or of the old image if there is no new image.
func TestAttributes(t *testing.T) {
	s, err := notify.New(notify.Options{Pipeline: "shop", Store: &publisher{}, Attributes: paths(t, "Name", "Lines[0].sku", "No", "Name", `["a b"]`)})
	if err != nil {
		t.Fatal(err)
	}
	newImage, oldImage := `{"SK":{"N":"1"},"Name":{"N":"1"},"Lines":{"L":[{"M":{"sku":{"S":"x"}}}]},"a b":{"NULL":true}}`, `{"SK":{"N":"1"},"Name":{"N":"2"},"No":{"S":"o"}}`
	for images, want := range map[string]string{
		`,"NewImage":` + newImage + `,"OldImage":` + oldImage: `,"attributes":{"Name":1,"Lines[0].sku":"x","[\"a b\"]":null}}}`,
		`,"OldImage":` + oldImage:                             `,"attributes":{"Name":2,"No":"o"}}}`,
		``:                                                    `,"attributes":{}}}`,
	} {
		page, err := record.NewDecoder(record.DecoderOptions{}).Decode([]byte(`{"eventName":"MODIFY","eventSourceARN":"` + arn + `","dynamodb":{"Keys":{"SK":{"N":"1"}},"SequenceNumber":"1"` + images + `}}`))
		if err != nil || len(page.Errors) > 0 {
			t.Fatal(err, page.Errors)
		}
		m := plan(t, s, &page.Changes[0], "vip").Ops[0].(*notify.Message)
		if !strings.HasSuffix(string(m.Body), want) || !json.Valid(m.Body) {
			t.Errorf("%s with %s: %s, want the end %s", page.Changes[0].Op, images, m.Body, want)
		}
	}
}

// In a global table, each Region has a stream with all changes. The options Region and Origin choose the stream whose
// changes raise the events.
func TestRegion(t *testing.T) {
	for _, tt := range []struct {
		region, origin, of, item string
		raises                   bool
	}{
		{"", "", "eu-west-1", `{}`, true},
		{"eu-west-1", "", "eu-west-1", `{}`, true},
		{"eu-west-1", "", "us-east-1", `{}`, false},
		{"eu-west-1", "", "", `{}`, true}, // a saved record without a Region
		{"", "Home.Region", "eu-west-1", `{"Home":{"M":{"Region":{"S":"eu-west-1"}}}}`, true},
		{"", "Home.Region", "us-east-1", `{"Home":{"M":{"Region":{"S":"eu-west-1"}}}}`, false},
		{"", "Home.Region", "us-east-1", `{"Home":{"S":"eu-west-1"}}`, true},
		{"", "Home.Region", "us-east-1", `{}`, true},
	} {
		o := notify.Options{Pipeline: "shop", Store: &publisher{}, Region: tt.region}
		if tt.origin != "" {
			o.Origin = paths(t, tt.origin)[0]
		}
		s, err := notify.New(o)
		if err != nil {
			t.Fatal(err)
		}
		it := strings.Replace(tt.item, "{", `{"PK":{"S":"a"},`, 1)
		it = strings.Replace(it, ",}", "}", 1)
		for _, images := range []string{`"NewImage":` + it + `,"OldImage":{"PK":{"S":"a"},"Home":{"M":{"Region":{"S":"mars"}}}}`, `"OldImage":` + it} {
			page, err := record.NewDecoder(record.DecoderOptions{Table: "shop", EpochZero: true}).Decode([]byte(`{"eventName":"MODIFY","awsRegion":"` + tt.of + `","dynamodb":{"Keys":{"PK":{"S":"a"}},"SequenceNumber":"1",` + images + `}}`))
			if err != nil || len(page.Errors) > 0 {
				t.Fatal(err, page.Errors)
			}
			d := plan(t, s, &page.Changes[0], "vip")
			if raises := len(d.Ops) == 1; raises != tt.raises || !raises && (d.Outcome != pipeline.NoEffect || d.Reason != notify.ReasonRegion) {
				t.Errorf("%+v with %s: %d events, %v %s", tt, images, len(d.Ops), d.Outcome, d.Reason)
			}
		}
	}
}

func TestPlan(t *testing.T) {
	const ttl = `,"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"}`
	for _, test := range []struct {
		name     string
		listen   []string
		c        *record.Change
		events   []string
		messages int
		reason   string
	}{
		{"all", nil, change(t, "MODIFY", "a", ""), []string{"x", "y", "x"}, 3, ""},
		{"some", []string{"x"}, change(t, "MODIFY", "a", ""), []string{"x", "y", "x"}, 2, ""},
		{"others", []string{"z"}, change(t, "MODIFY", "a", ""), []string{"x"}, 0, notify.ReasonNoEvent},
		{"none", nil, change(t, "MODIFY", "a", ""), nil, 0, notify.ReasonNoEvent},
		{"expired", nil, change(t, "REMOVE", "a", ttl), []string{"x"}, 0, notify.ReasonTTLDelete},
	} {
		d := plan(t, newSink(t, &publisher{}, test.listen...), test.c, test.events...)
		if len(d.Ops) != test.messages || d.Reason != test.reason || (d.Outcome == pipeline.NoEffect) != (test.messages == 0) {
			t.Errorf("%s: %d messages, outcome %v (%s)", test.name, len(d.Ops), d.Outcome, d.Reason)
		}
	}
}

// If a message fails, its change fails. Later changes of the same item fail too, so that they are delivered again in
// order. Changes of other items are written.
func TestFailedMessages(t *testing.T) {
	refused := pipeline.Permanent(errors.New("refused"))
	store := &publisher{}
	s := newSink(t, store)
	a, b := change(t, "MODIFY", "a", ""), change(t, "MODIFY", "b", "")
	ds := []pipeline.Delivery{plan(t, s, a, "x0"), plan(t, s, b, "x1", "x2"), plan(t, s, a, "x3"), plan(t, s, b, "x4"), plan(t, s, b, "x5")}
	var failed pipeline.BatchError
	failed.Add(2, refused) // the message x2
	store.fail = failed.OrNil()
	err := s.Write(t.Context(), ds)
	got, ok := errors.AsType[*pipeline.BatchError](err)
	if !ok || len(got.Failed) != 3 || !errors.Is(got.Failed[1], refused) {
		t.Fatalf("error %v, want failures of 1, 3 and 4", err)
	}
	for _, i := range []int{3, 4} {
		if _, retry := pipeline.Retryable(got.Failed[i]); !retry {
			t.Errorf("delivery %d, behind one that was refused: %v, want a transient error", i, got.Failed[i])
		}
	}
	if want := "[x0 x1 x2 x3 x4 x5]"; fmt.Sprint(store.sent) != want {
		t.Errorf("published %v, want %s", store.sent, want)
	}

	for _, wrong := range []map[int]error{{6: refused}, {-1: nil}, {0: nil}} {
		store.fail = &pipeline.BatchError{Failed: wrong}
		if err := s.Write(t.Context(), ds); err == nil {
			t.Errorf("the store failed messages %v, and all changes are written", wrong)
		}
	}

	store.fail = refused
	if err := s.Write(t.Context(), ds); !errors.Is(err, refused) {
		t.Errorf("the store's failure is reported as %v", err)
	}
	store.fail = nil
	if err := s.Write(t.Context(), ds); err != nil || ds[0].Outcome != pipeline.Written {
		t.Errorf("outcome %v, error %v", ds[0].Outcome, err)
	}
}

func TestNew(t *testing.T) {
	for want, o := range map[string]notify.Options{
		"Pipeline": {Store: &publisher{}},
		"Store":    {Pipeline: "shop"},
		"Events":   {Pipeline: "shop", Store: &publisher{}, Events: []string{""}},
	} {
		if _, err := notify.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one of %q", err, want)
		}
	}
}
