// Package bounded reads what a server sends, and no more of it than fits into memory.
package bounded

import (
	"fmt"
	"io"
	"net/http"
)

// Answer is how much is read of a service's answer. The largest that DynamoDB gives, 16 MB of items, has
// less than this when each byte of it is escaped.
const Answer = 128 << 20

// Object is how much is read of an object or a message that holds one change: a dead letter, an event's
// data, a line of an archive.
const Object = 64 << 20

// Error is an answer that is larger than what is read of one. It shows nothing of the answer.
type Error struct{ Most int64 }

// Error says how much was read.
func (e *Error) Error() string {
	return fmt.Sprintf("it is larger than %d bytes, which are all that is read of an answer: is it the server's?", e.Most)
}

// Redacted is Error.
func (e *Error) Redacted() string { return e.Error() }

// RetryableError has the AWS SDK try again.
func (e *Error) RetryableError() bool { return true }

// Reader reads most bytes of r. Where r has more, it ends with an [Error].
func Reader(r io.Reader, most int64) io.Reader { return &reader{r, most, most} }

type reader struct {
	r          io.Reader
	left, most int64
}

// Read reads what is left, and one byte beyond to know that there is more.
func (b *reader) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if int64(n) > b.left {
		n, b.left = int(b.left), 0
		return n, &Error{b.most}
	}
	b.left -= int64(n)
	return n, err
}

// ReadAll reads all of r, which has most bytes or less.
func ReadAll(r io.Reader, most int64) ([]byte, error) { return io.ReadAll(Reader(r, most)) }

// Doer is an HTTP client, as the AWS SDK's packages have it.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// Client returns a client of whose answers most bytes can be read.
func Client(client Doer, most int64) Doer { return doer{client, most} }

type doer struct {
	client Doer
	most   int64
}

// Do sends a request.
func (d doer) Do(req *http.Request) (*http.Response, error) {
	resp, err := d.client.Do(req)
	if err == nil {
		resp.Body = body{Reader(resp.Body, d.most), resp.Body}
	}
	return resp, err
}

type body struct {
	io.Reader
	io.Closer
}
