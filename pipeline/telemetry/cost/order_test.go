package cost_test

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// attributeOrder encodes the values of a point's attributes, from the most general to the most specific.
type attributeOrder struct{}

func (attributeOrder) Encode(it attribute.Iterator) string {
	m := map[attribute.Key]string{}
	for it.Next() {
		kv := it.Attribute()
		m[kv.Key] = kv.Value.String()
	}
	var parts []string
	for _, k := range []attribute.Key{"pipeline", "service", "operation", "outcome", "unit"} {
		if v, ok := m[k]; ok {
			parts = append(parts, v)
		}
	}
	return strings.Join(parts, ",")
}

func (attributeOrder) ID() attribute.EncoderID { return attribute.NewEncoderID() }
