package record

import (
	"bytes"
	"slices"
	"strings"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Clone returns a copy that does not refer to the page of c, so that the page can be freed. Clone copies the record
// once: texts and images that are ranges of Raw become ranges of its copy.
func (c *Change) Clone() *Change {
	d := *c
	d.Raw = bytes.Clone(c.Raw)
	m := rangeMover{from: c.Raw, to: d.Raw}
	for _, text := range changeTexts(&d) {
		*text = m.moveText(*text)
	}
	for _, image := range []*item.Image{&d.Keys, &d.Old, &d.New} {
		if image.Exists() {
			*image = item.Indexed(m.bytes(image.Bytes()), slices.Clone(image.Index()))
		}
	}
	return &d
}

// rangeMover maps ranges of the buffer from to the same ranges of its copy to.
type rangeMover struct{ from, to []byte }

// bytes returns the part of the copy that corresponds to b. If b is not a range of the original, it returns a new copy
// of b.
func (m rangeMover) bytes(b []byte) []byte {
	if len(b) == 0 || len(m.from) == 0 {
		return bytes.Clone(b)
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(m.from)))
	if n := uintptr(len(m.from)); start < n && uintptr(len(b)) <= n-start {
		end := start + uintptr(len(b))
		return m.to[start:end:end]
	}
	return bytes.Clone(b)
}

func (m rangeMover) moveText(s string) string {
	if s == "" {
		return ""
	}
	if moved := m.bytes(unsafe.Slice(unsafe.StringData(s), len(s))); len(moved) > 0 {
		return ddbjson.View(moved)
	}
	return strings.Clone(s)
}
