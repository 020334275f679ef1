package record

import (
	"bytes"
	"slices"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Clone returns a copy that does not refer to the page of c, so that the page can be freed. Clone copies the record
// once: texts and images that are ranges of Raw become ranges of its copy.
func (c *Change) Clone() *Change {
	clone := *c
	clone.Raw = bytes.Clone(c.Raw)
	m := rangeMover{from: c.Raw, to: clone.Raw}
	for _, text := range changeTexts(&clone) {
		*text = m.moveText(*text)
	}
	for _, image := range []*item.Image{&clone.Keys, &clone.Old, &clone.New} {
		if image.Exists() {
			*image = item.Indexed(m.bytes(image.Bytes()), slices.Clone(image.Index()))
		}
	}
	return &clone
}

// rangeMover maps ranges of the buffer from to the same ranges of its copy to.
type rangeMover struct{ from, to []byte }

// bytes returns the part of the copy that corresponds to b. If b is not a range of the original, it returns a new copy
// of b.
func (m rangeMover) bytes(b []byte) []byte {
	start, ok := rangeStart(m.from, b)
	if !ok {
		return bytes.Clone(b)
	}
	end := start + len(b)
	return m.to[start:end:end]
}

// rangeStart returns the index in whole of the first byte of b, or false if b is empty or not a range of whole.
func rangeStart(whole, b []byte) (start int, ok bool) {
	if len(b) == 0 || len(whole) == 0 {
		return 0, false
	}
	// If b is before whole, the difference is larger than any length.
	distance := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
	n := uintptr(len(whole))
	if distance >= n || uintptr(len(b)) > n-distance {
		return 0, false
	}
	return int(distance), true
}

func (m rangeMover) moveText(s string) string {
	if s == "" {
		return ""
	}
	return ddbjson.View(m.bytes(unsafe.Slice(unsafe.StringData(s), len(s))))
}
