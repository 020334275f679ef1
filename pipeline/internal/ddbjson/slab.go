package ddbjson

import "unsafe"

// attrSlab keeps the indexes of a page's images, and its canonical keys, in few pieces of
// memory, which are as large as what was read so far says. A slab of no page makes each index
// for itself.
type attrSlab struct {
	piece []Attr
	used  int // of the piece: a number, as a pointer that moves is dear while garbage is marked
	Kept  int // attributes so far, and as many for each key as it takes

	// Until the first record is through, nobody knows how much the page will take: what that
	// one takes is scratch memory of the reader.
	Opened  bool
	scratch []Attr

	Now, past took // what the records of this page took that were read whole; those of pages before
	Left      int  // bytes of the page that are not read yet, or of which the record is that is being read
	last      int  // records of the page before
	batch     int  // records of the two pages before, where they had as many; else 0
}

// largestPiece bounds what a wrong guess costs.
const largestPiece = 8192

// Begin makes ready for a record, before which there are so many bytes left.
func (s *attrSlab) Begin(left int) {
	if s.Left = left; !s.Opened {
		s.piece, s.used, s.Kept = s.scratch, 0, 0
	}
}

// Open makes room for what is left of the page, behind so many attributes.
func (s *attrSlab) Open(need int) {
	if need > len(s.scratch) && need <= ManyAttrs {
		s.scratch = make([]Attr, need+need/8)
	}
	s.Opened, s.Kept = true, 0
	s.grow(need)
}

func (s *attrSlab) Keep(as []Attr) []Attr {
	if len(as) > len(s.piece)-s.used {
		s.grow(len(as))
	}
	copy(s.piece[s.used:], as)
	return s.take(len(as))
}

// Room is where a key may be written, which keepKey then keeps.
func (s *attrSlab) Room() []byte {
	free := s.piece[s.used:]
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(free))), len(free)*attrBytes)[:0]
}

// KeepKey keeps what was appended to room; where that was too small, it has moved.
func (s *attrSlab) KeepKey(key []byte) string {
	need := (len(key) + attrBytes - 1) / attrBytes
	if need > len(s.piece)-s.used {
		s.grow(need)
	}
	if room := s.Room()[:len(key)]; unsafe.SliceData(room) != unsafe.SliceData(key) {
		copy(room, key)
		key = room
	}
	s.take(need)
	return View(key)
}

// More is how many records are likely to be behind those that were read whole. Pages often
// have as many as were asked for.
func (s *attrSlab) More() int {
	n := s.Now.with(s.past).more(s.Left)
	if batch := s.batch - s.Now.records; batch >= 0 && max(n-batch, batch-n) <= s.batch/8 {
		return batch
	}
	return n
}

// Next is the slab of the page behind one that is through, whose memory stays with that.
func (s *attrSlab) Next() attrSlab {
	out := attrSlab{scratch: s.scratch, past: s.past.then(s.Now), last: s.Now.records}
	if out.last == s.last {
		out.batch = s.last
	}
	return out
}

const attrBytes = int(unsafe.Sizeof(Attr(0)))

func (s *attrSlab) take(n int) []Attr {
	from := s.used
	s.used += n
	s.Kept += n
	return s.piece[from:s.used:s.used]
}

// grow makes a piece for need attributes, and for those that are still to come.
func (s *attrSlab) grow(need int) {
	guess := 0
	if s.Opened {
		guess = s.Now.with(s.past).attrs(s.More()) - (s.Kept - s.Now.kept)
	}
	s.piece, s.used = make([]Attr, max(need, min(guess, largestPiece))), 0
}

// ManyAttrs bounds what is kept of a page whose items were very large.
const ManyAttrs = 4096
