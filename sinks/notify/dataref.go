package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// dataMember begins the data of an event. Before it stand strings alone, within which
// a quote is escaped: its first occurrence is the member.
const dataMember = `,"data":`

// Data is the event's data as it stands in Body; nil where it has none.
func (m *Message) Data() []byte {
	_, data, ok := bytes.Cut(m.Body, []byte(dataMember))
	if !ok {
		return nil
	}
	return data[:len(data)-1]
}

// Refer is the event without its data, which lies at uri instead: the attribute
// "dataref" of CloudEvents names it. What lies there has to be what Data answers.
func (m *Message) Refer(uri string) []byte {
	head, _, ok := bytes.Cut(m.Body, []byte(dataMember))
	if !ok {
		return m.Body
	}
	return append(appendMember(bytes.Clone(head), "dataref", uri), '}')
}

// Resolve is the whole of an event that was received: one that refers to its data
// gets it from where it lies, any other is as it was. get reads what lies at a URI; its
// error is Resolve's. It is for those who receive events.
func Resolve(ctx context.Context, event []byte, get func(ctx context.Context, uri string) ([]byte, error)) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(event, &members); err != nil {
		return nil, errs.New("notify: not an event: it is no JSON object")
	}
	ref, refers := members["dataref"]
	if _, whole := members["data"]; whole || !refers {
		return event, nil
	}
	var uri string
	if err := json.Unmarshal(ref, &uri); err != nil {
		return nil, errs.New("notify: the dataref of the event is no text")
	}
	data, err := get(ctx, uri)
	if err != nil {
		return nil, fmt.Errorf("notify: the data of the event: %w", err)
	}
	delete(members, "dataref")
	members["data"] = data
	return json.Marshal(members)
}
