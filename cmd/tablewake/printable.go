package main

import (
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline"
)

// printable is the output of every command. It escapes what a terminal would obey: items may hold any text.
type printable struct {
	mu   sync.Mutex
	w    io.Writer
	cut  []byte // the beginning of a rune whose rest comes with the next Write
	room []byte
}

// Write writes b in printable form.
func (p *printable) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
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
	p.room = pipeline.AppendPrintable(p.room[:0], text[:whole])
	p.cut = append([]byte(nil), text[whole:]...)
	if _, err := p.w.Write(p.room); err != nil {
		return 0, err
	}
	return len(b), nil
}

// end writes the beginning of a rune whose rest never came.
func (p *printable) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.cut) > 0 {
		_, _ = p.w.Write(pipeline.AppendPrintable(nil, p.cut))
		p.cut = nil
	}
}
