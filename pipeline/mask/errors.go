package mask

import (
	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// RecordError returns e as people may see it: with the key masked if a key attribute is hidden, with the path cut at a
// hidden value, since the names inside are hidden too, and without the record, whose hidden parts are unknown. Without
// a mask it returns e.
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
		if shown, cut := m.cutPath(p); cut {
			masked.Path = string(ddbjson.JoinPath([]byte(image), shown))
		}
	}
	return &masked
}

// cutPath returns the part of a path up to the first hidden value. It returns false if the path reaches no hidden
// value.
func (m *Mask) cutPath(p item.Path) (shown string, ok bool) {
	s := m.root
	var b []byte
	for n, seg := range p.Segments() {
		if s = s.step(seg, n == 0); s.isClear() {
			return "", false
		}
		b = seg.AppendTo(b)
		if s.hidden && len(s.allowed) == 0 {
			return string(b), true
		}
	}
	return "", false
}
