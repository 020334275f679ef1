package audit

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/jsoncursor"
)

// reservedField is the name of the field of a document in which the store keeps the version and the owner.
const reservedField = "_tw"

// appendCanonicalDocument appends the canonical form of a JSON object without its field _tw.
func appendCanonicalDocument(dst, doc []byte) ([]byte, error) {
	j := canonicalJSON{cursor: jsoncursor.New(doc), dst: dst}
	if j.cursor.Peek() != '{' {
		return dst, errs.New("the document is not a JSON object")
	}
	j.appendObject(reservedField)
	if j.cursor.Failed() {
		return dst, errs.New("the document is not valid JSON")
	}
	return j.dst, nil
}

// canonicalForm returns a canonical form of a JSON value: equal values give equal bytes. The members of an object are
// sorted, numbers are written by their value, and texts are written without escapes.
func canonicalForm(value []byte) ([]byte, error) {
	j := canonicalJSON{cursor: jsoncursor.New(value)}
	j.appendValue()
	if j.cursor.Failed() {
		return nil, errs.New("the value is not valid JSON")
	}
	return j.dst, nil
}

// canonicalJSON appends one JSON value to dst.
type canonicalJSON struct {
	cursor  jsoncursor.Cursor
	dst     []byte
	scratch []byte
}

// appendValue appends the next value of the cursor.
func (j *canonicalJSON) appendValue() {
	switch j.cursor.Peek() {
	case '{':
		j.appendObject("")
	case '[':
		j.dst = append(j.dst, '[')
		for range j.cursor.Elements() {
			j.appendValue()
		}
		j.dst = append(j.dst, ']')
	case '"':
		j.dst = appendText(append(j.dst, '"'), j.cursor.Text())
	default:
		j.appendScalar(j.cursor.Value())
	}
}

// appendScalar appends a number, true, false or null.
func (j *canonicalJSON) appendScalar(text []byte) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return
	}
	isDigit := '0' <= text[0] && text[0] <= '9'
	if isDigit || text[0] == '-' {
		if d, err := decimal.Parse(text); err == nil {
			j.dst = append(d.Append(append(j.dst, '#')), ';')
			return
		}
	}
	j.dst = append(append(j.dst, text...), ';')
}

// member is the range of one member of an object in canonicalJSON.dst.
type member struct{ start, end int }

// appendObject appends the members of an object in the order of their bytes, without the member leftOut; "" leaves out
// none.
func (j *canonicalJSON) appendObject(leftOut string) {
	j.dst = append(j.dst, '{')
	first := len(j.dst)
	var few [32]member
	members := few[:0]
	for name := range j.cursor.Members() {
		if leftOut != "" && string(name) == leftOut {
			j.cursor.Value()
			continue
		}
		start := len(j.dst)
		j.dst = appendText(j.dst, name)
		j.appendValue()
		members = append(members, member{start, len(j.dst)})
	}

	compare := func(a, b member) int { return bytes.Compare(j.dst[a.start:a.end], j.dst[b.start:b.end]) }
	if !slices.IsSortedFunc(members, compare) {
		slices.SortFunc(members, compare)
		j.scratch = j.scratch[:0]
		for _, m := range members {
			j.scratch = append(j.scratch, j.dst[m.start:m.end]...)
		}
		copy(j.dst[first:], j.scratch)
	}
	j.dst = append(j.dst, '}')
}

// appendText appends a JSON string. written is the text between the quotes, with its escapes.
func appendText(dst, written []byte) []byte {
	if bytes.IndexByte(written, '\\') >= 0 {
		var text string
		quoted := append(append([]byte{'"'}, written...), '"')
		if err := json.Unmarshal(quoted, &text); err == nil {
			written = []byte(text)
		}
	}
	return append(binary.AppendUvarint(dst, uint64(len(written))), written...)
}
