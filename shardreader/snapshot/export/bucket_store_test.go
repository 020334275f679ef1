package export_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
	"github.com/tablewake/tablewake/test/server"
)

// roundTrip makes a function a RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// s3Client returns a client of the server, through wrap if it is not nil.
func s3Client(t testing.TB, wrap func(http.RoundTripper) http.RoundTripper) *s3.Client {
	t.Helper()
	endpoint := server.S3().Endpoint(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	var rt http.RoundTripper = transport
	if wrap != nil {
		rt = wrap(rt)
	}
	return s3.New(s3.Options{
		BaseEndpoint: &endpoint, Region: server.Region, UsePathStyle: true, HTTPClient: &http.Client{Transport: rt}, Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
}

// put writes the files into a new bucket, and returns its address and the ETags.
func (f files) put(t testing.TB) (bucket string, etags map[string]string) {
	t.Helper()
	client := s3Client(t, nil)
	bucket, etags = "export-"+strings.ToLower(rand.Text()), map[string]string{}
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	for name, b := range f {
		etags[name] = putObject(t, bucket, name, b)
	}
	return bucket, etags
}

func putObject(t testing.TB, bucket, name string, b []byte) (etag string) {
	t.Helper()
	out, err := s3Client(t, nil).PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &name, Body: bytes.NewReader(b)})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(aws.ToString(out.ETag), `"`)
}

// inBucket returns the addresses of paths.
func inBucket(bucket string, paths ...string) []string {
	all := make([]string, len(paths))
	for i, p := range paths {
		all[i] = "s3://" + bucket + "/" + p
	}
	return all
}

func bucketOptions(client export.S3Client, layers ...string) export.Options {
	o := exportOptions(layers...)
	o.S3 = client
	return o
}

// A bucket and a copy of it are the same snapshot, with the same parts.
func TestBucket_LikeAFolder(t *testing.T) {
	objects, paths := chain(t, nil)
	bucket, _ := objects.put(t)
	a := openExport(t, exportOptions(at(objects.write(t, t.TempDir()), paths)...))
	b := openExport(t, bucketOptions(s3Client(t, nil), inBucket(bucket, paths...)...))
	if !slices.Equal(a.Parts(), b.Parts()) {
		t.Errorf("the parts are %v and %v", a.Parts(), b.Parts())
	}
	inA, inB := a.Info(), b.Info()
	if want := "export " + strings.Join(inBucket(bucket, paths...), "/ ") + "/"; inB.Source != want {
		t.Errorf("the source is %s, want %s", inB.Source, want)
	}
	if inA.Source = inB.Source; inA != inB {
		t.Errorf("the exports are %+v and %+v", inA, inB)
	}
	ofA, errA := readAll(t.Context(), a)
	ofB, errB := readAll(t.Context(), b)
	if errA != nil || errB != nil || !slices.Equal(ofA, ofB) || len(ofA) != 6 {
		t.Errorf("%v, %v, %q and %q", errA, errB, ofA, ofB)
	}
}

func TestBucket_Paths(t *testing.T) {
	f := fixture{prefix: "2026/nov/"}
	f.data = f.data1(item("1"))
	objects := f.add(t, files{})
	bucket, _ := objects.put(t)
	for _, path := range []string{"", "2026", "2026/", "2026/nov", "2026/nov/AWSDynamoDB", f.folder(), f.folder() + "/", f.folder() + "/manifest-summary.json"} {
		e := openExport(t, bucketOptions(s3Client(t, nil), inBucket(bucket, path)...))
		if e.Info().Source != "export s3://"+bucket+"/"+f.folder()+"/" {
			t.Errorf("%s: %s", path, e.Info().Source)
		}
	}
	for path, want := range map[string]string{
		"s3://" + bucket + "/2026/oct":   "there is no export in s3://" + bucket + "/2026/oct",
		"s3://" + bucket + "-none/2026":  "check the name of the bucket",
		"s3://" + bucket + "/2026/nov/x": "there is no export in",
	} {
		if _, err := export.Open(t.Context(), bucketOptions(s3Client(t, nil), path)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	// Manifests that were copied alone have the keys of the data files.
	for _, name := range []string{"manifest-summary.json", "manifest-files.json"} {
		putObject(t, bucket, "copy/"+name, objects[f.folder()+"/"+name])
	}
	if got, err := readAll(t.Context(), openExport(t, bucketOptions(s3Client(t, nil), inBucket(bucket, "copy")...))); err != nil || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
}

// Listings have pages.
func TestBucket_ManyFiles(t *testing.T) {
	f := fixture{data: map[string]string{}}
	for i := range 25 {
		f.data[fmt.Sprintf("%02d.json.gz", i)] = item(fmt.Sprint(i))
	}
	bucket, _ := f.add(t, files{}).put(t)
	e := openExport(t, bucketOptions(smallPages{s3Client(t, nil)}, inBucket(bucket, f.folder())...))
	if got, err := readAll(t.Context(), e); err != nil || len(got) != 25 {
		t.Errorf("%d items, %v", len(got), err)
	}
}

// smallPages is a client whose listings have 10 objects a page.
type smallPages struct{ *s3.Client }

func (c smallPages) ListObjectsV2(ctx context.Context, in *s3.ListObjectsV2Input, o ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	ten := *in
	ten.MaxKeys = aws.Int32(10)
	return c.Client.ListObjectsV2(ctx, &ten, o...)
}

// An object that DynamoDB wrote is read once, and another one twice: it is compared with its MD5 first.
func TestBucket_ReadsOfAFile(t *testing.T) {
	for _, same := range []bool{true, false} {
		f := fixture{data: map[string]string{"a.json.gz": item("1")}}
		objects := f.add(t, files{})
		bucket, etags := objects.put(t)
		if same {
			f.etag = etags[f.folder()+"/data/a.json.gz"]
			for name, b := range f.add(t, files{}) {
				putObject(t, bucket, name, b)
			}
		}
		var reads atomic.Int64
		client := s3Client(t, func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/a.json.gz") {
					reads.Add(1)
				}
				return next.RoundTrip(r)
			})
		})
		got, err := readAll(t.Context(), openExport(t, bucketOptions(client, inBucket(bucket, f.folder())...)))
		if want := map[bool]int64{true: 1, false: 2}[same]; err != nil || len(got) != 1 || reads.Load() != want {
			t.Errorf("%d items, %v, %d reads, want %d", len(got), err, reads.Load(), want)
		}
	}
}

// Damage by the network is found after the last line.
func TestBucket_DamageOnTheWay(t *testing.T) {
	f := fixture{data: map[string]string{"a.json": item("1")}, plain: true}
	objects := f.add(t, files{})
	_, etags := objects.put(t)
	f.etag = etags[f.folder()+"/data/a.json"]
	bucket, _ := f.add(t, files{}).put(t)
	client := s3Client(t, func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil && strings.Contains(r.URL.Path, "/data/") {
				resp.Body = struct {
					io.Reader
					io.Closer
				}{strings.NewReader(item("2")), resp.Body}
			}
			return resp, err
		})
	})
	_, err := readAll(t.Context(), openExport(t, bucketOptions(client, inBucket(bucket, f.folder())...)))
	if err == nil || !strings.Contains(err.Error(), "a.json: its MD5 is not the md5Checksum in manifest-files.json") {
		t.Errorf("%v", err)
	}
}

// failing makes requests for data files fail n times. A body is cut in its middle.
func failing(n *atomic.Int64, status int) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if !strings.Contains(r.URL.Path, "/data/") || n.Add(-1) < 0 {
				return next.RoundTrip(r)
			}
			if status != 0 {
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
			}
			resp, err := next.RoundTrip(r)
			if err == nil {
				resp.Body = struct {
					io.Reader
					io.Closer
				}{io.MultiReader(io.LimitReader(resp.Body, resp.ContentLength/2), iotest.ErrReader(io.ErrUnexpectedEOF)), resp.Body}
			}
			return resp, err
		})
	}
}

// Reading continues after errors of the server, and after a connection that broke in the middle of a file.
func TestBucket_Retries(t *testing.T) {
	f := fixture{data: map[string]string{"a.json.gz": strings.Repeat(item("1")+"\n", 1000), "b.json.gz": ""}}
	bucket, _ := f.add(t, files{}).put(t)
	for _, status := range []int{0, http.StatusServiceUnavailable, http.StatusInternalServerError} {
		var n, retries atomic.Int64
		n.Store(3)
		o := bucketOptions(s3Client(t, failing(&n, status)), inBucket(bucket, f.folder())...)
		o.OnRetry = func(err error, _ time.Duration) {
			if retries.Add(1); err == nil {
				t.Error("no error")
			}
		}
		got, err := readAll(t.Context(), openExport(t, o))
		if err != nil || len(got) != 1000 || n.Load() >= 0 || retries.Load() != 3 {
			t.Errorf("status %d: %d items, %v, %d failures left, %d retries", status, len(got), err, n.Load(), retries.Load())
		}
	}
	// It ends with the context.
	var n atomic.Int64
	n.Store(1 << 40)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	o := bucketOptions(s3Client(t, failing(&n, http.StatusServiceUnavailable)), inBucket(bucket, f.folder())...)
	o.OnRetry = func(error, time.Duration) { cancel(stop) }
	e := openExport(t, o)
	r, err := e.Open(t.Context(), e.Parts()[0].ID, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(ctx); !errors.Is(err, stop) {
		t.Errorf("cancelled: %v", err)
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Error(err)
	}
}

// Refusals of the server are not repeated, and say what to do.
func TestBucket_Refusals(t *testing.T) {
	f := fixture{data: map[string]string{"a.json.gz": item("1")}}
	bucket, _ := f.add(t, files{}).put(t)
	refuse := func(in, code string) export.S3Client {
		return s3Client(t, func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				if !strings.Contains(r.URL.String(), in) {
					return next.RoundTrip(r)
				}
				body := "<Error><Code>" + code + "</Code><Message>canary</Message></Error>"
				return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
			})
		})
	}
	for _, tt := range []struct{ in, code, want string }{
		{"list-type=2", "AccessDenied", "allow s3:ListBucket"},
		{"manifest-summary.json", "AccessDenied", "allow s3:GetObject"},
		{"/data/", "AccessDenied", "a.json.gz: GetObject: AccessDenied (allow s3:GetObject"},
		{"/data/", "InvalidObjectState", "a.json.gz: it is in an archive storage class of S3: restore it"},
	} {
		e, err := export.Open(t.Context(), bucketOptions(refuse(tt.in, tt.code), inBucket(bucket, f.folder())...))
		if err == nil {
			_, err = readAll(t.Context(), e)
		}
		if _, again := pipeline.Retryable(err); err == nil || again || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s of %s: %v", tt.code, tt.in, err)
		}
	}
}

// An object that is damaged, missing or replaced meanwhile is an error that names it.
func TestBucket_Damage(t *testing.T) {
	text := strings.Repeat(item("1")+"\n", 1000)
	f := fixture{data: map[string]string{"a.json.gz": text}}
	objects := f.add(t, files{})
	key := f.folder() + "/data/a.json.gz"
	bucket, _ := objects.put(t)
	var n atomic.Int64
	replace := func(next http.RoundTripper) http.RoundTripper { // while a body that broke is requested again
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("Range") != "" {
				putObject(t, bucket, key, packed(t, text+"\n"))
			}
			return failing(&n, 0)(next).RoundTrip(r)
		})
	}
	e := openExport(t, bucketOptions(s3Client(t, replace), inBucket(bucket, f.folder())...))
	n.Store(1)
	if _, err := readAll(t.Context(), e); err == nil || !strings.Contains(err.Error(), "a.json.gz: it was replaced while it was read") {
		t.Errorf("replaced: %v", err)
	}
	if _, err := readAll(t.Context(), e); err == nil || !strings.Contains(err.Error(), "a.json.gz: its MD5 is not the md5Checksum in manifest-files.json") {
		t.Errorf("another object: %v", err)
	}
	missing := maps.Clone(objects)
	delete(missing, key)
	bucket, _ = missing.put(t)
	if _, err := export.Open(t.Context(), bucketOptions(s3Client(t, nil), inBucket(bucket, f.folder())...)); err == nil || !strings.Contains(err.Error(), "the first is a.json.gz") {
		t.Errorf("missing: %v", err)
	}
}
