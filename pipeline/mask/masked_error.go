package mask

import (
	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// RecordError returns a copy of e that people may see. The copy has no Raw, because the hidden parts of an undecodable
// record are unknown. Its key is masked if a key attribute is hidden. Its path ends at the first hidden value, because
// the names inside this value are hidden, too. A nil mask returns e.
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

// cutPath returns the part of a path up to the first hidden value, including this value. It returns false if no value
// on the path is hidden.
func (m *Mask) cutPath(p item.Path) (shown string, ok bool) {
	s := m.root
	var path []byte
	for _, segment := range p.Segments() {
		s = s.step(segment)
		if s.isClear() {
			return "", false
		}
		path = segment.AppendTo(path)
		if s.hidden && len(s.allowed) == 0 {
			return string(path), true
		}
	}
	return "", false
}
