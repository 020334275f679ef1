package replay

import (
	"context"
	"io"
)

// interruptibleReader reads from a pipe or terminal until a context is done. Each read runs in a goroutine. If the
// context ends first, the goroutine keeps running until bytes or the end arrive. The next read returns these bytes.
type interruptibleReader struct {
	r          io.Reader
	buf        []byte     // written by the goroutine while it runs
	next       chan error // result of the running goroutine; nil if no goroutine runs
	n          int        // number of bytes read, valid after next was received
	unreturned []byte     // part of buf that is not returned yet
	err        error
}

// errInterrupted is returned by read if ctx is done before bytes arrive.
var errInterrupted = errs.New("reading was interrupted")

// read reads into p. It returns errInterrupted if ctx is done before bytes arrive.
func (a *interruptibleReader) read(ctx context.Context, p []byte) (int, error) {
	for len(a.unreturned) == 0 {
		if a.err != nil {
			return 0, a.err
		}
		if a.next == nil {
			a.startRead()
		}
		select {
		case a.err = <-a.next:
			a.unreturned, a.next = a.buf[:a.n], nil
		case <-ctx.Done():
			return 0, errInterrupted
		}
	}
	n := copy(p, a.unreturned)
	a.unreturned = a.unreturned[n:]
	return n, nil
}

// startRead starts a goroutine that reads into buf, and sends the result to next.
func (a *interruptibleReader) startRead() {
	if a.buf == nil {
		a.buf = make([]byte, 64<<10)
	}
	next := make(chan error, 1)
	a.next = next
	go func() {
		var err error
		a.n, err = a.r.Read(a.buf)
		next <- err
	}()
}
