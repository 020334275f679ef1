package unmarshal

import (
	"bytes"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

const (
	longText = 256  // bytes; a text of this length or more has its own allocation
	maxPiece = 1024 // maximum bytes of a piece, so that a text keeps few other texts in memory
)

// textBuffer copies the short texts of an image into shared pieces of memory, to save allocations.
type textBuffer struct {
	piece []byte
	size  int // bytes of a new piece
}

// newTextBuffer sizes the pieces for an image of n bytes. About a third of an item's JSON is text.
func newTextBuffer(n int) textBuffer { return textBuffer{size: min(n/3, maxPiece)} }

// copy returns a copy of the text of a JSON string. raw has no quotes.
func (t *textBuffer) copy(raw []byte) string {
	if len(raw) >= longText || bytes.IndexByte(raw, '\\') >= 0 {
		return string(ddbjson.TextOf(raw))
	}
	from := len(t.piece)
	if cap(t.piece)-from < len(raw) {
		t.piece, from = make([]byte, 0, max(t.size, len(raw))), 0
	}
	t.piece = append(t.piece, raw...)
	return ddbjson.View(t.piece[from:]) // these bytes are never written again
}
