package aws_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/notify/aws"
)

// bucket is an Overflow that keeps objects in memory.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	fail    error
}

var _ aws.Overflow = (*bucket)(nil)

func (b *bucket) Put(_ context.Context, name string, body []byte) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return "", b.fail
	}
	if b.objects == nil {
		b.objects = map[string][]byte{}
	}
	uri := "s3://archive/" + name
	if was, ok := b.objects[uri]; ok && string(was) != string(body) {
		return "", errors.New("another body under the same name")
	}
	b.objects[uri] = body
	return uri, nil
}

func (b *bucket) get(_ context.Context, uri string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.objects[uri], nil
}

// large returns an event whose data has n bytes or a little more.
func large(id string, n int) notify.Message {
	m := messages(id)[0]
	m.Body = fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"table/test","type":"tablewake.test.x","data":{"text":%q}}`, id, strings.Repeat("x", n))
	return m
}

// If an event is too large, the store puts its data into the Overflow and sends the event with a reference. If the
// Overflow fails, the event fails. Events of other items arrive.
func TestOverflow(t *testing.T) {
	for _, of := range services {
		t.Run(of.name, func(t *testing.T) {
			b := &bucket{}
			store, q := of.open(t, nil, b)
			ms := append(messages("a1"), large("b1", 300<<10), messages("c1")[0])
			for range 2 { // the second time the data is already in the bucket
				if err := store.Publish(t.Context(), ms); err != nil {
					t.Fatal(err)
				}
			}
			got, err := q.drain()
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]string{}
			for _, m := range got {
				e, err := event(*m.Body)
				if err != nil {
					t.Fatal(err)
				}
				seen[e.ID] = e.DataRef
				if e.ID != "b1" {
					continue
				}
				whole, err := notify.Resolve(t.Context(), detailOf(*m.Body), b.get)
				if err != nil {
					t.Fatal(err)
				}
				if back, err := event(string(whole)); err != nil || string(back.Data) != string(ms[1].Data()) {
					t.Errorf("resolved its data has %d bytes, want %d (%v)", len(back.Data), len(ms[1].Data()), err)
				}
			}
			if want := "map[a1: b1:s3://archive/events/b1.json c1:]"; fmt.Sprint(seen) != want {
				t.Errorf("arrived %v, want %s", seen, want)
			}

			for _, fail := range []error{pipeline.Transient(errors.New("down")), pipeline.Permanent(errors.New("refused"))} {
				b.fail = fail
				_, retry := pipeline.Retryable(fail)
				want := "b2:" + map[bool]string{true: "again", false: "refused"}[retry] + " b3:again d1:ok"
				ms := []notify.Message{large("b2", 300<<10), messages("b3")[0], messages("d1")[0]}
				if got := outcome(ms, store.Publish(t.Context(), ms)); got != want {
					t.Errorf("the bucket fails: %s, want %s", got, want)
				}
			}
		})
	}
}

func TestOverflow_Nowhere(t *testing.T) {
	for name, open := range fakes {
		f := &fake{}
		ms := []notify.Message{large("a1", 300<<10), messages("b1")[0], messages("a2")[0]}
		err := open(t, f).Publish(t.Context(), ms)
		if got, want := outcome(ms, err), "a1:refused b1:ok a2:again"; got != want {
			t.Errorf("%s: outcome %s, want %s", name, got, want)
		}
		if !strings.Contains(err.Error(), "takes 262144 bytes") || !strings.Contains(err.Error(), "name an archive with a bucket") {
			t.Errorf("%s: it does not say what to do: %v", name, err)
		}
	}
}

// A call contains at most the allowed number of bytes. A message that does not fit is sent in the next call.
func TestPublish_Bytes(t *testing.T) {
	for name, open := range fakes {
		f := &fake{}
		ms := []notify.Message{large("a1", 120<<10), large("b1", 120<<10), large("c1", 120<<10), large("d1", 10<<10), large("a2", 120<<10)}
		if err := open(t, f).Publish(t.Context(), ms); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(f.calls, " | "); got != "a1 b1 d1 | c1 a2" {
			t.Errorf("%s: the calls are %s", name, got)
		}
	}
}

// A bus does not accept integers of more than 64 bits. The data of an event with such an integer goes to the Overflow,
// like the data of a large event. Digits in texts and in fractions do not matter.
func TestBus_LongIntegers(t *testing.T) {
	for data, takes := range map[string]bool{
		`9223372036854775807`: true, `-9223372036854775808`: true, `0.12345678901234567890123456789`: true, `"99999999999999999999999"`: true,
		`"\"99999999999999999999999"`: true, `[1234567890,1234567890]`: true,
		`9223372036854775808`: false, `-9223372036854775809`: false, `[1,99999999999999999999999999999999999999]`: false,
	} {
		f := &fake{}
		m := messages("a1")[0]
		m.Body = fmt.Appendf(nil, `{"id":"a1","data":{"new":%s}}`, data)
		ms := []notify.Message{m}
		want := map[bool]string{true: "a1:ok", false: "a1:refused"}[takes]
		if got := outcome(ms, fakes["bus"](t, f).Publish(t.Context(), ms)); got != want {
			t.Errorf("%s: %s, want %s", data, got, want)
		}
	}
	b := &bucket{}
	store, q := newBus(t, nil, b)
	m := messages("a1")[0]
	m.Body = []byte(`{"id":"a1","data":{"new":99999999999999999999999999999999999999}}`)
	if err := store.Publish(t.Context(), []notify.Message{m}); err != nil {
		t.Fatal(err)
	}
	if got := q.ids(t); got != "a1" || len(b.objects) != 1 {
		t.Errorf("arrived %q, with %d objects", got, len(b.objects))
	}
}
