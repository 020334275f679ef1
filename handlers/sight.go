package handlers

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/jsoncursor"
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
	c := jsoncursor.New(b)
	s.object = c.Peek() == '{'
	for name := range c.Members() {
		switch jsoncursor.Unquote(name) {
		case "Records":
			s.records, s.empty = c.Peek() == '[', true
			for range c.Elements() {
				s.empty = false
				if s.origin = originOf(&c); s.origin != "" {
					return s
				}
			}
		case "eventSourceARN": // beside the records of a tumbling window, which may be none
			if parts := strings.SplitN(jsoncursor.Unquote(c.Text()), ":", 4); len(parts) == 4 && parts[0] == "arn" && s.origin == "" {
				s.origin = origin("aws:" + parts[2])
			}
		case "tablewake":
			if s.command = jsoncursor.Unquote(c.Text()); s.command != "" {
				s.origin = fromNobody
			}
		}
	}
	return s
}

// originOf is what the next record names; "" where it names none.
func originOf(c *jsoncursor.Cursor) (from origin) {
	for name := range c.Members() {
		if jsoncursor.Means(name, "eventSource") || jsoncursor.Means(name, "EventSource") {
			if from = origin(jsoncursor.Unquote(c.Text())); from != "" {
				break
			}
		}
	}
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
