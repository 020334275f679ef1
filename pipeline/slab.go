package pipeline

import "unsafe"

// attrSlab keeps the indexes of a page's images, and its canonical keys, in few pieces of
// memory, which are as large as what was read so far says. A slab of no page makes each index
// for itself.
type attrSlab struct {
	piece []attr
	used  int // of the piece: a number, as a pointer that moves is dear while garbage is marked
	kept  int // attributes so far, and as many for each key as it takes

	// Until the first record is through, nobody knows how much the page will take: what that
	// one takes is scratch memory of the reader.
	opened  bool
	scratch []attr

	now, past took // what the records of this page took that were read whole; those of pages before
	left      int  // bytes of the page that are not read yet, or of which the record is that is being read
	last      int  // records of the page before
	batch     int  // records of the two pages before, where they had as many; else 0
}

// largestPiece bounds what a wrong guess costs.
const largestPiece = 8192

// begin makes ready for a record, before which there are so many bytes left.
func (s *attrSlab) begin(left int) {
	if s.left = left; !s.opened {
		s.piece, s.used, s.kept = s.scratch, 0, 0
	}
}

// open makes room for what is left of the page, behind so many attributes.
func (s *attrSlab) open(need int) {
	if need > len(s.scratch) && need <= manyAttrs {
		s.scratch = make([]attr, need+need/8)
	}
	s.opened, s.kept = true, 0
	s.grow(need)
}

func (s *attrSlab) keep(as []attr) []attr {
	if len(as) > len(s.piece)-s.used {
		s.grow(len(as))
	}
	copy(s.piece[s.used:], as)
	return s.take(len(as))
}

// room is where a key may be written, which keepKey then keeps.
func (s *attrSlab) room() []byte {
	free := s.piece[s.used:]
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(free))), len(free)*attrBytes)[:0]
}

// keepKey keeps what was appended to room; where that was too small, it has moved.
func (s *attrSlab) keepKey(key []byte) string {
	need := (len(key) + attrBytes - 1) / attrBytes
	if need > len(s.piece)-s.used {
		s.grow(need)
	}
	if room := s.room()[:len(key)]; unsafe.SliceData(room) != unsafe.SliceData(key) {
		copy(room, key)
		key = room
	}
	s.take(need)
	return view(key)
}

// more is how many records are likely to be behind those that were read whole. Pages often
// have as many as were asked for.
func (s *attrSlab) more() int {
	n := s.now.with(s.past).more(s.left)
	if batch := s.batch - s.now.records; batch >= 0 && max(n-batch, batch-n) <= s.batch/8 {
		return batch
	}
	return n
}

// next is the slab of the page behind one that is through, whose memory stays with that.
func (s *attrSlab) next() attrSlab {
	out := attrSlab{scratch: s.scratch, past: s.past.then(s.now), last: s.now.records}
	if out.last == s.last {
		out.batch = s.last
	}
	return out
}

const attrBytes = int(unsafe.Sizeof(attr(0)))

func (s *attrSlab) take(n int) []attr {
	from := s.used
	s.used += n
	s.kept += n
	return s.piece[from:s.used:s.used]
}

// grow makes a piece for need attributes, and for those that are still to come.
func (s *attrSlab) grow(need int) {
	guess := 0
	if s.opened {
		guess = s.now.with(s.past).attrs(s.more()) - (s.kept - s.now.kept)
	}
	s.piece, s.used = make([]attr, max(need, min(guess, largestPiece))), 0
}
