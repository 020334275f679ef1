// Package bounded reads answers of servers up to a size that fits into memory.
package bounded

import (
	"fmt"
	"io"
	"net/http"
)

// Answer bounds a service's answer, in bytes. DynamoDB's largest answer, the 16 MB of a BatchGetItem, has
// no more with each of its bytes escaped. A buffer that doubles takes three times as much while it is
// read, and a few calls are under way at once: a small machine has room for those.
const Answer = 32 << 20

// Object bounds an object or a message that holds one change, in bytes: a dead letter, an event's data, a
// line of an archive.
const Object = 64 << 20

// Error means that an answer is larger than its bound. It shows nothing of the answer.
type Error struct{ Most int64 }

// Error names the bound and what to check.
func (e *Error) Error() string {
	return fmt.Sprintf("it is larger than %d bytes, the most that is read of an answer: check that the endpoint is the service's", e.Most)
}

// Redacted is Error.
func (e *Error) Redacted() string { return e.Error() }

// RetryableError has the AWS SDK try again.
func (e *Error) RetryableError() bool { return true }

// Reader reads up to most bytes of r. If r has more, it ends with an [Error].
func Reader(r io.Reader, most int64) io.Reader { return &reader{r, most, most} }

type reader struct {
	r          io.Reader
	left, most int64
}

// Read reads up to the bound, and one byte beyond it to find out whether there is more.
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

// ReadAll reads all of r, up to most bytes.
func ReadAll(r io.Reader, most int64) ([]byte, error) { return io.ReadAll(Reader(r, most)) }

// Doer is an HTTP client, in the form of the AWS SDK.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// Client wraps a client: up to most bytes of each of its answers can be read.
func Client(client Doer, most int64) Doer { return doer{client, most} }

type doer struct {
	client Doer
	most   int64
}

// Do sends a request and bounds its answer.
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
