package s3_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/s3"
)

// A proxy may send an object without its length, so a part of it looks whole. S3 always sends the length.
func TestGet_AnAnswerWithoutLength(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "some")
		_ = http.NewResponseController(w).Flush() // the answer is chunked
	}))
	defer proxy.Close()
	s := open(t, s3.Options{Client: clientOf(t, proxy.URL, nil), Bucket: "b"})
	body, err := s.Get(t.Context(), "a.json")
	if err == nil {
		_, err = io.ReadAll(body)
		_ = body.Close()
	}
	if _, transient := pipeline.Retryable(err); !transient || !strings.Contains(err.Error(), "no Content-Length") {
		t.Errorf("%v", err)
	}
}

// An empty answer to a listing is asked again. It does not mean that there is no object.
func TestList_AnEmptyAnswer(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	flaky := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) > 2 {
			_, _ = io.WriteString(w, `<ListBucketResult><Name>b</Name><Contents><Key>a.json</Key><Size>1</Size></Contents></ListBucketResult>`)
		}
	}))
	defer flaky.Close()
	s := open(t, s3.Options{Client: clientOf(t, flaky.URL, nil), Bucket: "b"})
	if got := names(t, s, ""); len(got) != 1 || calls.Load() != 3 {
		t.Errorf("%d calls list %v", calls.Load(), got)
	}
}

// A fingerprint that vanishes while it is read is an error. It does not mean that the sink has none.
func TestFingerprint_ThatVanishesMeanwhile(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	vanishing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) > 1 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"pipeline":`)
	}))
	defer vanishing.Close()
	s := open(t, s3.Options{Client: clientOf(t, vanishing.URL, nil), Bucket: "b"})
	if _, ok, err := s.Fingerprint(t.Context(), "shop", "history"); ok || !errors.Is(err, archive.ErrNoObject) {
		t.Errorf("there is one: %v (%v)", ok, err)
	}
}

// The size of an object is that in the Content-Range of the answer. Without a whole Content-Range, the answer is the
// whole object.
func TestGetRange_ContentRange(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]int64{
		"bytes 10-19/100":      100,
		"":                     10,
		"bytes 10-19/*":        10,
		"bytes 10-19/100 more": 10,
		"bytes 10-19/100more":  10,
		"bytes 10- 19/100":     10,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if header != "" {
				w.Header().Set("Content-Range", header)
			}
			_, _ = io.WriteString(w, "0123456789")
		}))
		t.Cleanup(server.Close)
		s := open(t, s3.Options{Client: clientOf(t, server.URL, nil), Bucket: "b"})
		body, size, err := s.GetRange(t.Context(), "a.json", 10, 10)
		if err != nil || size != want {
			t.Errorf("%q: size %d, want %d (%v)", header, size, want, err)
			continue
		}
		if got, err := io.ReadAll(body); err != nil || len(got) != 10 {
			t.Errorf("%q: read %q (%v)", header, got, err)
		}
		_ = body.Close()
	}
}
