package template

import (
	"strings"

	"github.com/tablewake/tablewake/pipeline"
)

// Functions read what is there, and only what they make of it is masked: so a
// template finds the same things missing with a mask and without, it fails alike,
// and what it makes of two items is equal alike.

// mask replaces the text from start on where it is made of what is hidden. A value
// as it stands has the text that the mask gives it everywhere.
func (h *placeholder) mask(dst []byte, start int, s *Scope) []byte {
	plain := len(h.calls) == 0 || len(h.calls) == 1 && h.calls[0].fn == fnEsc
	switch {
	case !h.hidden(s):
		return dst
	case plain && h.source == fromKey:
		return append(dst[:start], s.Mask.Key(s.Change)...)
	case plain && h.source <= fromEach:
		v, _ := h.lookup(s)
		text, _ := h.masked(s, v).Text()
		return append(dst[:start], text...)
	}
	return append(dst[:start], s.Mask.Text(string(dst[start:]))...)
}

// hidden tells whether the placeholder reads what is hidden.
func (h *placeholder) hidden(s *Scope) bool {
	switch h.source {
	case fromItem:
		v, _ := h.lookup(s)
		_, hidden := s.Mask.ValueAt(h.path, v)
		return hidden
	case fromEach:
		return s.Mask.Hides(s.EachOf + "[*]" + strings.TrimPrefix(h.name, "each"))
	case fromKey:
		_, hidden := s.Mask.HiddenKey(s.Change)
		return hidden
	}
	return false
}

// masked is v, the value that the placeholder's path leads to, masked.
func (h *placeholder) masked(s *Scope, v pipeline.Value) pipeline.Value {
	switch {
	case s.Mask == nil:
		return v
	case h.source == fromItem:
		v, _ = s.Mask.ValueAt(h.path, v)
		return v
	case h.hidden(s):
		return s.Mask.Value("", v)
	}
	return v
}
