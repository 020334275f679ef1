package aws_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/notify"
)

// eachFake runs a test with the fakes of the three services.
func eachFake(t *testing.T, test func(t *testing.T, open func(*fake) notify.Store)) {
	for name, open := range fakes {
		t.Run(name, func(t *testing.T) {
			test(t, func(f *fake) notify.Store { return open(t, f) })
		})
	}
}

// A failed entry fails only its message. The code and the fault decide whether the message is refused, tried again or
// fatal. No later message of its item is sent.
func TestPublish_PartOfACallFails(t *testing.T) {
	verdicts := map[string]verdict{
		"a1": {"InvalidMessageContents", true}, "b1": {"ThrottlingException", true}, "c1": {"InternalFailure", false}, "d1": {"AccessDeniedException", true},
	}
	eachFake(t, func(t *testing.T, open func(*fake) notify.Store) {
		f := &fake{judge: func(id string) verdict { return verdicts[id] }}
		store := open(f)
		ms := messages("a1 b1 c1 a2 d1 e1 b2 e2 a3")
		err := store.Publish(t.Context(), ms)
		if got, want := outcome(ms, err), "a1:refused b1:again c1:again a2:again d1:fatal e1:ok b2:again e2:ok a3:again"; got != want {
			t.Errorf("outcome %s\nwant    %s", got, want)
		}
		if got := strings.Join(f.taken, " "); got != "e1 e2" {
			t.Errorf("it took %s", got)
		}
		batch, _ := errors.AsType[*pipeline.BatchError](err)
		for i, err := range batch.Failed {
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: the server's text is shown: %v", ms[i].ID, err)
			}
		}
	})
}

// If the answer does not contain an entry, its message does not count as sent.
func TestPublish_AnswersForFewer(t *testing.T) {
	eachFake(t, func(t *testing.T, open func(*fake) notify.Store) {
		ms := messages("a1 b1 c1")
		err := open(&fake{judge: func(id string) verdict {
			if id == "c1" {
				return verdict{code: "-"}
			}
			return verdict{}
		}}).Publish(t.Context(), ms)
		if got, want := outcome(ms, err), "a1:ok b1:ok c1:again"; got != want {
			t.Errorf("outcome %s, want %s", got, want)
		}
	})
}

// If a whole call is throttled or forbidden, all its messages fail. If a call is refused because of one message,
// Publish finds this message and sends the others.
func TestPublish_ACallFails(t *testing.T) {
	ms := messages("a1 b1 c1 a2 d1")
	for _, test := range []struct {
		code  string
		of    string // each call with this message fails
		want  string
		calls int
	}{
		{"ThrottlingException", "a1", "a1:again b1:again c1:again a2:again d1:again", 1},
		{"ThrottlingException", "a2", "a1:ok b1:ok c1:ok a2:again d1:ok", 2},
		{"AccessDeniedException", "a1", "a1:fatal b1:fatal c1:fatal a2:again d1:fatal", 1},
		{"ValidationException", "b1", "a1:ok b1:refused c1:ok a2:ok d1:ok", 6},
	} {
		eachFake(t, func(t *testing.T, open func(*fake) notify.Store) {
			f := &fake{whole: func(ids []string) string {
				if slices.Contains(ids, test.of) {
					return test.code
				}
				return ""
			}}
			err := open(f).Publish(t.Context(), ms)
			if got := outcome(ms, err); got != test.want || len(f.calls) != test.calls {
				t.Errorf("%s of %s: outcome %s in the calls %q\nwant %s in %d", test.code, test.of, got, f.calls, test.want, test.calls)
			}
		})
	}
}

// Whatever fails and however often it is retried, a call has at most ten messages and at most one message of an item.
// Each message is sent, and the messages of an item are sent in order.
func TestPublish_Property(t *testing.T) {
	eachFake(t, func(t *testing.T, open func(*fake) notify.Store) {
		rapid.Check(t, func(rt *rapid.T) {
			var list []string
			for i := range rapid.IntRange(1, 60).Draw(rt, "messages") {
				list = append(list, fmt.Sprintf("%c%02d", 'a'+rapid.IntRange(0, 12).Draw(rt, "key"), i))
			}
			faults := rapid.SliceOfN(rapid.IntRange(0, 9), 200, 200).Draw(rt, "faults")
			draw := func() int {
				if len(faults) == 0 {
					return 9
				}
				n := faults[0]
				faults = faults[1:]
				return n
			}
			f := &fake{
				judge: func(string) verdict {
					if draw() == 0 {
						return verdict{"InternalFailure", false}
					}
					return verdict{}
				},
				whole: func([]string) string {
					return []string{"ThrottlingException", "", "", "", "", "", "", "", "", ""}[draw()]
				},
			}
			store := open(f)
			rest := messages(strings.Join(list, " "))
			for len(rest) > 0 {
				err := store.Publish(t.Context(), rest)
				var again []notify.Message
				for i, o := range strings.Fields(outcome(rest, err)) {
					if !strings.HasSuffix(o, ":ok") {
						again = append(again, rest[i])
					}
				}
				rest = again
			}
			last := map[byte]string{}
			for _, id := range f.taken {
				if id <= last[id[0]] {
					rt.Fatalf("%s was taken behind %s", id, last[id[0]])
				}
				last[id[0]] = id
			}
			if slices.Sort(f.taken); !slices.Equal(f.taken, slices.Sorted(slices.Values(list))) {
				rt.Fatalf("taken %v of %v", f.taken, list)
			}
			for _, call := range f.calls {
				keys := map[byte]bool{}
				for _, id := range strings.Fields(call) {
					if keys[id[0]] {
						rt.Fatalf("one call has two of an item: %s", call)
					}
					keys[id[0]] = true
				}
				if len(keys) > 10 {
					rt.Fatalf("a call of %d messages", len(keys))
				}
			}
		})
	})
}

// If an answer is lost, the events are sent again. A FIFO queue recognizes the repeated events by their ids and keeps
// each of them once.
func TestPublish_TheAnswerIsLost(t *testing.T) {
	for _, of := range services {
		if of.name != "queue" && of.name != "fifo queue" {
			continue
		}
		t.Run(of.name, func(t *testing.T) {
			lose := true
			store, q := of.open(t, func(op string, r *http.Request, body []byte, send func([]byte) (*http.Response, error)) (*http.Response, error) {
				resp, err := send(body)
				if op == "SendMessageBatch" && lose && err == nil {
					lose = false
					return nil, errors.Join(syscall.ECONNRESET, resp.Body.Close())
				}
				return resp, err
			}, nil)
			ms := messages("a1 b1 a2")
			if got := outcome(ms, store.Publish(t.Context(), ms)); got != "a1:again b1:again a2:again" {
				t.Fatal(got)
			}
			if err := store.Publish(t.Context(), ms); err != nil {
				t.Fatal(err)
			}
			want := "a1 a1 a2 b1 b1"
			if of.name == "fifo queue" {
				want = "a1 a2 b1"
			}
			if got := slices.Sorted(slices.Values(strings.Fields(q.ids(t)))); strings.Join(got, " ") != want {
				t.Errorf("arrived %s, want %s", got, want)
			}
		})
	}
}

// On a FIFO queue or topic, each item is a message group, so the events of an item stay in order.
func TestPublish_FIFO(t *testing.T) {
	for _, of := range services {
		if !strings.HasPrefix(of.name, "fifo") {
			continue
		}
		t.Run(of.name, func(t *testing.T) {
			var calls counting
			store, q := of.open(t, calls.tap, nil)
			if err := store.Publish(t.Context(), messages("a1 b1 a2 b2 a3")); err != nil {
				t.Fatal(err)
			}
			got, err := q.drain()
			if err != nil {
				t.Fatal(err)
			}
			groups, order := map[string]string{}, map[string]string{}
			for _, m := range got {
				id := idOf(*m.Body)
				groups[id[:1]] = m.Attributes["MessageGroupId"]
				order[id[:1]] += id + " "
				if d := m.Attributes["MessageDeduplicationId"]; d != id {
					t.Errorf("the event %s has the deduplication id %s", id, d)
				}
			}
			if len(groups["a"]) != 64 || groups["a"] == groups["b"] || order["a"] != "a1 a2 a3 " || order["b"] != "b1 b2 " {
				t.Errorf("groups %v in the order %v", groups, order)
			}
			if n := calls.n["SendMessageBatch"] + calls.n["PublishBatch"]; n != 3 {
				t.Errorf("%d calls, want 3", n)
			}
		})
	}
}

// If the context of a Publish is cancelled, the errors are transient.
func TestPublish_Canceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store := fakes["queue"](t, &fake{})
	ms := messages("a1 b1")
	if got := outcome(ms, store.Publish(ctx, ms)); got != "a1:again b1:again" {
		t.Error(got)
	}
	if err := store.Publish(t.Context(), nil); err != nil {
		t.Errorf("nothing to publish: %v", err)
	}
}

// A message of a topic has the type of its event as an attribute, so that filter policies can use the type.
func TestPublish_TypeOfATopicsMessage(t *testing.T) {
	store, q := newTopic(t, false, nil, nil)
	if err := store.Publish(t.Context(), messages("a1")); err != nil {
		t.Fatal(err)
	}
	got, err := q.drain()
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if a := got[0].MessageAttributes["type"]; a.StringValue == nil || *a.StringValue != "tablewake.test.x" {
		t.Errorf("attributes %v", got[0].MessageAttributes)
	}
}
