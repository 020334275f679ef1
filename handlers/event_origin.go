package handlers

import (
	"cmp"
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
	isEmpty    bool   // the array of records is empty
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
			if info.readRecords(&c) {
				return info
			}
		case "eventSourceARN": // a tumbling window's event has it, even without records
			info.origin = cmp.Or(info.origin, originOfARN(jsoncursor.Unquote(c.Text())))
		case "tablewake":
			info.command = jsoncursor.Unquote(c.Text())
			if info.command != "" {
				info.origin = fromCommand
			}
		}
	}
	return info
}

// readRecords reads the value of the member "Records", up to the first record that names its origin. It reports whether
// a record does.
func (info *eventInfo) readRecords(c *jsoncursor.Cursor) (isNamed bool) {
	info.hasRecords = c.Peek() == '['
	info.isEmpty = info.hasRecords
	for range c.Elements() {
		info.isEmpty = false
		if named := readOrigin(c); named != "" {
			info.origin = named
			return true
		}
	}
	return false
}

// originOfARN returns the service that an ARN names; "" if the text is not an ARN.
func originOfARN(arn string) origin {
	parts := strings.SplitN(arn, ":", 4)
	isARN := len(parts) == 4 && parts[0] == "arn"
	if !isARN {
		return ""
	}
	return origin("aws:" + parts[2])
}

// readOrigin returns the origin that the next record names, or "" if the record names none.
func readOrigin(c *jsoncursor.Cursor) (named origin) {
	for name := range c.Members() {
		isOrigin := jsoncursor.Means(name, "eventSource") || jsoncursor.Means(name, "EventSource")
		if !isOrigin {
			continue
		}
		named = origin(jsoncursor.Unquote(c.Text()))
		if named != "" {
			break
		}
	}
	return named
}

// accepts returns nil if the handler accepts the event, and otherwise an error with the reason.
func (h *handler) accepts(info eventInfo) error {
	isCommand := info.origin == fromCommand
	isAccepted := slices.Contains(h.acceptedOrigins, info.origin) && (info.hasRecords || isCommand)
	isEmptyEvent := info.origin == "" && info.isEmpty
	switch {
	case isAccepted || isEmptyEvent:
		return nil
	case isCommand:
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
	service, hasPrefix := strings.CutPrefix(string(o), "aws:")
	isNameRune := func(r rune) bool { return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' }
	isOther := func(r rune) bool { return !isNameRune(r) }
	if !hasPrefix || len(service) > 20 || strings.ContainsFunc(service, isOther) {
		return "an unknown source"
	}
	return string(o)
}
