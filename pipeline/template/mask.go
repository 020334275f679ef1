package template

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Functions read real values, and the mask changes only their results. A template therefore
// has the same missing values and errors with a mask and without, and results that are
// equal without a mask are equal with it.

// mask replaces the text from start on if it was made of a hidden value. A value without functions
// gets the same text from the mask as everywhere else.
func (h *placeholder) mask(dst []byte, start int, s *Scope) []byte {
	plain := len(h.calls) == 0 || len(h.calls) == 1 && h.calls[0].fn == fnEsc
	switch {
	case !h.hidden(s):
		return dst
	case plain && h.source == fromKey:
		return append(dst[:start], s.Mask.Key(s.Change)...)
	case plain && (h.source <= fromEach || h.source == fromBound):
		v, _ := h.lookup(s)
		text, _ := h.masked(s, v).Text()
		return append(dst[:start], text...)
	}
	return append(dst[:start], s.Mask.Text(string(dst[start:]))...)
}

// hidden reports whether the placeholder reads a hidden value.
func (h *placeholder) hidden(s *Scope) bool {
	switch h.source {
	case fromItem:
		v, _ := h.lookup(s)
		_, hidden := s.Mask.ValueAt(h.path, v)
		return hidden
	case fromEach:
		return s.Mask.Hides(s.EachOf + strings.TrimPrefix(h.name, "each"))
	case fromIdentity:
		return s.IDOf != "" && s.Mask.Hides(s.IDOf)
	case fromKey, fromShard: // a shard says a part of what its key is
		_, hidden := s.Mask.HiddenKey(s.Change)
		return hidden
	case fromEntity: // its name tells what a condition found in an attribute
		return slices.ContainsFunc(h.entities.Conditions(), func(c entity.Condition) bool { return s.hidesAny(c.Paths()) })
	case fromBound:
		return s.hidesAny(h.bound.Attributes())
	}
	return false
}

// hidesAny reports whether the mask may hide one of the attributes, or a value inside it.
func (s *Scope) hidesAny(attributes []string) bool {
	return slices.ContainsFunc(attributes, func(name string) bool { return s.Mask.Hides(item.PathText([]string{name})) })
}

// masked returns v, the value at the placeholder's path, with the mask applied.
func (h *placeholder) masked(s *Scope, v item.Value) item.Value {
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
