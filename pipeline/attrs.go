package pipeline

// attr is one attribute of an item, as ranges of the item's bytes.
type attr struct {
	name, nameEnd uint32 // without quotes
	from, to      uint32 // of the value, as Value.raw
	kind          Kind
	escaped       bool // the name holds an escape
}

func (a *attr) value(doc []byte) Value { return Value{raw: doc[a.from:a.to:a.to], kind: a.kind} }

func (a *attr) rawName(doc []byte) []byte { return doc[a.name:a.nameEnd] }

func (a *attr) text(doc []byte) string {
	if a.escaped {
		return view(textOf(a.rawName(doc)))
	}
	return view(a.rawName(doc))
}

// attrSlab keeps the indexes of a page's images in few pieces of memory.
type attrSlab struct {
	free []attr
	kept int
	// How far the page has been read, for a guess of what is still to come.
	read, left int
}

// largestPiece bounds what a wrong guess costs.
const (
	firstPiece   = 32
	largestPiece = 4096
)

func (s *attrSlab) keep(as []attr) []attr {
	if len(as) > len(s.free) {
		guess := firstPiece // nothing is known before a record has been read whole
		if s.read > 0 {
			guess = (s.kept + len(as)) * (s.left >> 4) / (s.read>>4 + 1)
		}
		s.free = make([]attr, max(len(as), min(guess, largestPiece)))
	}
	s.kept += len(as)
	n := copy(s.free, as)
	kept := s.free[:n:n]
	s.free = s.free[n:]
	return kept
}
