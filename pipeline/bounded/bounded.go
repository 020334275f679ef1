// Package bounded limits the bytes that are read of a server's answer, so that an answer fits into memory.
package bounded

import (
	"fmt"
	"io"
	"net/http"
)

// Answer is the limit of a service's answer, in bytes. DynamoDB's largest answer is the 16 MB of a BatchGetItem. Even
// if JSON escaping doubles this answer, it stays below the limit. Reading an answer takes up to three times the limit,
// because the buffer doubles. A small machine has memory for the few answers that are read at the same time.
const Answer = 32 << 20

// Object is the limit, in bytes, of an object or a message with one change. Examples are a dead letter, the data of an
// event, and a line of an archive.
const Object = 64 << 20

// Error reports that an answer is larger than its limit. It shows no part of the answer.
type Error struct{ Limit int64 }

// Error names the limit and what to check.
func (e *Error) Error() string {
	return fmt.Sprintf(
		"it is larger than %d bytes, the most that is read of an answer: check that the endpoint is the service's", e.Limit)
}

// Redacted returns Error: the text holds no data.
func (e *Error) Redacted() string { return e.Error() }

// RetryableError makes the AWS SDK retry the call.
func (e *Error) RetryableError() bool { return true }

// Reader returns a reader of up to limit bytes of r. If r has more bytes, the reader ends with an [Error].
func Reader(r io.Reader, limit int64) io.Reader { return &reader{r, limit, limit} }

type reader struct {
	r           io.Reader
	left, limit int64 // bytes that may still be read; bytes in total
}

// Read reads up to the limit. At the limit, it tries to read one more byte, to find out whether r has more.
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

// ReadAll reads all of r. If r has more than limit bytes, it returns an [Error].
func ReadAll(r io.Reader, limit int64) ([]byte, error) { return io.ReadAll(Reader(r, limit)) }

// Doer is an HTTP client, in the form of the AWS SDK.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// Client returns a client that lets the caller read up to limit bytes of each answer.
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
