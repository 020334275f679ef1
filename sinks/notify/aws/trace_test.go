package aws_test

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
)

// Where messages have attributes the trace stands in them too, and a message without one has
// none. On a bus it is in the event alone.
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
