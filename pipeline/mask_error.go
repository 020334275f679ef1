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
	if image, p, ok := e.place(); ok {
		if shown, cut := m.cut(p); cut {
			masked.Path = string(appendBelow([]byte(image), shown))
		}
	}
	return &masked
}

// attribute is the path up to the attribute of the item that it goes to: names inside
// maps may be data, and no log shows them.
func (e *RecordError) attribute() string {
	if image, p, ok := e.place(); ok {
		return string(appendBelow([]byte(image), string(appendMember(nil, p.Root()))))
	}
	return e.Path
}

// place takes the path apart: the image, and the place in it; false where it goes to none.
func (e *RecordError) place() (image string, p Path, ok bool) {
	outer, rest, ok := strings.Cut(e.Path, "dynamodb.")
	name, path, _ := strings.Cut(rest, "Image")
	switch {
	case !ok || outer != "" && outer != "kinesis.data.":
		return "", Path{}, false
	case name == "New" || name == "Old":
		name += "Image"
	case strings.HasPrefix(rest, "Keys"):
		name, path = "Keys", rest[len("Keys"):]
	}
	p, err := ParsePath(strings.TrimPrefix(path, "."))
	return outer + "dynamodb." + name, p, err == nil
}

// cut is a path of an item up to the hidden place that it goes to or below; false
// where there is none.
func (m *Mask) cut(p Path) (shown string, ok bool) {
	s := m.root
	var b []byte
	top := true
	for name, index := range p.Segments() {
		if s = s.step(pathStep{name, index}, top); s.isClear() {
			return "", false
		}
		if top = false; index >= 0 {
			b = appendElement(b, index)
		} else {
			b = appendMember(b, name)
		}
		if s.hidden && len(s.allowed) == 0 {
			return string(b), true
		}
	}
	return "", false
}
