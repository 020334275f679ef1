package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/s3"
	"github.com/tablewake/tablewake/test/server"
)

func put(t *testing.T, s archive.Store, name, body string) {
	t.Helper()
	if err := s.Put(t.Context(), archive.Object{Name: name, Body: []byte(body)}); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s archive.Store, name string) string {
	t.Helper()
	r, err := s.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func names(t *testing.T, s archive.Lister, prefix string) []string {
	t.Helper()
	var all []string
	for info, err := range s.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, info.Name)
	}
	return all
}

// The store keeps each object under exactly its name and refuses a second Put of the same name.
func TestObjects(t *testing.T) {
	t.Parallel()
	for server, endpoint := range servers(t) {
		t.Run(server, func(t *testing.T) {
			s, _, _ := fresh(t, endpoint)
			all := []string{
				"a.json", "a/b.json", "a/b/c.json", "archive/USER%2342/ORDER%2F1/_none/1.json", "dt=2026-01-02/hour=03/1-2-ab.jsonl.zst",
				"a+b/c d/ä@x,=&$.json", strings.Repeat("s", 254) + "/" + strings.Repeat("e", 255) + "/" + strings.Repeat("x", 255) + "/" + strings.Repeat("y", 200) + ".json",
			}
			for _, name := range all {
				put(t, s, name, "of "+name)
			}
			slices.Sort(all)
			if got := names(t, s, ""); !slices.Equal(got, all) {
				t.Errorf("names\n%q, want\n%q", got, all)
			}
			if got, want := names(t, s, "a/b"), []string{"a/b.json", "a/b/c.json"}; !slices.Equal(got, want) {
				t.Errorf("names with a prefix %q, want %q", got, want)
			}
			for _, name := range all {
				if got := get(t, s, name); got != "of "+name {
					t.Errorf("%s holds %q", name, got)
				}
			}
			if _, err := s.Get(t.Context(), "none"); !errors.Is(err, archive.ErrNoObject) {
				t.Errorf("a missing object: %v, want ErrNoObject", err)
			}
			err := s.Put(t.Context(), archive.Object{Name: "a.json", Body: []byte("second")})
			if !errors.Is(err, archive.ErrExists) || get(t, s, "a.json") != "of a.json" {
				t.Errorf("a second Put: %v, want ErrExists; the object holds %q", err, get(t, s, "a.json"))
			}
		})
	}
}

// A listing of several pages has each name once, and Remove can remove more objects than one page holds.
func TestManyObjects(t *testing.T) {
	t.Parallel()
	s, _, _ := fresh(t, server.S3().Endpoint(t))
	const n = 1100
	var want []string
	var wg sync.WaitGroup
	free := make(chan struct{}, 16)
	for i := range n {
		name := fmt.Sprintf("many/%04d.json", i)
		want = append(want, name)
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			if err := s.Put(t.Context(), archive.Object{Name: name, Body: []byte("x")}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := names(t, s, "many/"); !slices.Equal(got, want) {
		t.Errorf("%d names, want %d", len(got), n)
	}
	if err := s.Remove(t.Context(), append(want[:1099:1099], "many/none.json")); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s, "many/"); !slices.Equal(got, want[1099:]) {
		t.Errorf("names that are left: %q", got)
	}
}

// If several writers put the same name, exactly one of them succeeds, and the object holds exactly what this writer
// put. This is so for objects in one piece and for multipart uploads.
func TestOneOfManyWritersWins(t *testing.T) {
	t.Parallel()
	for kind, size := range map[string]int{"whole": 10, "in parts": 5<<20 + 10} {
		for server, endpoint := range servers(t) {
			if server == "moto" {
				continue // it looks for the object and writes it without a lock, and completes any multipart upload
			}
			t.Run(server+" "+kind, func(t *testing.T) {
				_, client, bucket := fresh(t, endpoint)
				const writers = 4
				errs := make([]error, writers)
				var wg sync.WaitGroup
				for i := range writers {
					s := open(t, s3.Options{Client: client, Bucket: bucket, PartBytes: 5 << 20}) // like another process
					wg.Go(func() {
						body := bytes.Repeat([]byte{byte('a' + i)}, size)
						for { // retry like a pipeline
							errs[i] = s.Put(t.Context(), archive.Object{Name: "folder/a.json", Body: body})
							if _, again := pipeline.Retryable(errs[i]); !again {
								return
							}
						}
					})
				}
				wg.Wait()
				winner := -1
				for i, err := range errs {
					switch {
					case err == nil && winner >= 0:
						t.Errorf("writers %d and %d both won", winner, i)
					case err == nil:
						winner = i
					case !errors.Is(err, archive.ErrExists):
						t.Error(err)
					}
				}
				got := get(t, open(t, s3.Options{Client: client, Bucket: bucket}), "folder/a.json")
				if len(got) != size || strings.Trim(got, string(rune('a'+winner))) != "" {
					t.Errorf("the object holds %d bytes of %.1q, want %d of writer %d", len(got), got, size, winner)
				}
				if left := uploads(t, client, bucket); len(left) > 0 {
					t.Errorf("uploads that were never finished: %q", left)
				}
			})
		}
	}
}

// uploads returns the names of the multipart uploads that are neither completed nor aborted.
func uploads(t *testing.T, client *awss3.Client, bucket string) []string {
	t.Helper()
	out, err := client.ListMultipartUploads(t.Context(), &awss3.ListMultipartUploadsInput{Bucket: &bucket})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, u := range out.Uploads {
		keys = append(keys, aws.ToString(u.Key))
	}
	return keys
}

// The server refuses a body that is damaged on its way, and the error can be retried. The requests of this test do not
// sign the body, so only the checksum can detect the damage.
func TestADamagedBodyIsRefused(t *testing.T) {
	t.Parallel()
	for kind, size := range map[string]int{"whole": 1000, "in parts": 5<<20 + 10} {
		t.Run(kind, func(t *testing.T) {
			damage := 1
			client := clientOf(t, server.S3().Endpoint(t), func(next http.RoundTripper) http.RoundTripper {
				return roundTrip(func(r *http.Request) (*http.Response, error) {
					if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "folder/") || damage == 0 {
						return next.RoundTrip(r)
					}
					damage--
					body, err := io.ReadAll(r.Body)
					if err != nil {
						return nil, err
					}
					body[len(body)/2] ^= 1
					r = r.Clone(r.Context())
					r.Body = io.NopCloser(bytes.NewReader(body))
					return next.RoundTrip(r)
				})
			})
			bucket := newBucket(t, client)
			o := client.Options()
			o.APIOptions = append(o.APIOptions, v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware)
			o.Retryer = aws.NopRetryer{}
			s := open(t, s3.Options{Client: awss3.New(o), Bucket: bucket, PartBytes: 5 << 20, Parallel: 1})
			whole := archive.Object{Name: "folder/a.json", Body: bytes.Repeat([]byte("x"), size)}
			err := s.Put(t.Context(), whole)
			if _, again := pipeline.Retryable(err); !again || !strings.Contains(fmt.Sprint(err), "BadDigest") {
				t.Errorf("a damaged body: %v", err)
			}
			if got := names(t, s, ""); len(got) > 0 {
				t.Errorf("objects %q", got)
			}
			if err := s.Put(t.Context(), whole); err != nil {
				t.Errorf("the same again: %v", err)
			}
			if got := get(t, s, whole.Name); got != string(whole.Body) {
				t.Errorf("the object holds %d bytes", len(got))
			}
		})
	}
}

// If a server ignores or rejects conditional writes, Put fails fatally and writes no object.
func TestAServerWithoutConditionsIsRefused(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.RoundTripper, *http.Request) (*http.Response, error){
		"ignores them": func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Del("If-None-Match") // breaks the signature
			return next.RoundTrip(r)
		},
		"does not know them": func(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
			return answered(r, 501, "NotImplemented"), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			// moto does not check signatures.
			client := clientOf(t, server.Moto().Endpoint(t), func(next http.RoundTripper) http.RoundTripper {
				return roundTrip(func(r *http.Request) (*http.Response, error) {
					if r.Header.Get("If-None-Match") == "" {
						return next.RoundTrip(r)
					}
					return answer(next, r)
				})
			})
			bucket := newBucket(t, client)
			s := open(t, s3.Options{Client: client, Bucket: bucket})
			for range 2 {
				err := s.Put(t.Context(), archive.Object{Name: "a.json"})
				if !pipeline.IsFatal(err) || !strings.Contains(fmt.Sprint(err), "conditional writes") {
					t.Errorf("error %v", err)
				}
			}
			if got := names(t, s, ""); len(got) > 0 {
				t.Errorf("objects %q", got)
			}
		})
	}
}

// answered returns an error answer that was made without a server.
func answered(r *http.Request, status int, code string) *http.Response {
	body := "<Error><Code>" + code + "</Code><Message>" + canary + "</Message></Error>"
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/xml"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r, ContentLength: int64(len(body)), ProtoMajor: 1, ProtoMinor: 1}
}

const canary = "canary@example.com"

// Each error of S3 is transient, permanent or fatal for a pipeline. The error contains no text of the server, because
// such a text can contain data.
func TestErrors(t *testing.T) {
	t.Parallel()
	const (
		permanent = "permanent"
		transient = "transient"
		fatal     = "fatal"
	)
	var status int
	var code string
	client := clientOf(t, server.S3().Endpoint(t), func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if code == "" {
				return next.RoundTrip(r)
			}
			return answered(r, status, code), nil
		})
	})
	bucket := newBucket(t, client)
	o := client.Options()
	o.Retryer = aws.NopRetryer{}
	s := open(t, s3.Options{Client: awss3.New(o), Bucket: bucket})
	put(t, s, "first.json", "x")
	for _, test := range []struct {
		status int
		code   string
		want   string
		hint   string
	}{
		{503, "SlowDown", transient, "SlowDown"},
		{500, "InternalError", transient, "InternalError"},
		{409, "ConditionalRequestConflict", transient, "ConditionalRequestConflict"},
		{409, "OperationAborted", transient, "OperationAborted"},
		{400, "RequestTimeout", transient, "RequestTimeout"},
		{404, "NoSuchUpload", transient, "NoSuchUpload"},
		{403, "AccessDenied", fatal, "s3:PutObject"},
		{403, "InvalidAccessKeyId", fatal, "credentials"},
		{400, "KMS.DisabledException", fatal, "kms:GenerateDataKey"},
		{404, "NoSuchBucket", fatal, "--create"},
		{400, "EntityTooLarge", permanent, "EntityTooLarge"},
		{400, "KeyTooLongError", permanent, "KeyTooLongError"},
		{409, "ObjectParentIsFile", permanent, "ObjectParentIsFile"},
		{400, "InvalidTag", permanent, "InvalidTag"},
	} {
		status, code = test.status, test.code
		err := s.Put(t.Context(), archive.Object{Name: "pk%40of%40someone/a.json", Body: []byte("x")})
		got := permanent
		if _, again := pipeline.Retryable(err); again {
			got = transient
		} else if pipeline.IsFatal(err) {
			got = fatal
		}
		if err == nil || got != test.want || !strings.Contains(err.Error(), test.hint) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %s: %v, want %s with %q", test.code, got, err, test.want, test.hint)
		}
		redacted, ok := errors.AsType[redact.Redacted](err)
		if !ok || strings.Contains(redacted.Redacted(), "someone") {
			t.Errorf("%s: %v is not fit for a log", test.code, err)
		}
	}
	code = ""
	for name, s := range map[string]*s3.Store{
		"no bucket": open(t, s3.Options{Client: client, Bucket: bucket + "-none"}),
		"no rights": open(t, s3.Options{Client: stranger(t), Bucket: bucket}),
	} {
		err := s.Put(t.Context(), archive.Object{Name: "a.json"})
		if !pipeline.IsFatal(err) {
			t.Errorf("%s: %v is not fatal", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Put(ctx, archive.Object{Name: "b.json"})
	if _, again := pipeline.Retryable(err); !again || !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// stranger returns a client whose access key does not exist on the server.
func stranger(t *testing.T) *awss3.Client {
	o := clientOf(t, server.S3().Endpoint(t), nil).Options()
	o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "stranger", SecretAccessKey: "x"}, nil
	})
	return awss3.New(o)
}
