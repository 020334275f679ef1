package notify

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// appendCloudEvent appends e as a CloudEvent 1.0 in structured JSON. The extension attribute "sequence" is the version
// of the change, as a text that sorts the changes of one subject. The data omits "old" or "new" if the event does not
// have the value. The data also has "attributes", the values at the sink's paths, unless the sink has no paths.
func appendCloudEvent(dst []byte, m *Message, e *pipeline.Event, c *record.Change, s *Sink) []byte {
	dst = append(dst, `{"specversion":"1.0"`...)
	dst = appendMember(dst, "id", m.ID)
	dst = appendMember(dst, "source", m.Source)
	dst = appendMember(dst, "type", m.Type)
	dst = appendMember(dst, "subject", string(c.Key))
	if !c.Time.IsZero() {
		dst = append(c.Time.AppendFormat(append(dst, `,"time":"`...), time.RFC3339Nano), '"')
	}
	dst = append(dst, `,"datacontenttype":"application/json"`...)
	dst = append(c.Version.Append(append(dst, `,"sequence":"`...)), '"')
	dst = append(dst, `,"data":{"detector":`...)
	dst = item.AppendJSONText(dst, e.Detector)
	if e.Path != "" {
		dst = appendMember(dst, "path", e.Path)
	}
	dst = appendMember(dst, "op", c.Op.String())
	if c.Table != "" {
		dst = appendMember(dst, "table", c.Table)
	}
	if c.Keys.Exists() {
		dst = c.Keys.AppendJSON(append(dst, `,"keys":`...))
	}
	if e.Old.Exists() {
		dst = e.Old.AppendJSON(append(dst, `,"old":`...))
	}
	if e.New.Exists() {
		dst = e.New.AppendJSON(append(dst, `,"new":`...))
	}
	if len(s.o.Attributes) > 0 || len(s.o.Bound) > 0 {
		dst = s.appendAttributes(append(dst, `,"attributes":`...), c)
	}
	return append(dst, "}}"...)
}

// appendAttributes appends an object with values of the item. They are the values at the sink's paths, and the values
// of the sink's bound names. The values at paths are in the new image or, without a new image, in the old image. A name
// has no value if its key attribute is masked.
func (s *Sink) appendAttributes(dst []byte, c *record.Change) []byte {
	image := latestImage(c)
	dst = append(dst, '{')
	for _, path := range s.o.Attributes {
		value, _ := image.At(path)
		dst = appendAttribute(dst, path.String(), value)
	}
	for _, binding := range s.o.Bound {
		dst = appendAttribute(dst, binding.Name(), binding.Value(c.Keys))
	}
	return append(dst, '}')
}

// appendAttribute appends a member to a JSON object that has no closing brace yet. It appends nothing if the value does
// not exist.
func appendAttribute(dst []byte, name string, value item.Value) []byte {
	if !value.Exists() {
		return dst
	}
	if isFirst := dst[len(dst)-1] == '{'; !isFirst {
		dst = append(dst, ',')
	}
	return value.AppendJSON(append(item.AppendJSONText(dst, name), ':'))
}

// source returns the event's source as a URI reference. It is the ARN of the stream, or the table if the record has no
// stream.
func source(c *record.Change) string {
	switch {
	case c.StreamARN != "":
		return c.StreamARN
	case c.Table != "":
		return "table/" + c.Table
	}
	return "table"
}

func appendMember(dst []byte, name, text string) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return item.AppendJSONText(dst, text)
}
