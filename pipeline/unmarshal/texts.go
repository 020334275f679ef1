package unmarshal

import (
	"bytes"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

const (
	longText = 256  // bytes from which a text has an allocation of its own
	maxPiece = 1024 // bytes of a piece, so that a text keeps few others in memory
)

// textBuffer copies the short texts of an image into pieces of memory, so that not each text is an allocation.
type textBuffer struct {
	piece []byte
	size  int // of a piece
}

// newTextBuffer sizes the pieces for an image of n bytes. About a third of an item's JSON is text.
func newTextBuffer(n int) textBuffer { return textBuffer{size: min(n/3, maxPiece)} }

// copy copies the text of a JSON string, which comes without its quotes.
func (t *textBuffer) copy(raw []byte) string {
	if len(raw) >= longText || bytes.IndexByte(raw, '\\') >= 0 {
		return string(ddbjson.TextOf(raw))
	}
	from := len(t.piece)
	if cap(t.piece)-from < len(raw) {
		t.piece, from = make([]byte, 0, max(t.size, len(raw))), 0
	}
	t.piece = append(t.piece, raw...)
	return ddbjson.View(t.piece[from:]) // nothing is written there again
}
