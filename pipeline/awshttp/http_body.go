// Package awshttp has wrappers of the AWS SDK's HTTP client, and readers of its answers.
package awshttp

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"

	"github.com/tablewake/tablewake/pipeline/bounded"
)

// KeepBody returns a client that ignores the closing of request bodies.
//
// The SDK closes the body as soon as the client returns. At that time, net/http may still be writing the body, because
// an answer can come before the request is fully sent. Closing the body would make the write fail. net/http would then
// close the connection while the caller reads the answer. In long runs, answers were sometimes cut off.
func KeepBody(client bounded.Doer) bounded.Doer { return bodyKeeper{client} }

type bodyKeeper struct{ client bounded.Doer }

// Do sends a copy of the request, whose body is a new buffer.
func (k bodyKeeper) Do(req *http.Request) (*http.Response, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return k.client.Do(req)
	}
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the request's body: %w", err)
	}
	kept := req.WithContext(req.Context())
	kept.Body = io.NopCloser(bytes.NewReader(b))
	kept.ContentLength = int64(len(b))
	// If an idle connection was closed, net/http sends the request again by itself.
	kept.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
	return k.client.Do(kept)
}

// ReadBody reads the whole body of an answer into a new buffer, up to limit bytes. If the answer has the header
// X-Amz-Crc32, ReadBody compares the body with this checksum. A wrong checksum is an [Error]. The caller closes the
// body.
func ReadBody(resp *http.Response, limit int64) ([]byte, error) {
	b, err := readWhole(resp, limit)
	if err != nil {
		return nil, err
	}
	// The checksum belongs to the bytes as sent. It cannot be checked if the HTTP client has decompressed them.
	if sum := resp.Header.Get("X-Amz-Crc32"); sum != "" && !resp.Uncompressed {
		want, err := strconv.ParseUint(sum, 10, 32)
		if err == nil && uint32(want) != crc32.ChecksumIEEE(b) {
			return nil, &Error{resp.StatusCode, errors.New("its checksum differs from the one in X-Amz-Crc32")}
		}
	}
	return b, nil
}

// readWhole reads the whole body of an answer, up to limit bytes.
func readWhole(resp *http.Response, limit int64) ([]byte, error) {
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 && n <= limit {
		b.Grow(int(n) + bytes.MinRead)
	}
	_, err := b.ReadFrom(bounded.Reader(resp.Body, limit))
	return b.Bytes(), err
}
