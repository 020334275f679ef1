package unmarshal

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// Short texts of an item are copied in pieces, so that none keeps much of others alive.
const (
	longText  = 256  // a text's length from which it is copied apart
	fullPiece = 1024 // a piece's length from which the next text begins another
)

// texts are short texts of an item that are still to be copied, all in one piece: how
// long that has to be is known in the end. Until then their strings are left as they are:
// memory that belongs to the decoded value is written once.
type texts struct {
	b     []byte // the item
	refs  [48]textRef
	n     int     // of refs
	size  int     // of all texts, as they stand in the item
	homes [8]home // the first one is the item's struct
	used  int     // of homes
	in    int     // the home that the next string lies in, it seems
}

// textRef says where a text stands in the item, and where its string lies. Pointers
// would have to be told to the collector.
type textRef struct {
	from  uint32
	place uint16 // of the string in its home, in steps
	n     uint8  // bytes of the text
	home  uint8
}

const (
	step     = unsafe.Alignof("") // from a place to the next
	farthest = 1<<16*step - 1
)

// home is memory that strings lie in: a struct, or the elements of a slice.
type home struct {
	base unsafe.Pointer
	size uintptr
}

// enter tells that the next strings lie in the memory at base.
func (t *texts) enter(base unsafe.Pointer, size uintptr) {
	if t.used == len(t.homes) {
		t.copy()
		t.used = 1
	}
	t.in = t.used
	t.homes[t.in] = home{base, min(size, farthest)}
	t.used++
}

// put notes the text from, to of the item for the string at p.
func (t *texts) put(p unsafe.Pointer, from, to int) {
	if n := to - from; n >= longText || n == 0 {
		*(*string)(p) = string(ddbjson.TextOf(t.b[from:to]))
		return
	}
	if t.n == len(t.refs) || t.size >= fullPiece {
		t.copy()
	}
	off := uintptr(p) - uintptr(t.homes[t.in].base)
	if off >= t.homes[t.in].size {
		off = t.move(p)
	}
	t.refs[t.n] = textRef{from: uint32(from), place: uint16(off / step), n: uint8(to - from), home: uint8(t.in)}
	t.n++
	t.size += to - from
}

// move finds the home of the string at p, and where in it that lies.
func (t *texts) move(p unsafe.Pointer) uintptr {
	for i, h := range t.homes[:t.used] {
		if off := uintptr(p) - uintptr(h.base); off < h.size {
			t.in = i
			return off
		}
	}
	t.enter(p, unsafe.Sizeof(""))
	return 0
}

// settle sets all strings so far: in the end, and before what is not known here decodes, as a
// type's own method may look at its siblings, and pointers may lead to a string that is noted.
func (t *texts) settle() {
	if t.n > 0 {
		t.copy()
	}
}

// copy ends a piece: the texts are copied, and their strings set.
func (t *texts) copy() {
	piece := make([]byte, t.size)
	at := 0
	for _, r := range t.refs[:t.n] {
		n := copyText(piece[at:], t.b[r.from:], int(r.n))
		p := (*string)(unsafe.Add(t.homes[r.home].base, uintptr(r.place)*step))
		*p = ddbjson.View(piece[at : at+n])
		at += n
	}
	t.n, t.size = 0, 0
}

// copyText copies the text that stands in the first n bytes of src, and returns its
// length. What stands in dst behind the text may be overwritten.
func copyText(dst, src []byte, n int) int {
	if n <= 16 && len(src) >= 16 && len(dst) >= 16 {
		first, second := binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[8:])
		binary.LittleEndian.PutUint64(dst, first)
		binary.LittleEndian.PutUint64(dst[8:], second)
		if n <= 8 {
			first, second = first&(1<<(8*n)-1), 0
		} else {
			second &= 1<<(8*n-64) - 1
		}
		if slashes(first)|slashes(second) == 0 {
			return n
		}
	} else if copy(dst, src[:n]); bytes.IndexByte(src[:n], '\\') < 0 {
		return n
	}
	return len(ddbjson.AppendTextOf(dst[:0], src[:n]))
}

// slashes is 0 where no byte of w is a backslash.
func slashes(w uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	w ^= ones * '\\'
	return (w - ones) &^ w & highs
}
