package ddbjson

import "unsafe"

// attrArena holds the indexes of a page's images, and the canonical keys of the page, in a few pieces of memory.
// pageStats predicts how large the pieces must be. A zero arena belongs to no page, and allocates each index
// separately.
//
// A decoder calls BeginRecord and EndRecord around each record, and Open after the first one.
type attrArena struct {
	piece []Attr
	used  int // attributes of piece that are in use; moving the slice instead is slow while the GC marks
	taken int // attributes handed out so far; a key counts as the attributes that fit into its memory

	// The decoder decodes the first record of a page into scratch, because the size of the page's pieces is not known
	// yet. open is true when the page has its own memory.
	open    bool
	scratch []Attr

	page, past      pageStats // statistics of this page, and of earlier pages
	bytesLeft       int       // bytes of the page from the current record on, or after it when it has ended
	previousRecords int       // records of the previous page
	steadyRecords   int       // records of each of the two previous pages if both have equally many, else 0
}

const (
	attrBytes    = int(unsafe.Sizeof(Attr(0)))
	largestPiece = 8192 // attributes; limits the memory that a wrong prediction wastes
	maxScratch   = 4096 // attributes; limits the scratch memory that remains after a page with very large items
)

// BeginRecord must be called before each record. bytesLeft is the number of bytes of the page from the start of the
// record on.
func (a *attrArena) BeginRecord(bytesLeft int) {
	a.bytesLeft = bytesLeft
	if !a.open {
		a.piece, a.used, a.taken = a.scratch, 0, 0
	}
}

// EndRecord must be called after each valid record. It takes three numbers of bytes. size is that of the record, read
// is that of all records of the page so far, and bytesLeft is that of the rest of the page.
func (a *attrArena) EndRecord(size, read, bytesLeft int) {
	a.bytesLeft = bytesLeft
	a.page.add(size, read, a.taken)
}

// IsOpen reports whether the page has its own memory, because Open or OpenEmpty was called.
func (a *attrArena) IsOpen() bool { return a.open }

// Open allocates memory for the page. The indexes and keys of the first record are in scratch memory, so the caller
// must pass them to Keep and KeepBytes again.
func (a *attrArena) Open() {
	need := a.taken
	if need > len(a.scratch) && need <= maxScratch {
		a.scratch = make([]Attr, need+need/8)
	}
	a.open, a.taken = true, 0
	a.grow(need)
}

// OpenEmpty allocates memory for the page. The caller does not need the indexes and keys that it kept before.
func (a *attrArena) OpenEmpty() {
	a.taken = 0
	a.Open()
}

// Keep copies an index into the arena.
func (a *attrArena) Keep(attrs []Attr) []Attr {
	if len(attrs) > len(a.piece)-a.used {
		a.grow(len(attrs))
	}
	copy(a.piece[a.used:], attrs)
	return a.take(len(attrs))
}

// KeyBuffer returns free memory of the arena. The caller appends a key to this memory and calls KeepBytes.
func (a *attrArena) KeyBuffer() []byte {
	unused := a.piece[a.used:]
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(unused))), len(unused)*attrBytes)[:0]
}

// KeepBytes keeps bytes in the arena. If they were appended to KeyBuffer and fit, KeepBytes does not copy them.
func (a *attrArena) KeepBytes(key []byte) []byte {
	need := (len(key) + attrBytes - 1) / attrBytes
	if need > len(a.piece)-a.used {
		a.grow(need)
	}
	kept := a.KeyBuffer()[:len(key)]
	copy(kept, key) // onto itself if it was appended to KeyBuffer
	a.take(need)
	return kept[:len(key):len(key)]
}

// ExpectedRecords predicts the number of records that follow in the page. Often each page has the number of records
// that the reader requested. So the two previous pages may have had the same number of records. If the prediction from
// the bytes is close to this number, ExpectedRecords predicts this number for the page, too.
func (a *attrArena) ExpectedRecords() int {
	predicted := a.page.mergedWith(a.past).expectedRecords(a.bytesLeft)
	steady := a.steadyRecords - a.page.records // negative if this page has more records than were predicted, or none were
	isClose := max(predicted-steady, steady-predicted) <= a.steadyRecords/8
	if steady >= 0 && isClose {
		return steady
	}
	return predicted
}

// nextPage returns the arena for the next page. It does not have the pieces of a, because the page of a keeps them.
func (a *attrArena) nextPage() attrArena {
	next := attrArena{scratch: a.scratch, past: a.past.nextPast(a.page), previousRecords: a.page.records}
	if next.previousRecords == a.previousRecords {
		next.steadyRecords = a.previousRecords
	}
	return next
}

func (a *attrArena) take(n int) []Attr {
	from := a.used
	a.used += n
	a.taken += n
	return a.piece[from:a.used:a.used]
}

// grow allocates a piece for need attributes, and for the expected attributes of the rest of the page.
func (a *attrArena) grow(need int) {
	expected := 0
	if a.open {
		takenByRecord := a.taken - a.page.arenaAttrs // by the record that is being read
		expected = a.page.mergedWith(a.past).expectedAttrs(a.ExpectedRecords()) - takenByRecord
	}
	a.piece, a.used = make([]Attr, max(need, min(expected, largestPiece))), 0
}
