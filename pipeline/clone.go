package pipeline

import (
	"bytes"
	"slices"
	"strings"
	"unsafe"
)

// Clone is v with bytes of its own, so that its page can be freed.
func (v Value) Clone() Value {
	v.raw = bytes.Clone(v.raw)
	return v
}

// Clone is m with bytes of its own, so that its page can be freed.
func (m Image) Clone() Image {
	if !m.Exists() {
		return Image{}
	}
	return imageOf(bytes.Clone(m.json()), slices.Clone(m.attrs()))
}

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
	for _, image := range []*Image{&d.Keys, &d.Old, &d.New} {
		if image.Exists() {
			*image = imageOf(m.bytes(image.json()), slices.Clone(image.attrs()))
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
		return view(moved)
	}
	return strings.Clone(s)
}
