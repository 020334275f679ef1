package s3_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/inputs"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/s3"
	"github.com/tablewake/tablewake/test/server"
)

func TestRanges(t *testing.T) {
	t.Parallel()
	for server, endpoint := range servers(t) {
		t.Run(server, func(t *testing.T) {
			s, _, _ := fresh(t, endpoint)
			put(t, s, "a.json", "0123456789")
			for _, test := range []struct {
				offset, n int64
				want      string
			}{
				{0, 4, "0123"}, {4, 3, "456"}, {8, 10, "89"}, {10, 1, ""}, {3, 0, ""}, {-3, 2, "78"}, {-8, 8, "23456789"}, {-99, 3, "012"},
			} {
				r, size, err := s.GetRange(t.Context(), "a.json", test.offset, test.n)
				if err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(r)
				if err := errors.Join(err, r.Close()); err != nil || string(b) != test.want || size != 10 {
					t.Errorf("%d bytes from %d are %q of %d (%v), want %q", test.n, test.offset, b, size, err, test.want)
				}
			}
			if _, _, err := s.GetRange(t.Context(), "b.json", 0, 1); !errors.Is(err, archive.ErrNoObject) {
				t.Errorf("a missing object: %v, want ErrNoObject", err)
			}
		})
	}
}

// cutting returns a transport that ends the bodies of answers to GET a.json with an error after a number of bytes. It
// does so as often as cuts says.
func cutting(behind int64, cuts *atomic.Int64, with error) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/a.json") && cuts.Add(-1) >= 0 {
				resp.Body = struct {
					io.Reader
					io.Closer
				}{io.MultiReader(io.LimitReader(resp.Body, behind), iotest.ErrReader(with)), resp.Body}
			}
			return resp, err
		})
	}
}

// The store continues a body that breaks off where it stopped. The store gives up only if several answers in a row
// bring no byte.
func TestABodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	whole := make([]byte, 100_000)
	_, _ = rand.Read(whole)
	for server, endpoint := range servers(t) {
		t.Run(server, func(t *testing.T) {
			var cuts atomic.Int64
			client := clientOf(t, endpoint, cutting(30_000, &cuts, io.ErrUnexpectedEOF))
			retries := 0
			s := open(t, s3.Options{Client: client, Bucket: newBucket(t, client), OnRetry: func(error, time.Duration) { retries++ }})
			put(t, s, "a.json", string(whole))
			cuts.Store(3)
			if got := get(t, s, "a.json"); got != string(whole) {
				t.Errorf("%d bytes, of other content or length", len(got))
			}
			if cuts.Load() != -1 || retries != 3 {
				t.Errorf("%d requests, want 4; %d retries", 3-cuts.Load(), retries)
			}
			cuts.Store(1)
			r, _, err := s.GetRange(t.Context(), "a.json", 1000, 50_000)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if err := errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, whole[1000:51_000]) {
				t.Errorf("of a part %d bytes (%v)", len(got), err)
			}
		})
	}
}

// If the answers bring no byte of the body, reading ends. The error can be retried if the connection broke. If the
// server ended the answers too early, the object is cut, and the error says so.
func TestABodyThatStaysAway(t *testing.T) {
	t.Parallel()
	for with, isCut := range map[error]bool{io.ErrUnexpectedEOF: true, syscall.ECONNRESET: false} {
		var cuts atomic.Int64
		client := clientOf(t, server.S3().Endpoint(t), cutting(0, &cuts, with))
		s := open(t, s3.Options{Client: client, Bucket: newBucket(t, client)})
		put(t, s, "a.json", "0123456789")
		cuts.Store(1000)
		r, err := s.Get(t.Context(), "a.json")
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(r)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		_, again := pipeline.Retryable(err)
		if again == isCut || errors.Is(err, inputs.ErrCut) != isCut || !strings.Contains(err.Error(), "a.json: ") {
			t.Errorf("%v: error %v", with, err)
		}
	}
}

// If a body stalls, the store requests the rest again.
func TestABodyThatStalls(t *testing.T) {
	t.Parallel()
	var stalls atomic.Int64
	client := clientOf(t, server.S3().Endpoint(t), func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil && r.Method == http.MethodGet && stalls.Add(-1) >= 0 {
				resp.Body = &silent{Reader: io.LimitReader(resp.Body, 3), body: resp.Body, done: r.Context().Done()}
			}
			return resp, err
		})
	})
	s := open(t, s3.Options{Client: client, Bucket: newBucket(t, client), Stalled: 50 * time.Millisecond})
	put(t, s, "a.json", "0123456789")
	stalls.Store(1)
	if got := get(t, s, "a.json"); got != "0123456789" {
		t.Errorf("the object holds %q", got)
	}
}

// silent is a body that sends nothing after its first bytes and ends when its request is cancelled.
type silent struct {
	io.Reader
	body io.Closer
	done <-chan struct{}
}

func (s *silent) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		<-s.done
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (s *silent) Close() error { return s.body.Close() }

// If another writer replaces an object during a read, the reader gets an error and never a mixture of both objects.
func TestAnObjectThatIsReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	var cuts atomic.Int64
	client := clientOf(t, server.S3().Endpoint(t), cutting(5, &cuts, io.ErrUnexpectedEOF))
	bucket := newBucket(t, client)
	s := open(t, s3.Options{Client: client, Bucket: bucket})
	put(t, s, "a.json", "0123456789")
	cuts.Store(1)
	r, err := s.Get(t.Context(), "a.json")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = client.PutObject(t.Context(), &awss3.PutObjectInput{Bucket: &bucket, Key: aws.String("a.json"), Body: strings.NewReader("abcdefghij")})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err == nil || string(b) != "01234" || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("read %q (%v)", b, err)
	}
}

// If an object is damaged, the checksum detects this. A retry would read the same bytes.
func TestADamagedAnswer(t *testing.T) {
	t.Parallel()
	var damage atomic.Bool
	client := clientOf(t, server.S3().Endpoint(t), func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil && r.Method == http.MethodGet && damage.Load() {
				b, _ := io.ReadAll(resp.Body)
				b[2] ^= 1
				resp.Body = io.NopCloser(bytes.NewReader(b))
			}
			return resp, err
		})
	})
	s := open(t, s3.Options{Client: client, Bucket: newBucket(t, client)})
	put(t, s, "a.json", "0123456789")
	damage.Store(true)
	r, err := s.Get(t.Context(), "a.json")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = io.ReadAll(r)
	if _, again := pipeline.Retryable(err); again || err == nil || !strings.Contains(err.Error(), "a.json: its bytes do not match its checksum") {
		t.Errorf("error %v", err)
	}
}
