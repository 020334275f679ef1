package record

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline/internal/simd"
)

// outline is where the fields of an object stood in the record before. Records of one
// stream have the same fields in the same order, and many with the same value: the
// stream's ARN, the region, often the operation. A field that is the same byte for byte
// is taken over; of one that differs, the name need not be read again.
//
// Like a twin it is a guess, of which nothing but speed depends.
type outline []outlined

// outlined is one field.
type outlined struct {
	start int // of the quote of its name
	value int
	end   int // the quote of the next field's name; of the last field, behind the object
	field field
	last  bool
}

// align makes entry n one of f. What stands behind is of the record before: where that has
// a field more or less than this one, it goes on with what comes next in both.
func (o *outline) align(n int, f field) {
	for i := n; i < len(*o); i++ {
		if (*o)[i].field == f {
			*o = slices.Delete(*o, n, i)
			return
		}
	}
	*o = slices.Insert(*o, n, outlined{field: f})
}

// same is the number of bytes that are the same from i and from before on.
func (r *recordReader) same(i, before int) int {
	if by := i - before; by != r.sameBy || i >= r.sameEnd {
		r.sameBy, r.sameEnd = by, i+simd.Same(r.B[i:], r.B[before:])
	}
	return max(r.sameEnd-i, 0)
}

// repeat takes over the fields from i on that are the same as in the record before,
// n being the next entry of o. It returns where the next field starts, behind the object
// where done is true, and that field's entry.
func (r *recordReader) repeat(o outline, i, n int, c *Change) (next, entry int, done bool) {
	same := r.same(i, o[n].start)
	for n < len(o) {
		f := &o[n]
		size := f.end - f.start
		// Where the quote of the next name is the same, so is all that stands before it.
		if same < size || same == size && !f.last || !r.again(f.field, c) {
			break
		}
		f.value += i - f.start
		f.start, f.end = i, i+size
		i, same = i+size, same-size
		n++
		if f.last {
			return i, n, true
		}
	}
	return i, n, false
}

// again gives c what the record before has for f, where that is a value that may stand in
// many records and c has none yet.
func (r *recordReader) again(f field, c *Change) bool {
	if f == fieldOther {
		return true
	}
	if r.seen.has(f) {
		return false
	}
	before := r.before
	switch f {
	case fieldEventName:
		c.EventName = before.EventName
	case fieldRegion:
		c.Region = r.region
	case fieldARN:
		c.StreamARN = before.StreamARN
	case fieldIdentity:
		c.Identity = before.Identity
	case fieldTime:
		c.Time = before.Time
	case fieldSize:
		c.SizeBytes = before.SizeBytes
	case fieldView:
		c.ViewType = before.ViewType
	default:
		return false
	}
	r.seen.add(f)
	return true
}

// forget makes the record that is read next one without a record before it.
func (r *recordReader) forget() {
	r.outer, r.inner = r.outer[:0], r.inner[:0]
	r.sameEnd, r.before = 0, nil
}

// unknown is the outline of an object that the record before is not asked for.
func (r *recordReader) unknown() *outline {
	r.other = r.other[:0]
	return &r.other
}
