// Package bounded limits how much of a server's answer is read, so that an answer fits into memory.
package bounded

import (
	"fmt"
	"io"
	"net/http"
)

// Answer is the limit of a service's answer, in bytes. DynamoDB's largest answer is the 16 MB of a
// BatchGetItem; with every byte escaped it is within the limit. A buffer that doubles takes three
// times as much while it is read, and a few calls run at once: a small machine has memory for
// those.
const Answer = 32 << 20

// Object is the limit of an object or a message with one change, in bytes: a dead letter, the data
// of an event, a line of an archive.
const Object = 64 << 20

// Error reports that an answer is larger than its limit. It shows nothing of the answer.
type Error struct{ Limit int64 }

// Error names the limit and what to check.
func (e *Error) Error() string {
	return fmt.Sprintf(
		"it is larger than %d bytes, the most that is read of an answer: check that the endpoint is the service's", e.Limit)
}

// Redacted implements the redacted text of an error: it is Error.
func (e *Error) Redacted() string { return e.Error() }

// RetryableError makes the AWS SDK retry.
func (e *Error) RetryableError() bool { return true }

// Reader reads up to limit bytes of r. If r has more, it ends with an [Error].
func Reader(r io.Reader, limit int64) io.Reader { return &reader{r, limit, limit} }

type reader struct {
	r           io.Reader
	left, limit int64
}

// Read reads up to the limit, and one byte more to find out whether there is more.
func (b *reader) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if int64(n) > b.left {
		n, b.left = int(b.left), 0
		return n, &Error{b.limit}
	}
	b.left -= int64(n)
	return n, err
}

// ReadAll reads all of r, up to limit bytes.
func ReadAll(r io.Reader, limit int64) ([]byte, error) { return io.ReadAll(Reader(r, limit)) }

// Doer is an HTTP client, in the form of the AWS SDK.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// Client wraps a client so that up to limit bytes of each answer can be read.
func Client(client Doer, limit int64) Doer { return doer{client, limit} }

type doer struct {
	client Doer
	limit  int64
}

// Do sends a request and limits its answer.
func (d doer) Do(req *http.Request) (*http.Response, error) {
	resp, err := d.client.Do(req)
	if err == nil {
		resp.Body = body{Reader(resp.Body, d.limit), resp.Body}
	}
	return resp, err
}

type body struct {
	io.Reader
	io.Closer
}
