// Package awshttp stands between the AWS SDK and its HTTP client.
package awshttp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/tablewake/tablewake/pipeline/bounded"
)

// KeepBody gives a client request bodies that nobody can close.
//
// The SDK closes the body as soon as the client returns, and net/http may still be
// writing it then: an answer can come before the request is fully sent. The
// write fails, the connection closes while the answer is being read, and a long
// run sees a cut answer now and then.
func KeepBody(client bounded.Doer) bounded.Doer { return bodyKeeper{client} }

type bodyKeeper struct{ client bounded.Doer }

// Do sends a copy of the request, its body a buffer of its own.
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
	// On a connection that died idle, net/http sends the request again by itself.
	kept.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
	return k.client.Do(kept)
}
