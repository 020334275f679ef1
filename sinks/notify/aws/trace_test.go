package aws_test

import (
	"fmt"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
)

// Messages of queues and topics also have the trace as attributes. A message without a trace does not have these
// attributes. On a bus, only the event contains the trace.
func TestPublish_TraceAttributes(t *testing.T) {
	const parent, state = "00-01000000000000000000000000000000-0200000000000000-01", "vendor=1"
	for _, of := range services {
		t.Run(of.name, func(t *testing.T) {
			store, q := of.open(t, nil, nil)
			ms := messages("a1 b1 c1")
			ms[1].TraceParent, ms[2].TraceParent, ms[2].TraceState = parent, parent, state
			if err := store.Publish(t.Context(), ms); err != nil {
				t.Fatal(err)
			}
			got, err := q.drain()
			if err != nil || len(got) != 3 {
				t.Fatal(got, err)
			}
			for _, m := range got {
				want := map[string][2]string{"a1": {}, "b1": {parent, ""}, "c1": {parent, state}}[idOf(*m.Body)]
				if of.name == "bus" {
					want = [2]string{}
				}
				for i, name := range []string{"traceparent", "tracestate"} {
					if a := m.MessageAttributes[name]; sdk.ToString(a.StringValue) != want[i] {
						t.Errorf("the %s of %s is %q, want %q", name, idOf(*m.Body), sdk.ToString(a.StringValue), want[i])
					}
				}
			}
		})
	}
}

// If an event fits into a message only without its trace, the store sends it without its trace. It does not move the
// data to the Overflow.
func TestPublish_TraceIsNoBurden(t *testing.T) {
	const parent = "00-01000000000000000000000000000000-0200000000000000-01"
	for name, open := range fakes {
		f := &fake{}
		ms := messages("a1 b1")
		for i, n := range []int{262144 - 400, 262144 - 100} { // sizes without traces; a trace fits only into a1
			m := &ms[i]
			m.TraceParent, m.TraceState = parent, "vendor=1"
			m.Body = fmt.Appendf(nil, `{"id":%q,"traceparent":%q,"tracestate":"vendor=1","data":{"text":"`, m.ID, parent)
			bare := len(m.WithoutTrace().Body)
			m.Body = append(m.Body, strings.Repeat("x", n-bare)+`"}}`...)
		}
		if err := open(t, f).Publish(t.Context(), ms); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		untraced := ms[1].WithoutTrace()
		if f.bodies["a1"] != string(ms[0].Body) || f.bodies["b1"] != string(untraced.Body) {
			t.Errorf("%s: of %d and %d bytes %d and %d arrived, want %d of the second", name,
				len(ms[0].Body), len(ms[1].Body), len(f.bodies["a1"]), len(f.bodies["b1"]), len(untraced.Body))
		}
	}
}
