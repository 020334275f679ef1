package pipeline

import "strings"

// RecordError is e as it may be shown: its key masked where a key attribute is hidden,
// its path cut at a hidden place, since the names below are hidden with it, and without
// the record, of which nobody can tell what is hidden. Without a mask it is e itself.
func (m *Mask) RecordError(e *RecordError) *RecordError {
	if m == nil {
		return e
	}
	masked := *e
	masked.Raw = nil
	if e.Key != "" {
		masked.Key, masked.Keys = m.Key(&Change{Key: e.Key, Keys: e.Keys}), m.Image(e.Keys)
	}
	for _, within := range []string{"dynamodb.Keys", "dynamodb.NewImage", "dynamodb.OldImage"} {
		image, path, ok := strings.Cut(e.Path, within)
		if !ok || path == "" || image != "" && image != "kinesis.data." {
			continue
		}
		p, err := ParsePath(strings.TrimPrefix(path, "."))
		if err != nil {
			masked.Path = image + within
		} else if shown, cut := m.cut(p); cut {
			masked.Path = string(appendBelow([]byte(image+within), shown))
		}
	}
	return &masked
}

// cut is a path of an item up to the hidden place that it goes to or below; false
// where there is none.
func (m *Mask) cut(p Path) (shown string, ok bool) {
	s := m.root
	var b []byte
	for i, seg := range p.segs {
		if s = s.step(seg, i == 0); s.isClear() {
			return "", false
		}
		if seg.index >= 0 {
			b = appendElement(b, seg.index)
		} else {
			b = appendMember(b, seg.name)
		}
		if s.hidden && len(s.allowed) == 0 {
			return string(b), true
		}
	}
	return "", false
}
