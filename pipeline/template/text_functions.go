package template

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"time"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/item"
)

// function is a function of a placeholder's text.
type function uint8

const (
	fnLower function = iota + 1
	fnUpper
	fnPad
	fnHash
	fnEsc
	fnIndexName
	fnDate
	fnAfter
	fnBefore
	fnDefault
	fnSplit
	fnSortable
	fnZone
)

// functions are the names of the functions, in the order of their constants.
var functions = []string{"lower", "upper", "pad", "hash", "esc", "index_name", "date", "after", "before", "default",
	"split", "sortable", "zone"}

// call is a function with its argument.
type call struct {
	fn       function
	text     string         // layout of date; separator of after, before and split; text of default
	number   int            // width of pad, index of split
	fraction int            // digits after the point for pad; -1 for whole numbers
	zone     *time.Location // zone of date; nil for UTC
}

// hashDigits is the number of hex digits of a SHA-256 that hash keeps: 128 bits.
const hashDigits = 32

// apply applies the function to the text dst[start:]. An empty text means that the value is missing. Only default
// changes an empty text.
func (c *call) apply(dst []byte, start int) ([]byte, error) {
	if len(dst) == start {
		if c.fn == fnDefault {
			dst = append(dst, c.text...)
		}
		return dst, nil
	}
	switch c.fn {
	case fnLower:
		return changeCase(dst, start, 'A', bytes.ToLower), nil
	case fnUpper:
		return changeCase(dst, start, 'a', bytes.ToUpper), nil
	case fnPad:
		return pad(dst, start, c.number, c.fraction)
	case fnHash:
		return hash(dst, start), nil
	case fnEsc:
		return escape(dst, start), nil
	case fnIndexName:
		return indexName(dst, start), nil
	case fnDate:
		return date(dst, start, c.text, c.zone)
	case fnSortable:
		return toSortable(dst, start)
	case fnAfter:
		_, after, _ := bytes.Cut(dst[start:], []byte(c.text))
		return append(dst[:start], after...), nil
	case fnBefore:
		i := bytes.Index(dst[start:], []byte(c.text))
		return dst[:start+max(i, 0)], nil
	case fnSplit:
		return splitPiece(dst, start, c.text, c.number), nil
	default: // fnDefault: the text is not missing
		return dst, nil
	}
}

// changeCase changes the case of the 26 ASCII letters from first on, in place. For text with other letters it returns
// the result of convert, which follows Unicode's rules.
func changeCase(dst []byte, start int, first byte, convert func([]byte) []byte) []byte {
	text := dst[start:]
	for i, b := range text {
		if b >= utf8.RuneSelf {
			return append(dst[:start], convert(text)...)
		}
		if first <= b && b < first+26 {
			text[i] = b ^ ('a' - 'A')
		}
	}
	return dst
}

// hash replaces text by the first half of its SHA-256, in hex.
func hash(dst []byte, start int) []byte {
	sum := sha256.Sum256(dst[start:])
	return hex.AppendEncode(dst[:start], sum[:hashDigits/2])
}

// escape percent-encodes text as in the canonical key.
func escape(dst []byte, start int) []byte {
	end := len(dst)
	dst = item.AppendEscaped(dst, dst[start:end])
	return dst[:start+copy(dst[start:], dst[end:])]
}

// splitPiece replaces text by one of its pieces. index counts from 0, or backwards from -1. If there is no such piece,
// the result is empty.
func splitPiece(dst []byte, start int, separator string, index int) []byte {
	text, sep := dst[start:], []byte(separator)
	if index < 0 {
		index += bytes.Count(text, sep) + 1
	}
	if index < 0 {
		return dst[:start]
	}
	for range index {
		_, after, ok := bytes.Cut(text, sep)
		if !ok {
			return dst[:start]
		}
		text = after
	}
	piece, _, _ := bytes.Cut(text, sep)
	return append(dst[:start], piece...)
}

// maxIndexName is the maximum number of bytes that index_name makes. A whole index name has at most 255.
const maxIndexName = 128

const lowerHex = "0123456789abcdef"

// indexName replaces text by a legal name of an OpenSearch index, or by a legal part of one. Bytes other than a-z, 0-9,
// '.' and '-' become _ and two hex digits. A name that would not begin with a-z or 1-9 gets a 0 in front. A name of
// more than maxIndexName bytes is cut, and ends in __ and a hash.
//
// Different texts have different names: only a name with a 0 in front begins with 0, and only a cut name contains __.
func indexName(dst []byte, start int) []byte {
	first := dst[start]
	end := len(dst) // the name is made from here on, behind the text, and replaces the text in the end
	isLegalStart := 'a' <= first && first <= 'z' || '1' <= first && first <= '9'
	if !isLegalStart {
		dst = append(dst, '0')
	}
	const mark = "__"
	const maxBeforeHash = maxIndexName - len(mark) - hashDigits
	cutLength := 0 // length of the name of the first bytes of the text, as many as fit before a hash
	for i := start; i < end; i++ {
		if nameLength := len(dst) - end; nameLength <= maxBeforeHash {
			cutLength = nameLength
		}
		switch b := dst[i]; {
		case 'a' <= b && b <= 'z', '0' <= b && b <= '9', b == '.', b == '-':
			dst = append(dst, b)
		default:
			dst = append(dst, '_', lowerHex[b>>4], lowerHex[b&15])
		}
	}
	if len(dst)-end > maxIndexName {
		sum := sha256.Sum256(dst[start:end])
		dst = hex.AppendEncode(append(dst[:end+cutLength], mark...), sum[:hashDigits/2])
	}
	return dst[:start+copy(dst[start:], dst[end:])]
}
