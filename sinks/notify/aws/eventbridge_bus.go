package aws

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/sinks/internal/queue"
	"github.com/tablewake/tablewake/sinks/notify"
)

// BusOptions configure an event bus of EventBridge.
type BusOptions struct {
	Client   *eventbridge.Client // required
	Bus      string              // required: name or ARN; calls go to the Region of an ARN
	MaxBytes int                 // largest size of a call's entries, below 1 MB. Default: 256 KiB
	Overflow Overflow            // stores the data of larger events. Default: none; larger events are permanent errors
	Create   bool                // a missing bus is created. Default: a missing bus is an error
}

// Bus puts events on an EventBridge bus. The detail of an entry is the CloudEvent. The detail-type is the event's type,
// and the source is its source. EventBridge refuses integers beyond 64 bits, so the data of an event with such an
// integer goes to Overflow.
//
// The trace context is only in the CloudEvent, since the TraceHeader of an entry has the format of X-Ray. A Bus is safe
// for concurrent use.
type Bus struct {
	publisher
	client *eventbridge.Client
	bus    string
}

var _ notify.Store = (*Bus)(nil)

// NewBus checks that the bus exists. If the bus is missing, the error is marked pipeline.Fatal.
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
	b.publisher = publisher{target: b, name: "bus " + o.Bus[strings.LastIndexAny(o.Bus, "/:")+1:], maxBytes: o.MaxBytes,
		overflow: o.Overflow}
	b.maxBytes = cmp.Or(b.maxBytes, queue.DefaultMaxBytes)
	if err := queue.Ensure(ctx, o.Create, b.checkExists, b.create); err != nil {
		return nil, err
	}
	return b, nil
}

// checkExists returns an error if the bus does not exist.
func (b *Bus) checkExists(ctx context.Context) error {
	_, err := b.client.DescribeEventBus(ctx, &eventbridge.DescribeEventBusInput{Name: &b.bus}, b.region)
	if err == nil || awserr.IsForbidden(err) { // a role may have no right except PutEvents
		return nil
	}
	return b.wrapError(ctx, "DescribeEventBus", err)
}

// create creates the bus in the account of the client.
func (b *Bus) create(ctx context.Context) error {
	in := &eventbridge.CreateEventBusInput{Name: aws.String(b.bus[strings.LastIndexByte(b.bus, '/')+1:])}
	out, err := b.client.CreateEventBus(ctx, in, b.region)
	if err != nil {
		return b.wrapError(ctx, "CreateEventBus", err)
	}
	if regionOf(b.bus) == "" {
		return nil // a name without a Region always names a bus of the client's account
	}
	if err := queue.CheckCreated(aws.ToString(out.EventBusArn), b.bus); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

func (b *Bus) region(o *eventbridge.Options) {
	if r := regionOf(b.bus); r != "" {
		o.Region = r
	}
}

func (b *Bus) wrapError(ctx context.Context, op string, err error) error {
	return awserr.CallError(ctx, b.op(op), err, hints(b.name, "events:"+op))
}

// timeBytes is the size that EventBridge counts for the time of an entry.
const timeBytes = 14

func (b *Bus) weigh(m *notify.Message, body []byte) (n int, refused string) {
	n = len(m.Source) + len(m.Type) + len(body)
	if !m.Time.IsZero() {
		n += timeBytes
	}
	if hasLongInteger(body) {
		refused = "integers beyond 64 bits"
	}
	return n, refused
}

func (b *Bus) send(ctx context.Context, ms []outgoing) ([]error, error) {
	in := &eventbridge.PutEventsInput{}
	for _, m := range ms {
		entry := types.PutEventsRequestEntry{EventBusName: &b.bus, Source: &m.Source, DetailType: &m.Type,
			Detail: new(string(m.body))}
		if !m.Time.IsZero() {
			entry.Time = &m.Time
		}
		in.Entries = append(in.Entries, entry)
	}
	out, err := b.client.PutEvents(ctx, in, b.region)
	if err != nil {
		return nil, b.wrapError(ctx, "PutEvents", err)
	}
	answers := newAnswers(len(ms))
	for i, entry := range out.Entries[:min(len(ms), len(out.Entries))] {
		switch {
		case entry.ErrorCode != nil:
			answers[i] = awserr.EntryError(b.op("PutEvents"), *entry.ErrorCode, false, hints(b.name, "events:PutEvents"))
		case aws.ToString(entry.EventId) != "":
			answers[i] = nil
		}
	}
	return answers, nil
}

// hasLongInteger reports whether a JSON text contains an integer that does not fit into an int64.
func hasLongInteger(text []byte) bool {
	inString := false
	for i := 0; i < len(text); i++ {
		switch {
		case inString && text[i] == '\\':
			i++ // the escaped character does not end the string
		case text[i] == '"':
			inString = !inString
		case !inString && isNumberByte(text[i]):
			number := leadingNumber(text[i:])
			if isBeyondInt64(number) {
				return true
			}
			i += len(number) - 1
		}
	}
	return false
}

// leadingNumber returns the number with which text begins.
func leadingNumber(text []byte) []byte {
	end := slices.IndexFunc(text, func(c byte) bool { return !isNumberByte(c) })
	if end < 0 {
		return text
	}
	return text[:end]
}

func isNumberByte(c byte) bool { return c == '-' || c == '.' || '0' <= c && c <= '9' }

// isBeyondInt64 reports whether a number is an integer that int64 cannot hold.
func isBeyondInt64(number []byte) bool {
	if len(number) < 19 || bytes.ContainsRune(number, '.') {
		return false
	}
	_, err := strconv.ParseInt(string(number), 10, 64)
	return err != nil
}
