package record

import (
	"bytes"
	"slices"
	"strings"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Clone copies the change's bytes, so that its page can be freed. The record is
// copied once: what is a range of it becomes a range of the copy.
func (c *Change) Clone() *Change {
	d := *c
	d.Raw = bytes.Clone(c.Raw)
	m := mover{from: c.Raw, to: d.Raw}
	for _, text := range []*string{
		&d.EventName, (*string)(&d.Key), &d.Version.sequence, &d.Sequence, &d.EventID, &d.StreamARN, &d.Table,
		&d.Region, &d.Shard, &d.Identity.Type, &d.Identity.PrincipalID,
	} {
		*text = m.text(*text)
	}
	for _, image := range []*item.Image{&d.Keys, &d.Old, &d.New} {
		if image.Exists() {
			*image = item.Indexed(m.bytes(image.Bytes()), slices.Clone(image.Index()))
		}
	}
	return &d
}

// mover moves ranges of one buffer to a copy of it.
type mover struct{ from, to []byte }

// bytes is b in the copy, or a copy of b where it is no range of the original.
func (m mover) bytes(b []byte) []byte {
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

func (m mover) text(s string) string {
	if s == "" {
		return ""
	}
	if moved := m.bytes(unsafe.Slice(unsafe.StringData(s), len(s))); len(moved) > 0 {
		return ddbjson.View(moved)
	}
	return strings.Clone(s)
}
