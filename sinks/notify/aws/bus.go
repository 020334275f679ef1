package aws

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/sinks/internal/queue"
	"github.com/tablewake/tablewake/sinks/notify"
)

// BusOptions describe an event bus of EventBridge.
type BusOptions struct {
	Client   *eventbridge.Client // required
	Bus      string              // required: its name or ARN; the Region of an ARN is that of the calls
	MaxBytes int                 // of an entry, and of the entries of a call, below 1 MB. Default: 256 KiB
	Overflow Overflow            // where the data of larger events goes. Default: none; they are permanent errors
}

// Bus puts events on an EventBridge bus: the whole CloudEvent is the detail, its
// type the detail-type, its source the source. A bus takes no integers beyond 64 bits:
// the data of an event that has one goes where that of large events does. The
// trace that an event is sent in stands in the CloudEvent alone: an entry's TraceHeader takes
// X-Ray's form only. It is safe for concurrent use.
type Bus struct {
	publisher
	client *eventbridge.Client
	bus    string
}

var _ notify.Store = (*Bus)(nil)

// NewBus looks whether the bus is there. An error that is marked pipeline.Fatal is
// of a bus that is missing.
func NewBus(ctx context.Context, o BusOptions) (*Bus, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("notify: Client is nil: give an EventBridge client")
	case o.Bus == "":
		return nil, errors.New("notify: Bus is empty: give the bus's name or ARN")
	case o.MaxBytes < 0:
		return nil, fmt.Errorf("notify: MaxBytes is %d: give a size in bytes", o.MaxBytes)
	}
	b := &Bus{client: o.Client, bus: o.Bus}
	b.publisher = publisher{target: b, name: "bus " + o.Bus[strings.LastIndexAny(o.Bus, "/:")+1:], maxBytes: o.MaxBytes, overflow: o.Overflow}
	b.maxBytes = cmp.Or(b.maxBytes, queue.DefaultMaxBytes)
	_, err := b.client.DescribeEventBus(ctx, &eventbridge.DescribeEventBusInput{Name: &b.bus}, b.region)
	if err != nil && !awserr.Forbidden(err) { // a role may do nothing but put
		return nil, b.failed(ctx, "DescribeEventBus", err)
	}
	return b, nil
}

func (b *Bus) region(o *eventbridge.Options) {
	if r := regionOf(b.bus); r != "" {
		o.Region = r
	}
}

func (b *Bus) failed(ctx context.Context, op string, err error) error {
	return awserr.Call(ctx, b.op(op), err, hints(b.name, "events:"+op))
}

// timeBytes is what the time of an entry counts.
const timeBytes = 14

func (b *Bus) weigh(m *notify.Message, body []byte) (n int, refuses string) {
	n = len(m.Source) + len(m.Type) + len(body)
	if !m.Time.IsZero() {
		n += timeBytes
	}
	if longInteger(body) {
		refuses = "integers beyond 64 bits"
	}
	return n, refuses
}

func (b *Bus) send(ctx context.Context, ms []outgoing) ([]error, error) {
	in := &eventbridge.PutEventsInput{}
	for _, m := range ms {
		e := types.PutEventsRequestEntry{EventBusName: &b.bus, Source: &m.Source, DetailType: &m.Type, Detail: new(string(m.body))}
		if !m.Time.IsZero() {
			e.Time = &m.Time
		}
		in.Entries = append(in.Entries, e)
	}
	out, err := b.client.PutEvents(ctx, in, b.region)
	if err != nil {
		return nil, b.failed(ctx, "PutEvents", err)
	}
	errs := newAnswers(len(ms)).errs
	for i, e := range out.Entries[:min(len(ms), len(out.Entries))] {
		switch {
		case e.ErrorCode == nil && aws.ToString(e.EventId) != "":
			errs[i] = nil
		case e.ErrorCode != nil:
			errs[i] = awserr.Entry(b.op("PutEvents"), *e.ErrorCode, false, hints(b.name, "events:PutEvents"))
		}
	}
	return errs, nil
}

// longInteger tells whether a JSON text holds an integer beyond int64.
func longInteger(b []byte) bool {
	quoted, from := false, -1 // from: where a number began
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch number := c == '-' || c == '.' || '0' <= c && c <= '9'; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case number && from < 0:
			from = i
		case !number && from >= 0:
			if n := b[from:i]; len(n) >= 19 && !bytes.ContainsRune(n, '.') {
				if _, err := strconv.ParseInt(string(n), 10, 64); err != nil {
					return true
				}
			}
			from = -1
		}
	}
	return false
}
