package template

import "sync/atomic"

// Recent keeps the text that was made last, for a template that makes the same of one
// change after the other, such as the name of an index or of an hour's folder: then
// the text costs neither memory nor another check. The zero Recent is ready for use, and
// safe for concurrent use.
type Recent struct{ last atomic.Pointer[string] }

// Text is text as a string, which it does not keep; or the error of check, which is
// asked of a text that is not the one before.
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
