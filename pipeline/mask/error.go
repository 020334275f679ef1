package mask

import (
	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// RecordError is e as it may be shown: its key masked where a key attribute is hidden,
// its path cut at a hidden place, since the names below are hidden with it, and without
// the record, of which nobody can tell what is hidden. Without a mask it is e itself.
func (m *Mask) RecordError(e *record.RecordError) *record.RecordError {
	if m == nil {
		return e
	}
	masked := *e
	masked.Raw = nil
	if e.Key != "" {
		masked.Key, masked.Keys = m.Key(&record.Change{Key: e.Key, Keys: e.Keys}), m.Image(e.Keys)
	}
	if image, p, ok := e.ImagePath(); ok {
		if shown, cut := m.cut(p); cut {
			masked.Path = string(ddbjson.AppendBelow([]byte(image), shown))
		}
	}
	return &masked
}

// cut is a path of an item up to the hidden place that it goes to or below; false
// where there is none.
func (m *Mask) cut(p item.Path) (shown string, ok bool) {
	s := m.root
	var b []byte
	top := true
	for name, index := range p.Segments() {
		if s = s.step(pathStep{name, index}, top); s.isClear() {
			return "", false
		}
		if top = false; index >= 0 {
			b = ddbjson.AppendElement(b, index)
		} else {
			b = ddbjson.AppendMember(b, name)
		}
		if s.hidden && len(s.allowed) == 0 {
			return string(b), true
		}
	}
	return "", false
}
