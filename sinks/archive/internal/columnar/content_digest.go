package columnar

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Digest is a digest of the content of an object, whatever its encoding. The content is its columns, its rows, and the
// format of its images.
type Digest struct {
	hash  hash.Hash
	bytes []byte
}

// NewDigest returns the digest of an object without rows. Its parameters are those of [NewWriter].
func NewDigest(extra []string, plain bool) *Digest {
	d := &Digest{hash: sha256.New()}
	for _, c := range columns(extra) {
		d.bytes = appendText(d.bytes, []byte(c.name))
	}
	d.bytes = appendText(d.bytes, []byte(imagesOf(plain)))
	d.hash.Write(d.bytes)
	return d
}

// Add adds the next row.
func (d *Digest) Add(r Row) {
	d.bytes = r.Append(d.bytes[:0])
	d.hash.Write(d.bytes)
}

// Sum returns the SHA-256 of the columns, the format and all rows so far.
func (d *Digest) Sum() []byte { return d.hash.Sum(nil) }

// Append appends a row in an encoding that is different for every row. [ParseRow] reads it.
func (r Row) Append(dst []byte) []byte {
	for i, cell := range r {
		switch {
		case !cell.Set:
			dst = append(dst, 0)
		case isNumber(i):
			dst = binary.BigEndian.AppendUint64(append(dst, 1), uint64(cell.Int))
		default:
			dst = appendText(dst, cell.Text)
		}
	}
	return dst
}

// appendText appends a set cell with a text.
func appendText(dst, text []byte) []byte {
	dst = binary.AppendUvarint(append(dst, 1), uint64(len(text)))
	return append(dst, text...)
}

// isNumber reports whether the values of a column are numbers; i is its index in a Row.
func isNumber(i int) bool {
	return i < Fields && (fixed[i].form == timestamp || fixed[i].form == number)
}

var errRow = errs.New("the bytes are no row")

// ParseRow is the inverse of [Row.Append]. extra is the number of configured columns. The texts of the row are slices
// of b.
func ParseRow(b []byte, extra int) (Row, error) {
	r := make(Row, Fields+extra)
	for i := range r {
		if len(b) == 0 || b[0] > 1 {
			return nil, errRow
		}
		isNull := b[0] == 0
		b = b[1:]
		switch {
		case isNull:
		case isNumber(i):
			if len(b) < 8 {
				return nil, errRow
			}
			r[i] = Cell{Int: int64(binary.BigEndian.Uint64(b)), Set: true}
			b = b[8:]
		default:
			length, n := binary.Uvarint(b)
			if n <= 0 || length > uint64(len(b)-n) {
				return nil, errRow
			}
			b = b[n:]
			r[i] = Cell{Text: b[:length:length], Set: true}
			b = b[length:]
		}
	}
	if len(b) > 0 {
		return nil, errRow
	}
	return r, nil
}
