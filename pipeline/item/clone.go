package item

import (
	"bytes"
	"slices"
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
	return Indexed(bytes.Clone(m.Bytes()), slices.Clone(m.Index()))
}
