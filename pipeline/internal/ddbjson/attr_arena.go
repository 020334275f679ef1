package ddbjson

import "unsafe"

// attrArena holds the indexes of a page's images, and its canonical keys, in a few pieces of memory. pageStats predicts
// how large the pieces must be. A zero arena belongs to no page: it allocates each index separately.
//
// A decoder calls BeginRecord and EndRecord around each record, and Open after the first one.
type attrArena struct {
	piece []Attr
	used  int // attributes of piece that are in use. Moving a pointer instead is slow while the GC marks
	taken int // attributes handed out so far; a key counts as the attributes that its memory could hold

	// The first record of a page is decoded into scratch, because the size of the page's pieces is not known yet.
	open    bool
	scratch []Attr

	page, past      pageStats // statistics of this page, and of earlier pages
	bytesLeft       int       // bytes of the page from the current record on; once the record has ended, bytes after it
	previousRecords int       // records of the previous page
	steadyRecords   int       // records of each of the two previous pages if they are equally many, else 0
}

const (
	attrBytes    = int(unsafe.Sizeof(Attr(0)))
	largestPiece = 8192 // attributes; bounds the cost of a wrong prediction
	maxScratch   = 4096 // attributes; bounds the scratch memory that remains after a page with very large items
)

// BeginRecord is called before each record. bytesLeft is the number of bytes of the page from the record on.
func (a *attrArena) BeginRecord(bytesLeft int) {
	if a.bytesLeft = bytesLeft; !a.open {
		a.piece, a.used, a.taken = a.scratch, 0, 0
	}
}

// EndRecord is called after each valid record. size is the number of bytes of the record, read that of the page's
// records so far, and bytesLeft that of the rest of the page.
func (a *attrArena) EndRecord(size, read, bytesLeft int) {
	a.bytesLeft = bytesLeft
	a.page.add(size, read, a.taken)
}

// IsOpen reports whether the page's memory exists.
func (a *attrArena) IsOpen() bool { return a.open }

// Open allocates memory for the page. Indexes and keys that were kept before are in scratch memory, so the caller must
// keep them again.
func (a *attrArena) Open() {
	need := a.taken
	if need > len(a.scratch) && need <= maxScratch {
		a.scratch = make([]Attr, need+need/8)
	}
	a.open, a.taken = true, 0
	a.grow(need)
}

// OpenEmpty allocates memory for the page. The caller has nothing to keep again.
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

// KeyBuffer returns free memory of the arena. The caller appends a key to it and calls KeepKey.
func (a *attrArena) KeyBuffer() []byte {
	free := a.piece[a.used:]
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(free))), len(free)*attrBytes)[:0]
}

// KeepKey keeps a key that was appended to KeyBuffer, or that lies elsewhere.
func (a *attrArena) KeepKey(key []byte) string { return View(a.KeepBytes(key)) }

// KeepBytes keeps bytes that were appended to KeyBuffer, or that lie elsewhere.
func (a *attrArena) KeepBytes(key []byte) []byte {
	need := (len(key) + attrBytes - 1) / attrBytes
	if need > len(a.piece)-a.used {
		a.grow(need)
	}
	if buf := a.KeyBuffer()[:len(key)]; unsafe.SliceData(buf) != unsafe.SliceData(key) {
		copy(buf, key)
		key = buf
	}
	a.take(need)
	return key[:len(key):len(key)]
}

// ExpectedRecords predicts the number of records that follow in the page. Often each page has the number of records
// that the reader requested. So if the two previous pages had the same number of records, and the prediction from the
// bytes is close to it, this page is expected to have this number, too.
func (a *attrArena) ExpectedRecords() int {
	n := a.page.mergedWith(a.past).expectedRecords(a.bytesLeft)
	if rest := a.steadyRecords - a.page.records; rest >= 0 && max(n-rest, rest-n) <= a.steadyRecords/8 {
		return rest
	}
	return n
}

// nextPage returns the arena for the next page. The pieces stay with the page of a.
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

// grow allocates a piece for need attributes and for the attributes that are expected after them.
func (a *attrArena) grow(need int) {
	expected := 0
	if a.open {
		expected = a.page.mergedWith(a.past).expectedAttrs(a.ExpectedRecords()) - (a.taken - a.page.arenaAttrs)
	}
	a.piece, a.used = make([]Attr, max(need, min(expected, largestPiece))), 0
}
