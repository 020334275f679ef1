package pipeline

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
