package item

import (
	"bytes"
	"iter"
	"slices"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// Image is the state of an item in one record. The zero Image means that the record has no such image: Exists returns
// false. An image without attributes exists and is empty. Images are immutable and safe for concurrent use. Getters
// allocate only for names with escapes.
type Image struct { // pointers and 32-bit lengths take less memory than slices, and a Change has three images
	doc   *byte         // first byte of the JSON object; nil if there is no image
	first *ddbjson.Attr // first entry of the index
	size  uint32        // bytes of the JSON object
	n     uint32        // entries of the index
}

// Indexed returns the image with the JSON object doc. attrs is the index of doc, made by a [ddbjson.Scanner]. The image
// keeps both slices. Indexed is for decoders. Other packages call [Parse].
func Indexed(doc []byte, attrs []ddbjson.Attr) Image {
	return Image{doc: unsafe.SliceData(doc), first: unsafe.SliceData(attrs), size: uint32(len(doc)), n: uint32(len(attrs))}
}

// Bytes is the item's JSON object, or nil if there is no image. The caller must not change it.
func (m *Image) Bytes() []byte { return unsafe.Slice(m.doc, m.size) }

// ValueAt is the value of attribute i, in the order of the page.
func (m *Image) ValueAt(i int) Value { return valueOf(m.Bytes(), m.Index(), i) }

// name is the name of attribute i.
func (m *Image) name(i int) string { return m.Index()[i].Text(m.Bytes()) }

// Index has one entry for each attribute, in the order of the page. The caller must not change it.
func (m *Image) Index() []ddbjson.Attr { return unsafe.Slice(m.first, m.n) }

// Exists reports whether the record has this image.
func (m Image) Exists() bool { return m.doc != nil }

// Len is the number of attributes.
func (m Image) Len() int { return int(m.n) }

// Get returns the attribute with this name, or false if there is none.
func (m Image) Get(name string) (Value, bool) {
	if name == "" {
		return m.slowGet(name)
	}
	// Two names of the same length mostly differ in their first byte, and comparing this byte takes no call.
	doc, attrs := m.Bytes(), m.Index()
	for i, a := range attrs {
		if !a.Plain() {
			return m.slowGet(name)
		}
		if a.NameLen() != len(name) {
			continue
		}
		if from := a.NameStart(); doc[from] == name[0] && string(doc[from:from+len(name)]) == name {
			return valueOf(doc, attrs, i), true
		}
	}
	return Value{}, false
}

// slowGet does the same as Get, for all names: also those that are empty or have escapes, and those of attributes that
// are not Plain.
func (m *Image) slowGet(name string) (Value, bool) {
	doc, attrs := m.Bytes(), m.Index()
	for i, a := range attrs {
		if a.Text(doc) == name {
			return valueOf(doc, attrs, i), true
		}
	}
	return Value{}, false
}

// Lookup returns the value at a path, such as Address.Lines[0]["a-b"]. It returns false if there is no value, or if the
// path is invalid. See [ParsePath] for the syntax.
func (m Image) Lookup(path string) (Value, bool) {
	seg, rest, problem := cutFirstSegment(path, pathSyntax)
	if problem != "" || seg.IsElement() {
		return Value{}, false
	}
	v, ok := m.Get(seg.Name)
	if !ok || rest == "" {
		return v, ok
	}
	return v.lookup(cutSegment(rest, pathSyntax))
}

// At returns the value at the path p, or false if there is none.
func (m Image) At(p Path) (Value, bool) {
	if p.IsZero() {
		return Value{}, false
	}
	v, ok := m.Get(p.segs[0].Name)
	for _, seg := range p.segs[1:] {
		if !ok {
			break
		}
		v, ok = v.step(seg)
	}
	return v, ok
}

// All iterates over the attributes, in the order of the page.
func (m Image) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		doc, attrs := m.Bytes(), m.Index()
		for i, a := range attrs {
			if !yield(a.Text(doc), valueOf(doc, attrs, i)) {
				return
			}
		}
	}
}

// Value is the image as an M, or the absent value if there is no image.
func (m Image) Value() Value {
	if !m.Exists() {
		return Value{}
	}
	return Value{raw: m.Bytes(), kind: KindM}
}

// Parse reads an item in DynamoDB JSON: {"PK":{"S":"x"},...}. The image keeps b, which the caller must not change. The
// error names the offset and the path, and holds no data.
func Parse(b []byte) (Image, error) {
	s := ddbjson.Scanner{Input: b}
	start := s.SkipSpace(0)
	attrs, end := s.Item(start, nil, nil)
	if end >= 0 {
		next := s.SkipSpace(end)
		if next == len(b) {
			return Indexed(b[start:end], attrs), nil
		}
		s.Fail(next, ddbjson.ErrTrailing)
	}
	return Image{}, s.Failure(ddbjson.InItem)
}

// ImageOf returns the image of an M, or false for a value of another kind.
func ImageOf(v Value) (Image, bool) {
	if v.kind != KindM {
		return Image{}, false
	}
	s := ddbjson.Scanner{Input: v.raw, AllowEmptyMaps: true}
	attrs, next := s.Item(0, nil, nil)
	if next < 0 {
		return Image{}, false
	}
	return Indexed(v.raw[:next], attrs), true
}

// Clone returns a copy of m that does not refer to its page, so that the page can be freed.
func (m Image) Clone() Image {
	if !m.Exists() {
		return Image{}
	}
	return Indexed(bytes.Clone(m.Bytes()), slices.Clone(m.Index()))
}
