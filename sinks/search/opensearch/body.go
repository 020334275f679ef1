package opensearch

import (
	"io"
	"net/http"
	"sync"
)

// buffers hold bodies and answers of bulk requests.
type buffers struct{ pool sync.Pool }

// maxPooled is how large a buffer may be that is kept for the next request.
const maxPooled = 16 << 20

func (p *buffers) get() []byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return nil
}

func (p *buffers) put(b []byte) {
	if cap(b) > 0 && cap(b) <= maxPooled {
		p.pool.Put(&b)
	}
}

// payload is the body of a request, in a buffer that will be used again. The
// transport may go on reading a body after it gave an answer, as when the server
// refused it early: free tells whether it has let go of it.
type payload struct {
	bytes []byte

	mu   sync.Mutex
	open int // readers that were not closed
}

// attach makes p the body of r.
func (p *payload) attach(r *http.Request) {
	r.ContentLength = int64(len(p.bytes))
	r.GetBody = func() (io.ReadCloser, error) { return p.reader(), nil }
	r.Body = p.reader()
}

func (p *payload) reader() io.ReadCloser {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open++
	return &payloadReader{of: p, rest: p.bytes}
}

func (p *payload) free() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open == 0
}

// payloadReader reads a payload until it is closed. Both happen under the payload's
// lock: no byte of it is read once it is free.
type payloadReader struct {
	of     *payload
	rest   []byte
	closed bool
}

func (r *payloadReader) Read(b []byte) (int, error) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	switch {
	case r.closed:
		return 0, errs.New("opensearch: the body of the request is closed")
	case len(r.rest) == 0:
		return 0, io.EOF
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *payloadReader) Close() error {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if !r.closed {
		r.closed = true
		r.of.open--
	}
	return nil
}
