package state

import (
	"encoding/hex"
	"strings"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

// The first letter of a sortable text is the kind of the value.
const (
	sortsText, sortsNumber, sortsBinary, sortsBool = "a", "b", "c", "d"
)

// SortableText returns a value as text. Equal values have equal texts, and the texts sort by their
// bytes as the values do: S before N before B before BOOL, S and B by their bytes, N by number.
// It returns false for a value of another kind. [ParseSortable] is the inverse.
func SortableText(v item.Value) (string, bool) {
	switch v.Kind() {
	case item.KindS:
		text, _ := v.Text()
		return sortsText + text, true
	case item.KindN:
		d, ok := v.Number()
		return strings.TrimSuffix(string(d.AppendSortable([]byte(sortsNumber))), "-"), ok // nothing follows
	case item.KindB:
		b, ok := v.Bytes()
		return sortsBinary + hex.EncodeToString(b), ok
	case item.KindBOOL:
		if yes, _ := v.Bool(); yes {
			return sortsBool + "1", true
		}
		return sortsBool + "0", true
	}
	return "", false
}

var errNotSortable = errs.New("not the text of a sortable value")

// ParseSortable returns the value of a text that [SortableText] returned.
func ParseSortable(text string) (item.Value, error) {
	if text == "" {
		return item.Value{}, errNotSortable
	}
	kind, rest := text[:1], text[1:]
	switch kind {
	case sortsText:
		return item.StringValue(rest), nil
	case sortsNumber:
		if strings.HasPrefix(rest, "2") {
			rest += "-"
		}
		d, err := decimal.ParseSortable(rest)
		return item.NumberValue(d), err
	case sortsBinary:
		b, err := hex.DecodeString(rest)
		return item.BinaryValue(b), err
	case sortsBool:
		return item.BoolValue(rest == "1"), nil
	}
	return item.Value{}, errNotSortable
}
