package pipeline

// AppendDynamoDBJSON appends v as DynamoDB JSON, compact: {"S":"x"}. Members keep
// the order of the page. An absent value appends null.
func (v Value) AppendDynamoDBJSON(dst []byte) []byte {
	if !v.Exists() {
		return append(dst, "null"...)
	}
	dst = append(dst, '{', '"')
	dst = append(dst, v.kind.String()...)
	dst = append(dst, '"', ':')
	switch v.kind {
	case KindS, KindN, KindB:
		dst = appendString(dst, v.raw)
	case KindM:
		dst = appendItem(dst, v, Value.AppendDynamoDBJSON)
	case KindL:
		dst = appendList(dst, v, Value.AppendDynamoDBJSON)
	case KindSS, KindNS, KindBS:
		dst = appendList(dst, v, func(e Value, dst []byte) []byte { return appendString(dst, e.raw) })
	default:
		dst = append(dst, v.raw...)
	}
	return append(dst, '}')
}

// AppendJSON appends v as plain JSON: an N as a JSON number with all its digits
// and no exponent, a B as base64, sets as arrays, NULL as null. Members keep the
// order of the page. An absent value appends null.
func (v Value) AppendJSON(dst []byte) []byte {
	switch v.kind {
	case KindS, KindB:
		return appendString(dst, v.raw)
	case KindN:
		return decimalOf(v.raw).Append(dst)
	case KindM:
		return appendItem(dst, v, Value.AppendJSON)
	case KindL, KindSS, KindNS, KindBS:
		return appendList(dst, v, Value.AppendJSON)
	case KindBOOL:
		return append(dst, v.raw...)
	default:
		return append(dst, "null"...)
	}
}

// String is v as DynamoDB JSON, for people; "absent" of the zero Value.
func (v Value) String() string {
	if !v.Exists() {
		return v.kind.String()
	}
	return string(v.AppendDynamoDBJSON(nil))
}

// AppendDynamoDBJSON appends the item as DynamoDB JSON, compact:
// {"PK":{"S":"x"}}; null where there is no image.
func (m Image) AppendDynamoDBJSON(dst []byte) []byte {
	return m.append(dst, Value.AppendDynamoDBJSON)
}

// AppendJSON appends the item as plain JSON: {"PK":"x"}; null where there is no
// image. See [Value.AppendJSON].
func (m Image) AppendJSON(dst []byte) []byte {
	return m.append(dst, Value.AppendJSON)
}

func (m Image) append(dst []byte, value func(Value, []byte) []byte) []byte {
	if !m.Exists() {
		return append(dst, "null"...)
	}
	return appendItem(dst, m.Value(), value)
}

func appendItem(dst []byte, v Value, value func(Value, []byte) []byte) []byte {
	dst = append(dst, '{')
	start := len(dst)
	eachMember(v.raw, func(name []byte, m Value) bool {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, name), ':')
		dst = value(m, dst)
		return true
	})
	return append(dst, '}')
}

func appendList(dst []byte, v Value, value func(Value, []byte) []byte) []byte {
	dst = append(dst, '[')
	start := len(dst)
	eachElement(v.raw, v.kind, func(e Value) bool {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = value(e, dst)
		return true
	})
	return append(dst, ']')
}

// appendString appends a string whose inside is checked JSON.
func appendString(dst, raw []byte) []byte {
	dst = append(dst, '"')
	dst = append(dst, raw...)
	return append(dst, '"')
}
