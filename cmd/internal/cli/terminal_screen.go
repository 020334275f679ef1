package cli

import "io"

// Screen shows one text at a time. On a terminal each text replaces the text before it. Elsewhere the texts follow one
// another.
type Screen struct {
	w    io.Writer
	term io.Writer // receives control characters; nil: w is not a terminal
}

// NewScreen returns a Screen on the standard output of a command.
func NewScreen(w io.Writer) *Screen {
	s := &Screen{w: w}
	if f := findTerminal(w); f != nil {
		s.term = f
	}
	return s
}

// Show shows text.
func (s *Screen) Show(text string) error {
	if s.term != nil {
		if _, err := io.WriteString(s.term, "\x1b[H\x1b[2J"); err != nil {
			return err
		}
	}
	_, err := io.WriteString(s.w, text)
	return err
}
