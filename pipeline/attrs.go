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

	// What the records that were read whole took, for a guess of what is still to come.
	before, read, left int // attributes; bytes of these records; bytes behind them
}

const (
	firstPiece   = 32   // while nothing is known
	largestPiece = 4096 // bounds what a wrong guess costs
)

// at notes that a record starts behind so many bytes of records, before so many bytes.
func (s *attrSlab) at(read, left int) { s.before, s.read, s.left = s.kept, read, left }

func (s *attrSlab) keep(as []attr) []attr {
	if len(as) > len(s.free) {
		guess := firstPiece
		if s.read > 0 {
			guess = int(float64(s.before)/float64(s.read)*float64(s.left)) - (s.kept - s.before)
		}
		s.free = make([]attr, max(len(as), min(guess, largestPiece)))
	}
	s.kept += len(as)
	n := copy(s.free, as)
	kept := s.free[:n:n]
	s.free = s.free[n:]
	return kept
}
