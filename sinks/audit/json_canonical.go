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
	j.object(reservedField)
	if j.cursor.Failed() {
		return dst, errs.New("the document is not valid JSON")
	}
	return j.dst, nil
}

// appendCanonicalJSON appends a canonical form of a JSON value: equal values give equal bytes. The members of an object
// are sorted, numbers are written by their value, and texts are written without escapes.
func appendCanonicalJSON(dst, value []byte) ([]byte, error) {
	j := canonicalJSON{cursor: jsoncursor.New(value), dst: dst}
	j.appendValue()
	if j.cursor.Failed() {
		return dst, errs.New("the value is not valid JSON")
	}
	return j.dst, nil
}

// canonicalJSON appends one JSON value to dst.
type canonicalJSON struct {
	cursor  jsoncursor.Cursor
	dst     []byte
	scratch []byte
}

func (j *canonicalJSON) appendValue() {
	switch first := j.cursor.Peek(); first {
	case '{':
		j.object("")
	case '[':
		j.dst = append(j.dst, '[')
		for range j.cursor.Elements() {
			j.appendValue()
		}
		j.dst = append(j.dst, ']')
	case '"':
		j.dst = appendText(append(j.dst, '"'), j.cursor.Text())
	default:
		j.scalar(j.cursor.Value())
	}
}

// scalar appends a number, true, false or null.
func (j *canonicalJSON) scalar(text []byte) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return
	}
	if c := text[0]; c == '-' || '0' <= c && c <= '9' {
		if d, err := decimal.Parse(text); err == nil {
			j.dst = append(d.Append(append(j.dst, '#')), ';')
			return
		}
	}
	j.dst = append(append(j.dst, text...), ';')
}

// object appends the members of an object in the order of their bytes, without the member leftOut; "" leaves out none.
func (j *canonicalJSON) object(leftOut string) {
	j.dst = append(j.dst, '{')
	start := len(j.dst)
	var few [32][2]int
	members := few[:0] // ranges of dst, one for each member
	sorted := true
	for name := range j.cursor.Members() {
		if leftOut != "" && string(name) == leftOut {
			j.cursor.Value()
			continue
		}
		from := len(j.dst)
		j.dst = appendText(j.dst, name)
		j.appendValue()
		if n := len(members); n > 0 && bytes.Compare(j.dst[members[n-1][0]:members[n-1][1]], j.dst[from:]) > 0 {
			sorted = false
		}
		members = append(members, [2]int{from, len(j.dst)})
	}
	if !sorted {
		slices.SortFunc(members, func(a, b [2]int) int { return bytes.Compare(j.dst[a[0]:a[1]], j.dst[b[0]:b[1]]) })
		j.scratch = j.scratch[:0]
		for _, m := range members {
			j.scratch = append(j.scratch, j.dst[m[0]:m[1]]...)
		}
		copy(j.dst[start:], j.scratch)
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
