package cli

import (
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/item"
)

// printableWriter escapes control characters, because the values of items could otherwise change the user's terminal.
// All commands write through it.
type printableWriter struct {
	mu      sync.Mutex
	w       io.Writer
	partial []byte // the first bytes of a rune, which the next Write completes
	buf     []byte // reused by each Write
	err     error  // error of the first failed Write; later Writes return it, too
}

// Write escapes b and writes it.
func (p *printableWriter) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, p.err
	}
	text := slices.Concat(p.partial, b)
	n := completeRunes(text)
	p.buf = item.AppendPrintable(p.buf[:0], text[:n])
	p.partial = append([]byte(nil), text[n:]...)
	if _, p.err = p.w.Write(p.buf); p.err != nil {
		return 0, p.err
	}
	return len(b), nil
}

// completeRunes returns the length of text without an incomplete rune at its end.
func completeRunes(text []byte) int {
	start := len(text) - 1 // first byte of the last rune, after the loop
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	isIncomplete := start >= 0 && utf8.RuneStart(text[start]) && !utf8.FullRune(text[start:])
	if isIncomplete {
		return start
	}
	return len(text)
}

// flush writes the partial rune. It returns the error of the first failed write.
func (p *printableWriter) flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.partial) > 0 && p.err == nil {
		_, p.err = p.w.Write(item.AppendPrintable(nil, p.partial))
		p.partial = nil
	}
	return p.err
}
