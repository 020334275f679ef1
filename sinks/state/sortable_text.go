package state

import (
	"encoding/hex"
	"strings"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

// The first letter of a sortable text is the type of the value.
const (
	textPrefix, numberPrefix, binaryPrefix, boolPrefix = "a", "b", "c", "d"
)

// The start and the end of a positive number in [decimal.Decimal.AppendSortable]. The end is only needed if other text
// follows the number, so a sortable text omits it.
const (
	positiveStart = "2"
	positiveEnd   = "-"
)

// SortableText returns a value as text. Equal values have equal texts. The texts, compared byte by byte, sort as the
// values do: S before N before B before BOOL. S and B sort by their bytes, and N by number. SortableText returns false
// for a value of another type. [ParseSortable] is the inverse.
func SortableText(v item.Value) (string, bool) {
	switch v.Kind() {
	case item.KindS:
		text, _ := v.Text()
		return textPrefix + text, true
	case item.KindN:
		d, ok := v.Number()
		text := string(d.AppendSortable([]byte(numberPrefix)))
		return strings.TrimSuffix(text, positiveEnd), ok
	case item.KindB:
		b, ok := v.Bytes()
		return binaryPrefix + hex.EncodeToString(b), ok
	case item.KindBOOL:
		if isTrue, _ := v.Bool(); isTrue {
			return boolPrefix + "1", true
		}
		return boolPrefix + "0", true
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
	case textPrefix:
		return item.StringValue(rest), nil
	case numberPrefix:
		if strings.HasPrefix(rest, positiveStart) {
			rest += positiveEnd
		}
		d, err := decimal.ParseSortable(rest)
		return item.NumberValue(d), err
	case binaryPrefix:
		b, err := hex.DecodeString(rest)
		return item.BinaryValue(b), err
	case boolPrefix:
		return item.BoolValue(rest == "1"), nil
	}
	return item.Value{}, errNotSortable
}
