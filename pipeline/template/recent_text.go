package template

import "sync/atomic"

// Recent caches the last text of a template. It is for templates with the same text for many successive changes, such
// as the name of an index or of an hour's folder. A cached text is neither allocated nor checked again. The zero Recent
// is ready for use. A Recent is safe for concurrent use.
type Recent struct{ last atomic.Pointer[string] }

// Text returns text as a string. It keeps no reference to text. If text differs from the last text, it calls check and
// returns its error.
func (r *Recent) Text(text []byte, check func(string) error) (string, error) {
	if last := r.last.Load(); last != nil && *last == string(text) {
		return *last, nil
	}
	s := string(text)
	if err := check(s); err != nil {
		return "", err
	}
	r.last.Store(&s)
	return s, nil
}
