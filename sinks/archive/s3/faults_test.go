package s3_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/s3"
	"github.com/tablewake/tablewake/test/faults"
	"github.com/tablewake/tablewake/test/server"
)

// putTill retries Put like a pipeline, until the object exists.
func putTill(t *testing.T, s *s3.Store, o archive.Object) {
	t.Helper()
	for {
		err := s.Put(t.Context(), o)
		if err == nil || errors.Is(err, archive.ErrExists) {
			return
		}
		if _, again := pipeline.Retryable(err); !again {
			t.Fatalf("%s: %v is not to be tried again", o.Name, err)
		}
	}
}

// Whatever fault the network has, each object is written once and completely, and is read completely.
func TestFaultsBetween(t *testing.T) {
	t.Parallel()
	small, large := make([]byte, 20_000), make([]byte, 6<<20)
	_, _ = rand.Read(small)
	_, _ = rand.Read(large)
	for _, fault := range faults.All() {
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			proxy := faults.Before(t, server.S3().Endpoint(t))
			client := clientOf(t, proxy.Endpoint(), nil)
			s := open(t, s3.Options{Client: client, Bucket: newBucket(t, client), PartBytes: 5 << 20})
			put(t, s, fault.Name+"/before", "x")
			body := small
			if fault.Name == faults.CutRequests().Name {
				body = large
			}
			if err := proxy.Begin(fault, 300*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			putTill(t, s, archive.Object{Name: fault.Name + "/a", Body: body})
			if err := proxy.Begin(fault, 300*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			got := get(t, s, fault.Name+"/a")
			if got != string(body) {
				t.Errorf("read %d bytes, want %d", len(got), len(body))
			}
		})
	}
}

// If the server stops between the parts of an object and starts again, the object is either complete or missing. A
// writer whose context is cancelled aborts its multipart upload.
func TestRestartBetweenParts(t *testing.T) {
	t.Parallel()
	node := server.S3().StartFor(t)
	var parts, stopAt atomic.Int64
	stopped := make(chan struct{})
	client := clientOf(t, node.Endpoint(), func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("partNumber") != "" && parts.Add(1) == stopAt.Load() {
				node.Kill()
				close(stopped)
			}
			return next.RoundTrip(r)
		})
	})
	o := client.Options()
	o.Retryer = aws.NopRetryer{}
	client = awss3.New(o)
	bucket := newBucket(t, client)
	s := open(t, s3.Options{Client: client, Bucket: bucket, PartBytes: 5 << 20, Parallel: 1})
	whole := archive.Object{Name: "a/b.zst", Body: bytes.Repeat([]byte("0123456789abcdef"), 1<<20)} // 4 parts
	put(t, s, "first", "x")
	stopAt.Store(3)
	err := s.Put(t.Context(), whole)
	if _, again := pipeline.Retryable(err); !again {
		t.Errorf("error %v", err)
	}
	<-stopped
	if err := node.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), whole.Name); !errors.Is(err, archive.ErrNoObject) {
		t.Errorf("half an object: %v", err)
	}
	putTill(t, s, whole)
	if got := get(t, s, whole.Name); got != string(whole.Body) {
		t.Errorf("the object holds %d bytes", len(got))
	}
	left := len(uploads(t, client, bucket)) // the upload during which the server was killed could not be aborted
	ctx, cancel := context.WithCancel(t.Context())
	parts.Store(0)
	stopAt.Store(-1)
	giveUp := clientOf(t, node.Endpoint(), func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Query().Get("partNumber"), "2") {
				cancel()
			}
			return next.RoundTrip(r)
		})
	})
	s = open(t, s3.Options{Client: giveUp, Bucket: bucket, PartBytes: 5 << 20, Parallel: 2})
	whole.Name = "a/c.zst"
	if err := s.Put(ctx, whole); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if now := uploads(t, client, bucket); len(now) > left || left > 1 {
		t.Errorf("uploads are left: %q, %d of them from the server's end", now, left)
	}
}
