package coordinator

import "cmp"

// writeGroup is a group of writes. It calls done after all of them have ended, with the error of the first write that
// failed; nil if none failed.
type writeGroup struct {
	running  int // writes that have not ended
	firstErr error
	done     func(error)
}

// newWriteGroup begins a group. The caller adds the writes, and then calls end(nil) once: until then the group counts one
// more write, so that it is not complete before the caller has begun all writes.
func newWriteGroup(done func(error)) *writeGroup { return &writeGroup{running: 1, done: done} }

// add adds a write, and returns the function that ends it.
func (g *writeGroup) add() (end func(error)) {
	g.running++
	return g.end
}

// end counts a write as ended.
func (g *writeGroup) end(err error) {
	g.firstErr = cmp.Or(g.firstErr, err)
	g.running--
	if g.running == 0 {
		g.done(g.firstErr)
	}
}
