package awshttp_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/tablewake/tablewake/pipeline/awshttp"
)

// closable is a body that cannot be read after it was closed.
type closable struct {
	io.Reader
	closed bool
}

func (c *closable) Read(b []byte) (int, error) {
	if c.closed {
		return 0, errors.New("read of a closed body")
	}
	return c.Reader.Read(b)
}

func (c *closable) Close() error {
	c.closed = true
	return nil
}

type client func(*http.Request) (*http.Response, error)

func (c client) Do(r *http.Request) (*http.Response, error) { return c(r) }

// KeepBody sends a copy of a body, so the body can be sent again after the SDK has closed it.
func TestKeepBody(t *testing.T) {
	body := &closable{Reader: bytes.NewReader([]byte("request"))}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost", body)
	if err != nil {
		t.Fatal(err)
	}
	var sent *http.Request
	resp, err := awshttp.KeepBody(client(func(r *http.Request) (*http.Response, error) {
		sent = r
		return &http.Response{Body: http.NoBody}, nil
	})).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(body.Close(), resp.Body.Close(), sent.Body.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := sent.GetBody()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []io.Reader{sent.Body, again} {
		if b, err := io.ReadAll(r); string(b) != "request" || err != nil || sent.ContentLength != int64(len(b)) {
			t.Errorf("%q (%v) of %d bytes", b, err, sent.ContentLength)
		}
	}
}

// A request whose body cannot be read is not sent.
func TestKeepBody_Broken(t *testing.T) {
	body := &closable{closed: true}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost", body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := awshttp.KeepBody(client(func(*http.Request) (*http.Response, error) {
		t.Error("it was sent")
		return &http.Response{Body: http.NoBody}, nil
	})).Do(req)
	if err == nil {
		t.Error("no error", resp.Body.Close())
	}
}
