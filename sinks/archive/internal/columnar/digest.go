package columnar

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Digest is made of what an object holds, whatever its encoding: its columns, its
// rows, and the form of its images. Different objects have different ones.
type Digest struct {
	hash  hash.Hash
	bytes []byte
}

// NewDigest begins that of an object as [NewWriter] writes it.
func NewDigest(extra []string, plain bool) *Digest {
	d := &Digest{hash: sha256.New()}
	for _, c := range columns(extra) {
		d.bytes = appendText(d.bytes, []byte(c.name))
	}
	d.bytes = appendText(d.bytes, []byte(imagesOf(plain)))
	d.hash.Write(d.bytes)
	return d
}

// Add takes the next row.
func (d *Digest) Add(r Row) {
	d.bytes = r.Append(d.bytes[:0])
	d.hash.Write(d.bytes)
}

// Sum is the SHA-256 of all rows until now.
func (d *Digest) Sum() []byte { return d.hash.Sum(nil) }

// Append writes a row as bytes, which no other row has and [ParseRow] reads.
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

func appendText(dst, text []byte) []byte {
	return append(binary.AppendUvarint(append(dst, 1), uint64(len(text))), text...)
}

func isNumber(i int) bool {
	return i < Fields && (fixed[i].form == timestamp || fixed[i].form == number)
}

var errRow = errs.New("the bytes are no row")

// ParseRow reads a row of so many columns of a configuration. Its texts are ranges of b.
func ParseRow(b []byte, extra int) (Row, error) {
	r := make(Row, Fields+extra)
	for i := range r {
		if len(b) == 0 || b[0] > 1 {
			return nil, errRow
		}
		null := b[0] == 0
		b = b[1:]
		switch {
		case null:
		case isNumber(i):
			if len(b) < 8 {
				return nil, errRow
			}
			r[i] = Cell{Int: int64(binary.BigEndian.Uint64(b)), Set: true}
			b = b[8:]
		default:
			n, w := binary.Uvarint(b)
			if w <= 0 || n > uint64(len(b)-w) {
				return nil, errRow
			}
			r[i] = Cell{Text: b[w : w+int(n) : w+int(n)], Set: true}
			b = b[w+int(n):]
		}
	}
	if len(b) > 0 {
		return nil, errRow
	}
	return r, nil
}
