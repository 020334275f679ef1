package handlers

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
)

// origin is the service that an event comes from, as its records name it.
type origin string

// Where the events come from that are understood.
const (
	fromDynamoDB origin = "aws:dynamodb"
	fromKinesis  origin = "aws:kinesis"
	fromSQS      origin = "aws:sqs"
	fromNobody   origin = "tablewake" // a command
)

// sighting is what can be told of an event before it is decoded.
type sighting struct {
	origin  origin // "" where it does not say
	object  bool   // it is a JSON object
	records bool   // it has an array of records
	empty   bool   // which holds none
	command string // of {"tablewake": command}
}

// sight looks at an event: at its first record, as a rule.
func sight(b []byte) sighting {
	var s sighting
	c := &cursor{b: b}
	s.object = c.members(func(name string) bool {
		switch name {
		case "Records":
			s.records = c.take('[')
			if s.empty = c.peek() == ']'; !s.records || s.empty {
				c.i++
				break
			}
			s.origin = firstOrigin(c)
			return s.origin == ""
		case "eventSourceARN": // beside the records of a tumbling window, which may be none
			if parts := strings.SplitN(text(c.skip()), ":", 4); len(parts) == 4 && parts[0] == "arn" && s.origin == "" {
				s.origin = origin("aws:" + parts[2])
			}
		case "tablewake":
			if s.command = text(c.skip()); s.command != "" {
				s.origin = fromNobody
			}
		}
		return true
	})
	return s
}

// firstOrigin is that of the first record that names one. The cursor is behind the bracket
// of an array, and ends behind that array where none of them does.
func firstOrigin(c *cursor) (from origin) {
	for c.peek() == '{' {
		record := c.skip()
		in := &cursor{b: record}
		in.members(func(name string) bool {
			if name == "eventSource" || name == "EventSource" {
				from = origin(text(in.skip()))
			}
			return from == ""
		})
		if from != "" || !c.take(',') {
			break
		}
	}
	c.take(']')
	return from
}

// takes tells why an event is none of those that the handler is for; nil where it is one.
func (h *handler) takes(s sighting) error {
	switch {
	case s.records && (slices.Contains(h.origins, s.origin) || s.origin == "" && s.empty):
		return nil
	case s.origin == fromNobody && slices.Contains(h.origins, s.origin):
		return nil
	case s.origin == fromNobody:
		return errs.Errorf("the event is a command of tablewake, and this handler takes events of %s: send it to a function of handlers.All or handlers.Redrive", pipeline.Safe(h.names()))
	case s.records && s.origin != "":
		return errs.Errorf("the event comes from %s, and this handler takes events of %s: point the function's event source mapping there, or use the handler for this source (handlers.All takes those of all)", pipeline.Safe(s.origin.shown()), pipeline.Safe(h.names()))
	case s.records:
		return errs.Errorf("the event's records name no eventSource, and events of %s do: the function is to be invoked by an event source mapping, or with a copy of such an event", pipeline.Safe(h.names()))
	case s.object:
		return errs.Errorf("the event has no Records, and events of %s do: the function is to be invoked by an event source mapping, or with a copy of such an event", pipeline.Safe(h.names()))
	}
	return errs.New("the event is no JSON object: the function is to be invoked by an event source mapping, or with a copy of such an event")
}

// names lists what the handler takes.
func (h *handler) names() string {
	var names []string
	for _, o := range h.origins {
		if o != fromNobody {
			names = append(names, string(o))
		}
	}
	return strings.Join(names, ", ")
}

// shown is a service's name; what is none is not shown.
func (o origin) shown() string {
	service, ok := strings.CutPrefix(string(o), "aws:")
	if !ok || len(service) > 20 || strings.ContainsFunc(service, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		return "an unknown source"
	}
	return string(o)
}
