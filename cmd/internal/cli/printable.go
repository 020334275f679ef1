package cli

import (
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/item"
)

// printable is the output of every command. It escapes control sequences for terminals: items can have any text.
type printable struct {
	mu   sync.Mutex
	w    io.Writer
	cut  []byte // an incomplete rune, which the next Write ends
	room []byte // used again by each Write
	err  error  // of the first Write that failed; later ones fail too
}

// Write writes b in printable form.
func (p *printable) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, p.err
	}
	text := slices.Concat(p.cut, b)
	whole := len(text)
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				whole -= n
			}
			break
		}
	}
	p.room = item.AppendPrintable(p.room[:0], text[:whole])
	p.cut = append([]byte(nil), text[whole:]...)
	if _, p.err = p.w.Write(p.room); p.err != nil {
		return 0, p.err
	}
	return len(b), nil
}

// end writes an incomplete rune. It returns the error of the first write that failed.
func (p *printable) end() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.cut) > 0 && p.err == nil {
		_, p.err = p.w.Write(item.AppendPrintable(nil, p.cut))
		p.cut = nil
	}
	return p.err
}
