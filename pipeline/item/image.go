package item

import (
	"iter"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// Image is an item as one record shows it. The zero Image means that the record
// has none (Exists is false); an image without attributes exists and is empty.
// Images are immutable and safe for concurrent use; no getter allocates, but for
// names with escapes.
type Image struct {
	doc   *byte         // the first of the JSON object; nil where there is none
	first *ddbjson.Attr // of its index
	size  uint32
	n     uint32
}

// Indexed is the item of these bytes, which is indexed by as.
func Indexed(doc []byte, as []ddbjson.Attr) Image {
	return Image{doc: unsafe.SliceData(doc), first: unsafe.SliceData(as), size: uint32(len(doc)), n: uint32(len(as))}
}

// Bytes is the item's JSON object; nil where there is none.
func (m *Image) Bytes() []byte { return unsafe.Slice(m.doc, m.size) }

// ValueAt is that of attribute i.
func (m *Image) ValueAt(i int) Value { return valueOf(m.Bytes(), m.Index(), i) }

// name is that of attribute i.
func (m *Image) name(i int) string { return m.Index()[i].Text(m.Bytes()) }

// Index is the item's index.
func (m *Image) Index() []ddbjson.Attr { return unsafe.Slice(m.first, m.n) }

// Exists tells whether the record has this image.
func (m Image) Exists() bool { return m.doc != nil }

// Len is the number of attributes.
func (m Image) Len() int { return int(m.n) }

// Get is the attribute of that name; false when there is none.
func (m Image) Get(name string) (Value, bool) {
	const long = 0xff
	if name == "" || len(name) > long {
		return m.find(name)
	}
	// Names of one length mostly differ in their first byte, which takes no call to compare.
	doc, as := m.Bytes(), m.Index()
	want := ddbjson.Attr(len(name)) << ddbjson.AttrLen
	for i, a := range as {
		if a&(ddbjson.AttrEscaped|ddbjson.AttrFar) != 0 {
			return m.find(name)
		}
		if a&(long<<ddbjson.AttrLen) != want {
			continue
		}
		if from := a.Name(); doc[from] == name[0] && string(doc[from:from+len(name)]) == name {
			return valueOf(doc, as, i), true
		}
	}
	return Value{}, false
}

// find is Get of any name, in any image.
func (m *Image) find(name string) (Value, bool) {
	doc, as := m.Bytes(), m.Index()
	for i, a := range as {
		if a.Text(doc) == name {
			return valueOf(doc, as, i), true
		}
	}
	return Value{}, false
}

// Lookup is the value at a path, such as Address.Lines[0]["a-b"]. False when there
// is none, or the path is unsound; see [ParsePath].
func (m Image) Lookup(path string) (Value, bool) {
	seg, rest, err := cutSegment(path, true)
	if err != "" || seg.index >= 0 {
		return Value{}, false
	}
	v, ok := m.Get(seg.name)
	if !ok || rest == "" {
		return v, ok
	}
	return lookupRest(v, rest)
}

// At is the value that p leads to; false when there is none.
func (m Image) At(p Path) (Value, bool) {
	if p.IsZero() {
		return Value{}, false
	}
	v, ok := m.Get(p.segs[0].name)
	for _, seg := range p.segs[1:] {
		if !ok {
			break
		}
		v, ok = v.step(seg)
	}
	return v, ok
}

// All are the attributes, in the order of the page.
func (m Image) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		doc, as := m.Bytes(), m.Index()
		for i, a := range as {
			if !yield(a.Text(doc), valueOf(doc, as, i)) {
				return
			}
		}
	}
}

// Value is the image as an M; absent where there is no image.
func (m Image) Value() Value {
	if !m.Exists() {
		return Value{}
	}
	return Value{raw: m.Bytes(), kind: KindM}
}

// Parse reads an item in DynamoDB JSON: {"PK":{"S":"x"},...}. It takes b over.
// The error has the offset and the path, and shows no data.
func Parse(b []byte) (Image, error) {
	s := ddbjson.Scanner{B: b}
	start := s.Space(0)
	as, end := s.Item(start, nil, nil)
	if end >= 0 {
		next := s.Space(end)
		if next == len(b) {
			return Indexed(b[start:end], as), nil
		}
		s.Fail(next, ddbjson.ErrTrailing)
	}
	return Image{}, s.Failure(ddbjson.InItem)
}

// Of is the image of an M value; false for any other kind.
func Of(v Value) (Image, bool) {
	if v.kind != KindM {
		return Image{}, false
	}
	s := ddbjson.Scanner{B: v.raw, EmptyMaps: true}
	as, next := s.Item(0, nil, nil)
	if next < 0 {
		return Image{}, false
	}
	return Indexed(v.raw[:next], as), true
}
