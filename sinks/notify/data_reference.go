package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// dataMember begins the data of an event. Only members with strings come before the data, and strings escape quotes. So
// the first occurrence of dataMember in an event is the beginning of the data.
const dataMember = `,"data":`

// Data returns the JSON of the event's data in Body; nil if the event has no data.
func (m *Message) Data() []byte {
	_, data, ok := bytes.Cut(m.Body, []byte(dataMember))
	if !ok {
		return nil
	}
	return data[:len(data)-1]
}

// WithDataRef returns the event with a reference in place of its data. The CloudEvents attribute "dataref" is the
// reference, uri. The caller must have stored Data at uri.
func (m *Message) WithDataRef(uri string) []byte {
	head, _, ok := bytes.Cut(m.Body, []byte(dataMember))
	if !ok {
		return m.Body
	}
	return append(appendMember(bytes.Clone(head), "dataref", uri), '}')
}

// Resolve returns a received event with its data, for programs that receive events. If the event has only a "dataref",
// Resolve gets the data from that URI. It returns other events unchanged. get reads the content of a URI; Resolve wraps
// its error.
func Resolve(
	ctx context.Context, event []byte, get func(ctx context.Context, uri string) ([]byte, error),
) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(event, &members); err != nil {
		return nil, errs.New("notify: not an event: it is not a JSON object")
	}
	ref, hasRef := members["dataref"]
	_, hasData := members["data"]
	if hasData || !hasRef {
		return event, nil
	}
	var uri string
	if err := json.Unmarshal(ref, &uri); err != nil {
		return nil, errs.New("notify: the dataref of the event is not a text")
	}
	data, err := get(ctx, uri)
	if err != nil {
		return nil, fmt.Errorf("notify: the data of the event: %w", err)
	}
	delete(members, "dataref")
	members["data"] = data
	return json.Marshal(members)
}
