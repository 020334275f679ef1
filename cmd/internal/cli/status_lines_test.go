package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// screen is a terminal that follows the control characters of a Block.
type screen struct {
	lines []string
	row   int
}

func (s *screen) Write(p []byte) (int, error) {
	text := string(p)
	for text != "" {
		for len(s.lines) <= s.row {
			s.lines = append(s.lines, "")
		}
		var up, n int
		switch {
		case strings.HasPrefix(text, "\x1b[J"):
			s.lines = append(s.lines[:s.row], "")
			n = 3
		case strings.HasPrefix(text, "\x1b["):
			if _, err := fmt.Sscanf(text, "\x1b[%dA", &up); err != nil {
				return 0, err
			}
			s.row -= up
			n = strings.IndexByte(text, 'A') + 1
		case text[0] == '\n':
			s.row++
			n = 1
		case text[0] == '\r':
			n = 1
		default:
			if n = strings.IndexAny(text, "\x1b\r\n"); n < 0 {
				n = len(text)
			}
			s.lines[s.row] += text[:n]
		}
		text = text[n:]
	}
	return len(p), nil
}

func (s *screen) text() string { return strings.TrimRight(strings.Join(s.lines, "\n"), "\n") }

// Lines of the log stay above the block. The block is shown once, and fits the width and the height of the terminal.
func TestBlock(t *testing.T) {
	var s screen
	b := &StatusLines{w: &s, term: &s, size: func() (int, int) { return 20, 4 }}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { fmt.Fprintln(b, "before") }, "before"},
		{func() { b.Update([]string{"one", "two"}) }, "before\none\ntwo"},
		{func() { b.Update([]string{"one", "three"}) }, "before\none\nthree"},
		{func() { fmt.Fprintln(b, "a log line"); fmt.Fprintln(b, "another") }, "before\na log line\nanother\none\nthree"},
		{func() { fmt.Fprint(b, "half") }, "before\na log line\nanother\none\nthree"},
		{func() { fmt.Fprint(b, " a line\nand ") }, "before\na log line\nanother\nhalf a line\none\nthree"},
		{func() { b.Update([]string{"1", strings.Repeat("é", 30), "a\x1b[2J", "4"}) }, "before\na log line\nanother\nhalf a line\n1\n" + strings.Repeat("é", 19) + "\na\\u001b[2J"},
		{b.End, "before\na log line\nanother\nhalf a line\nand"},
		{func() { fmt.Fprintln(b, "after") }, "before\na log line\nanother\nhalf a line\nand after"},
	} {
		step.do()
		if got := strings.TrimRight(s.text(), " "); got != step.want {
			t.Errorf("the terminal shows\n%s\nwant\n%s", got, step.want)
		}
	}
}

// There is no progress block if the output is not a terminal.
func TestNewBlock_NoTerminal(t *testing.T) {
	var w bytes.Buffer
	if NewStatusLines(&w) != nil {
		t.Error("a buffer is no terminal")
	}
	if NewStatusLines(&logWriter{w: &printableWriter{w: &w}, flags: &logFlags{format: FormatText}}) != nil {
		t.Error("a log in a buffer is no terminal")
	}
}
