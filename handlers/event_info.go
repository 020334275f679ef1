package handlers

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/jsoncursor"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// origin is the name of the service that an event comes from. The records of an event have it as eventSource.
type origin string

// The known origins.
const (
	fromDynamoDB origin = "aws:dynamodb"
	fromKinesis  origin = "aws:kinesis"
	fromSQS      origin = "aws:sqs"
	fromCommand  origin = "tablewake" // a command, an event with the member "tablewake"
)

// eventInfo describes an event before it is decoded.
type eventInfo struct {
	origin     origin // "" if the event names no origin
	isObject   bool   // the event is a JSON object
	hasRecords bool   // the event has an array of records
	noRecords  bool   // the event has Records, but no record in them
	command    string // value of the member "tablewake"
}

// detectEvent reads the eventInfo of an event. It stops at the first record that names its origin, which is usually the
// first one.
func detectEvent(b []byte) eventInfo {
	var info eventInfo
	c := jsoncursor.New(b)
	info.isObject = c.Peek() == '{'
	for name := range c.Members() {
		switch jsoncursor.Unquote(name) {
		case "Records":
			info.hasRecords, info.noRecords = c.Peek() == '[', true
			for range c.Elements() {
				info.noRecords = false
				if info.origin = readOrigin(&c); info.origin != "" {
					return info
				}
			}
		case "eventSourceARN": // a tumbling window's event has it, even without records
			parts := strings.SplitN(jsoncursor.Unquote(c.Text()), ":", 4)
			if isARN := len(parts) == 4 && parts[0] == "arn"; isARN && info.origin == "" {
				info.origin = origin("aws:" + parts[2])
			}
		case "tablewake":
			if info.command = jsoncursor.Unquote(c.Text()); info.command != "" {
				info.origin = fromCommand
			}
		}
	}
	return info
}

// readOrigin returns the origin that the next record names, or "" if the record names none.
func readOrigin(c *jsoncursor.Cursor) (from origin) {
	for name := range c.Members() {
		if jsoncursor.Means(name, "eventSource") || jsoncursor.Means(name, "EventSource") {
			if from = origin(jsoncursor.Unquote(c.Text())); from != "" {
				break
			}
		}
	}
	return from
}

// accepts returns nil if the handler accepts the event, and otherwise an error with the reason.
func (h *handler) accepts(info eventInfo) error {
	switch {
	case info.hasRecords && (slices.Contains(h.acceptedOrigins, info.origin) || info.origin == "" && info.noRecords):
		return nil
	case info.origin == fromCommand && slices.Contains(h.acceptedOrigins, info.origin):
		return nil
	case info.origin == fromCommand:
		return errs.Errorf(
			"the event is a command of tablewake, and this handler takes events of %s: send it to a function of handlers.All or handlers.OnFailure", redact.Safe(h.originNames()))
	case info.hasRecords && info.origin != "":
		return errs.Errorf(
			"the event comes from %s, and this handler takes events of %s: point the function's event source mapping there, or use the handler for this source (handlers.All accepts all sources)", redact.Safe(info.origin.safeName()), redact.Safe(h.originNames()))
	case info.hasRecords:
		return errs.Errorf(
			"the event's records name no eventSource, and events of %s do: invoke the function by an event source mapping, or with a copy of such an event", redact.Safe(h.originNames()))
	case info.isObject:
		return errs.Errorf(
			"the event has no Records, and events of %s do: invoke the function by an event source mapping, or with a copy of such an event", redact.Safe(h.originNames()))
	}
	return errs.New(
		"the event is not a JSON object: invoke the function by an event source mapping, or with a copy of such an event")
}

// originNames lists the origins that the handler accepts.
func (h *handler) originNames() string {
	var names []string
	for _, o := range h.acceptedOrigins {
		if o != fromCommand {
			names = append(names, string(o))
		}
	}
	return strings.Join(names, ", ")
}

// safeName returns o if it looks like the name of a service. Otherwise o may contain data, and safeName returns "an
// unknown source".
func (o origin) safeName() string {
	service, ok := strings.CutPrefix(string(o), "aws:")
	if !ok || len(service) > 20 || strings.ContainsFunc(service,
		func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		return "an unknown source"
	}
	return string(o)
}
