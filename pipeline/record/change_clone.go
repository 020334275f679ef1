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
	for _, text := range changeTexts(&clone) {
		*text = ddbjson.View(cloneRange(ddbjson.Bytes(*text), c.Raw, clone.Raw))
	}
	for _, image := range []*item.Image{&clone.Keys, &clone.Old, &clone.New} {
		if image.Exists() {
			*image = item.Indexed(cloneRange(image.Bytes(), c.Raw, clone.Raw), slices.Clone(image.Index()))
		}
	}
	return &clone
}

// cloneRange returns a copy of b. If b is a range of whole, the copy is the same range of clone, which is the clone of
// whole.
func cloneRange(b, whole, clone []byte) []byte {
	start, ok := rangeStart(whole, b)
	if !ok {
		return bytes.Clone(b)
	}
	end := start + len(b)
	return clone[start:end:end]
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
