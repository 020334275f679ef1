package pipeline

import "strconv"

// Difference is one path at which the old and the new image differ.
type Difference struct {
	Path     string
	Old, New Value // Absent where the path is missing
}

// Diff lists the paths at which a and b differ by meaning, in the order of the
// paths: leaves of maps by name, elements of lists by index, sets as a whole. A
// path that exists on one side only is listed as it is there, with all that is
// below it. The aws:rep:* attributes of legacy global tables are left out.
func Diff(a, b Image) []Difference {
	var d diff
	for _, p := range pairImages(a, b) {
		if !replicated(p.name) {
			d.member(p)
		}
	}
	return d.found
}

type diff struct {
	path  []byte
	found []Difference
}

func (d *diff) member(p pair) {
	here := len(d.path)
	d.path = appendMember(d.path, p.name)
	d.values(p.old, p.new)
	d.path = d.path[:here]
}

func (d *diff) element(i int, p pair) {
	here := len(d.path)
	d.path = appendElement(d.path, i)
	d.values(p.old, p.new)
	d.path = d.path[:here]
}

func (d *diff) values(old, new Value) {
	switch {
	case old.Equal(new):
	case old.Kind() == KindM && new.Kind() == KindM:
		for _, p := range pairMaps(old, new) {
			d.member(p)
		}
	case old.Kind() == KindL && new.Kind() == KindL:
		for i, p := range pairLists(old, new) {
			d.element(i, p)
		}
	default:
		d.found = append(d.found, Difference{Path: string(d.path), Old: old, New: new})
	}
}

// appendMember appends a map's member to the text of a path.
func appendMember(path []byte, name string) []byte {
	bare := name != ""
	for i := range len(name) {
		bare = bare && bareNameByte(name[i], i == 0)
	}
	if !bare {
		path = append(path, '[')
		path = strconv.AppendQuote(path, name)
		return append(path, ']')
	}
	if len(path) > 0 {
		path = append(path, '.')
	}
	return append(path, name...)
}

// appendElement appends a list's element to the text of a path.
func appendElement(path []byte, i int) []byte {
	path = append(path, '[')
	path = strconv.AppendInt(path, int64(i), 10)
	return append(path, ']')
}
