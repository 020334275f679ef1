package template

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Functions read real values, and the mask changes only the results of functions. So a mask changes neither which
// values are missing nor which values are errors. Two results that are equal without a mask are also equal with a mask.

// mask replaces the text dst[start:] if it comes from a hidden value. A value without functions becomes the same masked
// text as in an item that the mask copies.
func (h *placeholder) mask(dst []byte, start int, s *Scope) []byte {
	if !h.readsHidden(s) {
		return dst
	}
	isUnchanged := len(h.calls) == 0 || h.onlyEscapes()
	switch {
	case isUnchanged && h.source == fromKey:
		return append(dst[:start], s.Mask.Key(s.Change)...)
	case isUnchanged && (h.readsPath() || h.source == fromBound):
		v, _ := h.lookup(s)
		text, _ := h.masked(s, v).Text()
		return append(dst[:start], text...)
	}
	return append(dst[:start], s.Mask.Text(string(dst[start:]))...)
}

// readsHidden reports whether the placeholder reads a hidden value.
func (h *placeholder) readsHidden(s *Scope) bool {
	switch h.source {
	case fromItem:
		v, _ := h.lookup(s)
		_, hidden := s.Mask.ValueAt(h.path, v)
		return hidden
	case fromEach:
		return s.Mask.Hides(s.EachOf + strings.TrimPrefix(h.name, "each"))
	case fromIdentity:
		return s.IDOf != "" && s.Mask.Hides(s.IDOf)
	case fromKey, fromShard: // a shard reveals something about its key
		_, hidden := s.Mask.HiddenKey(s.Change)
		return hidden
	case fromEntity: // the entity's name reveals the attributes that its condition read
		return slices.ContainsFunc(h.entities.Conditions(), func(c entity.Condition) bool { return s.hidesAny(c.Paths()) })
	case fromBound:
		return s.hidesAny(h.bound.Attributes())
	}
	return false
}

// hidesAny reports whether the mask may hide one of the attributes, or a value inside one of them.
func (s *Scope) hidesAny(attributes []string) bool {
	return slices.ContainsFunc(attributes, func(name string) bool { return s.Mask.Hides(item.PathText([]string{name})) })
}

// masked returns v with the mask applied. v is the value at the placeholder's path.
func (h *placeholder) masked(s *Scope, v item.Value) item.Value {
	switch {
	case s.Mask == nil:
		return v
	case h.source == fromItem:
		v, _ = s.Mask.ValueAt(h.path, v)
		return v
	case h.readsHidden(s):
		return s.Mask.Value("", v)
	}
	return v
}
