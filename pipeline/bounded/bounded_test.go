package bounded_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/bounded"
)

// ReadAll returns all of a small answer. For a large answer it returns the beginning and an error.
func TestReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching("[a-z]{0,40}").Draw(t, "text")
		most := rapid.Int64Range(0, 40).Draw(t, "most")
		var r io.Reader = strings.NewReader(text)
		if rapid.Bool().Draw(t, "byte by byte") {
			r = iotest.OneByteReader(r)
		}
		got, err := bounded.ReadAll(r, most)
		_, large := errors.AsType[*bounded.Error](err)
		if want := text[:min(len(text), int(most))]; string(got) != want || large != (len(text) > int(most)) || !large && err != nil {
			t.Errorf("%q, at most %d: %q (%v)", text, most, got, err)
		}
	})
}

// An answer without an end does not fill the memory.
func TestClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<10)); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := bounded.Client(server.Client(), 10<<10).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if _, large := errors.AsType[*bounded.Error](err); !large || len(b) != 10<<10 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
}

// Answer is large enough for the largest answer of DynamoDB. It is small enough for three writes at once in a task of
// 512 MB, each with a buffer that doubles and the values decoded from it.
func TestAnswer(t *testing.T) {
	const largest, escaped, writes, times = 16 << 20, 2, 3, 4
	if bounded.Answer < largest*escaped || bounded.Answer*writes*times > 512<<20 {
		t.Errorf("an answer has %d bytes at most", bounded.Answer)
	}
}
