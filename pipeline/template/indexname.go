package template

import (
	"crypto/sha256"
	"encoding/hex"
)

// indexNameMax bounds the bytes that index_name makes; an index name as a whole has at most 255.
const indexNameMax = 128

const lowerHex = "0123456789abcdef"

// indexName replaces text by a name that OpenSearch takes for an index, or for
// any part of one. Bytes other than a-z 0-9 . - become _ and two hex digits; a name that would not
// begin with a-z or 1-9 begins with 0, and so nothing else does. A name beyond indexNameMax bytes ends
// in __ and a hash, which no shorter one holds. So different texts have different names.
func indexName(dst []byte, start int) []byte {
	first := dst[start]
	end := len(dst)
	if !('a' <= first && first <= 'z' || '1' <= first && first <= '9') {
		dst = append(dst, '0')
	}
	const mark = "__"
	fit, cut := indexNameMax-len(mark)-hashDigits, 0 // cut: the whole escapes that fit before a hash
	for i := start; i < end; i++ {
		if len(dst)-end <= fit {
			cut = len(dst) - end
		}
		switch b := dst[i]; {
		case 'a' <= b && b <= 'z', '0' <= b && b <= '9', b == '.', b == '-':
			dst = append(dst, b)
		default:
			dst = append(dst, '_', lowerHex[b>>4], lowerHex[b&15])
		}
	}
	if len(dst)-end > indexNameMax {
		sum := sha256.Sum256(dst[start:end])
		dst = hex.AppendEncode(append(dst[:end+cut], mark...), sum[:hashDigits/2])
	}
	return dst[:start+copy(dst[start:], dst[end:])]
}
