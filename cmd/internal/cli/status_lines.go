package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/tablewake/tablewake/pipeline/item"
)

// StatusLines shows a block of lines at the end of a terminal, and draws them again at each update. Other output of the
// command appears above the block. StatusLines is safe for concurrent use.
type StatusLines struct {
	w    io.Writer                  // receives the lines above the block
	term io.Writer                  // receives control characters
	size func() (width, height int) // size of the terminal

	mu      sync.Mutex
	lines   []string // the lines of the last update
	drawn   int      // number of lines on the terminal
	partial []byte   // output above the block that has no line end yet
}

// NewStatusLines returns StatusLines at the end of w. It returns nil if w is not a terminal, or if the log is JSON.
func NewStatusLines(w io.Writer) *StatusLines {
	f := findTerminal(w)
	if f == nil {
		return nil
	}
	return &StatusLines{w: w, term: f, size: func() (int, int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 80, 24
		}
		return width, height
	}}
}

// findTerminal returns the terminal that w writes to. The result does not escape control characters, so the caller can
// move the cursor. It returns nil if w does not write to a terminal, or if it writes JSON.
func findTerminal(w io.Writer) *os.File {
	if log := findLogWriter(w); log != nil {
		if log.flags.format == FormatJSON {
			return nil
		}
		w = log.w
	}
	if printable, ok := w.(*printableWriter); ok {
		w = printable.w // a printableWriter escapes control characters
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// Write prints lines above the block.
func (b *StatusLines) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.drawn == 0 && len(b.partial) == 0 {
		return b.w.Write(p)
	}
	b.partial = append(b.partial, p...)
	completeLen := bytes.LastIndexByte(b.partial, '\n') + 1
	if completeLen == 0 {
		return len(p), nil
	}
	b.erase()
	_, err := b.w.Write(b.partial[:completeLen])
	b.partial = append([]byte(nil), b.partial[completeLen:]...)
	b.draw()
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Update replaces the lines. It truncates lines to the width of the terminal, and leaves out lines that do not fit its
// height.
func (b *StatusLines) Update(lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.erase()
	b.lines = lines
	b.draw()
}

// End removes the lines.
func (b *StatusLines) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.erase()
	b.lines = nil
	_, _ = b.w.Write(b.partial) // its error cannot be reported anywhere
	b.partial = nil
}

// erase removes the drawn lines. Then the cursor is where the first of them began.
func (b *StatusLines) erase() {
	if b.drawn > 0 {
		fmt.Fprintf(b.term, "\x1b[%dA\r\x1b[J", b.drawn)
		b.drawn = 0
	}
}

// draw draws the lines.
func (b *StatusLines) draw() {
	width, height := b.size()
	maxLines, maxLength := max(height-1, 1), max(width-1, 1)
	b.drawn = min(len(b.lines), maxLines)
	var text strings.Builder
	for _, line := range b.lines[:b.drawn] {
		printable := string(item.AppendPrintable(nil, []byte(line)))
		text.WriteString(truncateLine(printable, maxLength) + "\r\n")
	}
	_, _ = io.WriteString(b.term, text.String())
}

// truncateLine returns the first n characters of a line.
func truncateLine(line string, n int) string {
	if utf8.RuneCountInString(line) <= n {
		return line
	}
	return string([]rune(line)[:n])
}
