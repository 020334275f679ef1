package s3_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/archivetest"
	"github.com/tablewake/tablewake/sinks/archive/s3"
	"github.com/tablewake/tablewake/test/server"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// servers returns the endpoints of the two servers that the tests run on. versitygw checks signatures and checksums,
// and moto keeps storage classes and tags.
func servers(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"versitygw": server.S3().Endpoint(t), "moto": server.Moto().Endpoint(t)}
}

// clientOf returns a client of the server at endpoint. If wrap is not nil, all requests go through the transport that
// wrap returns.
func clientOf(t *testing.T, endpoint string, wrap func(http.RoundTripper) http.RoundTripper) *awss3.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	t.Cleanup(transport.CloseIdleConnections)
	var rt http.RoundTripper = transport
	if wrap != nil {
		rt = wrap(rt)
	}
	return awss3.New(awss3.Options{
		BaseEndpoint: &endpoint,
		Region:       server.Region,
		Credentials:  credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
		UsePathStyle: true,
		HTTPClient:   &http.Client{Transport: rt},
	})
}

// roundTrip is a function that implements [http.RoundTripper].
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// newBucket creates a bucket with a random name.
func newBucket(t *testing.T, client *awss3.Client) string {
	t.Helper()
	name := "archive-" + strings.ToLower(rand.Text())
	if err := makeBucket(t.Context(), client, name); err != nil {
		t.Fatal(err)
	}
	return name
}

func makeBucket(ctx context.Context, client *awss3.Client, name string) error {
	_, err := client.CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: &name})
	return err
}

func open(t *testing.T, o s3.Options) *s3.Store {
	t.Helper()
	s, err := s3.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fresh returns a store with a new bucket, a client of the server, and the name of the bucket.
func fresh(t *testing.T, endpoint string) (*s3.Store, *awss3.Client, string) {
	t.Helper()
	client := clientOf(t, endpoint, nil)
	bucket := newBucket(t, client)
	return open(t, s3.Options{Client: client, Bucket: bucket}), client, bucket
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, endpoint := range servers(t) {
		if name == "moto" && testing.Short() {
			continue // moto is slow
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := clientOf(t, endpoint, nil)
			run := strings.ToLower(rand.Text())
			var mu sync.Mutex
			buckets := make(map[string]string) // names of buckets by the folder that the suite passes
			var only []string
			if name == "moto" {
				only = []string{"Log", "PerItem", "Newest"} // moto is slow
			}
			archivetest.Run(t, archivetest.Store{
				Checks: 1,
				Only:   only,
				Open: func(dir string) (archive.Lister, error) {
					mu.Lock()
					defer mu.Unlock()
					bucket := buckets[dir]
					if bucket == "" {
						bucket = fmt.Sprintf("conformance-%s-%d", run, len(buckets))
						if err := makeBucket(context.Background(), client, bucket); err != nil {
							return nil, err
						}
						buckets[dir] = bucket
					}
					return s3.New(s3.Options{Client: client, Bucket: bucket})
				},
			})
		})
	}
}

func TestNew(t *testing.T) {
	client := awss3.New(awss3.Options{Region: server.Region})
	for want, o := range map[string]s3.Options{
		"Client is nil":         {},
		"Bucket is empty":       {Client: client},
		"PartBytes is 5":        {Client: client, Bucket: "b", PartBytes: 5},
		"Parallel":              {Client: client, Bucket: "b", Parallel: -1},
		"Stalled is negative":   {Client: client, Bucket: "b", Stalled: -1},
		`StorageClass "FROZEN"`: {Client: client, Bucket: "b", StorageClass: "FROZEN"},
	} {
		if _, err := s3.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one of %q", err, want)
		}
	}
}
