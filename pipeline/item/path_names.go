package item

import "github.com/tablewake/tablewake/pipeline/internal/ddbjson"

// Names are the names that p is made of, from the top; false where an element of
// a list is part of it.
func (p Path) Names() ([]string, bool) {
	names := make([]string, 0, len(p.segs))
	for _, s := range p.segs {
		if s.index >= 0 {
			return nil, false
		}
		names = append(names, s.name)
	}
	return names, true
}

// PathText is the path through names, as [ParsePath] reads it: a name that is no identifier
// is quoted in brackets.
func PathText(names []string) string {
	var path []byte
	for _, name := range names {
		path = ddbjson.AppendMember(path, name)
	}
	return string(path)
}
