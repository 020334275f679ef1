package item

import "github.com/tablewake/tablewake/pipeline/internal/ddbjson"

// AppendDynamoDBJSON appends v as compact DynamoDB JSON: {"S":"x"}. Members keep the order of the page. An absent value
// is null.
func (v Value) AppendDynamoDBJSON(dst []byte) []byte {
	if !v.Exists() {
		return append(dst, "null"...)
	}
	dst = append(dst, '{', '"')
	dst = append(dst, v.kind.String()...)
	dst = append(dst, '"', ':')
	switch v.kind {
	case KindS, KindN, KindB:
		dst = ddbjson.AppendString(dst, v.raw)
	case KindM:
		dst = appendItem(dst, v)
	case KindL, KindSS, KindNS, KindBS:
		dst = appendList(dst, v)
	default:
		dst = append(dst, v.raw...)
	}
	return append(dst, '}')
}

// AppendMember appends a member to an object in DynamoDB JSON, which begins with { and has no } yet. It appends nothing
// if v is absent.
func AppendMember(object []byte, name string, v Value) []byte {
	if !v.Exists() {
		return object
	}
	if object[len(object)-1] != '{' {
		object = append(object, ',')
	}
	object = append(AppendJSONText(object, name), ':')
	return v.AppendDynamoDBJSON(object)
}

// AppendJSONText appends a text as a JSON string.
func AppendJSONText(dst []byte, text string) []byte { return StringValue(text).AppendJSON(dst) }

// AppendJSON appends v as plain JSON: an N as a JSON number with all its digits and no exponent, a B as base64, sets as
// arrays, NULL as null. Members keep the order of the page. An absent value is null.
func (v Value) AppendJSON(dst []byte) []byte {
	var w plainWriter
	return w.appendDocument(dst, v)
}

// AppendJSONForDoubles does the same as [Value.AppendJSON], but for readers that store decimals as doubles, such as
// search indexes and JavaScript. A double loses digits of a decimal with more than 15 significant digits, so such a
// decimal becomes a JSON string. Integers are JSON numbers with all their digits.
func (v Value) AppendJSONForDoubles(dst []byte) []byte {
	w := plainWriter{forDoubles: true}
	return w.appendDocument(dst, v)
}

// String returns v as DynamoDB JSON, for people. It returns "absent" for the zero Value.
func (v Value) String() string {
	if !v.Exists() {
		return v.kind.String()
	}
	return string(v.AppendDynamoDBJSON(nil))
}

// AppendDynamoDBJSON appends the item as compact DynamoDB JSON: {"PK":{"S":"x"}}. It appends null if the image does not
// exist.
func (m Image) AppendDynamoDBJSON(dst []byte) []byte {
	if !m.Exists() {
		return append(dst, "null"...)
	}
	return appendItem(dst, m.Value())
}

// AppendJSON appends the item as plain JSON: {"PK":"x"}. It appends null if the image does not exist. See
// [Value.AppendJSON].
func (m Image) AppendJSON(dst []byte) []byte { return m.appendPlain(dst, plainWriter{}) }

// AppendJSONForDoubles appends the item as plain JSON for readers that store decimals as doubles. See
// [Value.AppendJSONForDoubles].
func (m Image) AppendJSONForDoubles(dst []byte) []byte {
	return m.appendPlain(dst, plainWriter{forDoubles: true})
}

func (m Image) appendPlain(dst []byte, w plainWriter) []byte {
	if !m.Exists() {
		return append(dst, "null"...)
	}
	w.b = m.Bytes()
	return w.appendItem(dst, m)
}

// appendItem appends the members of a map, with their names as they are written.
func appendItem(dst []byte, v Value) []byte {
	dst = append(dst, '{')
	start := len(dst)
	w := walk(v.raw)
	for name, m, ok := w.member(); ok; name, m, ok = w.member() {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(ddbjson.AppendString(dst, name), ':')
		dst = m.AppendDynamoDBJSON(dst)
	}
	return append(dst, '}')
}

// appendList appends the elements of a list or a set.
func appendList(dst []byte, v Value) []byte {
	dst = append(dst, '[')
	for i, e := range v.Elements() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.kind == KindL {
			dst = e.AppendDynamoDBJSON(dst)
		} else {
			dst = ddbjson.AppendString(dst, e.raw)
		}
	}
	return append(dst, ']')
}
