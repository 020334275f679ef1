package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// digester makes digests. It uses its memory again for the next entry.
type digester struct {
	bytes   []byte
	columns []state.Column
	names   []string // names of the last row's columns
	order   []int    // indexes into names, in sorted order; it rarely changes, as all rows have the same columns
}

var digesters = sync.Pool{New: func() any { return new(digester) }}

// digestFormat is the number of the hashed form. A changed form gets another number, so that digests of two different
// forms are never equal.
const digestFormat = 1

// begin returns the buffer for the hashed form of an entry. The buffer starts with the format and the kind.
func (d *digester) begin(kind Kind) []byte {
	return appendSized(append(d.bytes[:0], digestFormat), string(kind))
}

// end returns the digest of b, and keeps the memory of b for the next entry.
func (d *digester) end(b []byte) Digest {
	d.bytes = b[:0]
	sum := sha256.Sum256(b)
	return Digest(sum[:16])
}

// appendSized appends the length of text, and text.
func appendSized(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// rowDigest returns the digest of a row: of its item, and of d.columns in the order of their names. It empties
// d.columns. foreign describes parts of the row that no row of the sink should have; "" if it has no such parts.
func (d *digester) rowDigest(source item.Key, foreign string) Digest {
	d.sortColumns()
	b := d.begin(Row)
	b = appendSized(b, string(source))
	b = appendSized(b, foreign)
	for _, i := range d.order {
		b = appendSized(b, d.columns[i].Name)
		b = d.columns[i].Value.AppendCanonical(b)
	}
	clear(d.columns)
	d.columns = d.columns[:0]
	return d.end(b)
}

// sortColumns computes the order of the columns, unless they have the names of the last row's columns.
func (d *digester) sortColumns() {
	if slices.EqualFunc(d.names, d.columns, func(name string, c state.Column) bool { return name == c.Name }) {
		return
	}
	d.names, d.order = d.names[:0], d.order[:0]
	for i := range d.columns {
		d.names = append(d.names, strings.Clone(d.columns[i].Name))
		d.order = append(d.order, i)
	}
	slices.SortFunc(d.order, func(a, b int) int { return strings.Compare(d.names[a], d.names[b]) })
}

// guardDigest returns the digest of a guard. A guard's content is the row that the item claims.
func (d *digester) guardDigest(row state.Row) Digest {
	return d.end(append(d.begin(Guard), row...))
}

// ownerDigest returns the digest of the owner of a row.
func (d *digester) ownerDigest(owner item.Key) Digest {
	return d.end(append(d.begin(Owner), owner...))
}

// contributionDigest returns the digest of a contribution, made of its shares.
func (d *digester) contributionDigest(shares []state.Share) Digest {
	b := d.begin(Contribution)
	for i := range shares {
		b = appendSized(b, string(shares[i].Group))
		b = binary.AppendUvarint(b, uint64(len(shares[i].Values)))
		for _, v := range shares[i].Values {
			b = appendSized(b, v)
		}
	}
	return d.end(b)
}

// documentDigest returns the digest of a document without _tw. foreign means the same as for rowDigest.
func (d *digester) documentDigest(doc []byte, foreign string) (Digest, error) {
	b, err := appendCanonicalDocument(appendSized(d.begin(Document), foreign), doc)
	return d.end(b), err
}
