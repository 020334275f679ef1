package template

import (
	"crypto/sha256"
	"encoding/hex"
)

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
	end := len(dst) // the name is made after the text
	isLegalStart := 'a' <= first && first <= 'z' || '1' <= first && first <= '9'
	if !isLegalStart {
		dst = append(dst, '0')
	}
	const mark = "__"
	const maxBeforeHash = maxIndexName - len(mark) - hashDigits
	cut := 0 // length of the complete escapes that fit before a hash
	for i := start; i < end; i++ {
		if len(dst)-end <= maxBeforeHash {
			cut = len(dst) - end
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
		dst = hex.AppendEncode(append(dst[:end+cut], mark...), sum[:hashDigits/2])
	}
	return dst[:start+copy(dst[start:], dst[end:])]
}
