package opensearch_test

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// roundTrip answers requests in place of a server.
type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	return f(r)
}

// answer returns an answer of a server.
func answer(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

const taken = `{"items":[{"index":{"status":201}}]}`

// credentials belong to no account.
var credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret", SessionToken: "token"}, nil
})

// single writes one document in fast mode and returns its error.
func single(t *testing.T, o opensearch.Options) error {
	t.Helper()
	o.Mode = opensearch.Fast
	rs, err := open(t, o).Apply(t.Context(), []search.Mutation{mutation("products", "a", 1)})
	if err == nil {
		err = rs[0].Err
	}
	return err
}

// Requests are signed for the service in the options, or else for the service that the address names.
func TestSigned(t *testing.T) {
	for _, tt := range []struct{ url, service, want string }{
		{"https://search-shop.eu-central-1.es.amazonaws.com", "", "/eu-central-1/es/aws4_request"},
		{"https://abc123.eu-central-1.aoss.amazonaws.com", "", "/eu-central-1/aoss/aws4_request"},
		{"https://search.example.com", opensearch.Serverless, "/eu-central-1/aoss/aws4_request"},
		{"https://aoss-like.example.com", "", "/eu-central-1/es/aws4_request"},
	} {
		var got *http.Request
		err := single(t, opensearch.Options{
			URL: tt.url, Auth: opensearch.SigV4, Service: tt.service, Region: "eu-central-1", Credentials: credentials,
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				got = r
				return answer(200, taken), nil
			}),
		})
		if err != nil {
			t.Fatalf("%s: %v", tt.url, err)
		}
		if a := got.Header.Get("Authorization"); !strings.Contains(a, tt.want) || !strings.Contains(a, "Credential=AKIDEXAMPLE/") {
			t.Errorf("%s %s is signed by %q, want %s", tt.url, tt.service, a, tt.want)
		}
		if got.Header.Get("X-Amz-Content-Sha256") == "" || got.Header.Get("X-Amz-Security-Token") != "token" {
			t.Errorf("%s lacks the hash of the body or the session's token: %v", tt.url, got.Header)
		}
	}
}

// The signed body is sent completely, and the content length is its size.
func TestSignedBodyIsSent(t *testing.T) {
	var body string
	err := single(t, opensearch.Options{
		URL: "https://search.example.com", Auth: opensearch.SigV4, Region: "eu-central-1", Credentials: credentials,
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			b, err := io.ReadAll(r.Body)
			body = string(b)
			if int64(len(b)) != r.ContentLength {
				t.Errorf("%d bytes of %d are sent", len(b), r.ContentLength)
			}
			return answer(200, taken), err
		}),
	})
	if err != nil || strings.Count(body, "\n") != 2 {
		t.Errorf("%v; the body: %q", err, body)
	}
}

// Without credentials no request is sent. The error is marked as denied.
func TestNoCredentials(t *testing.T) {
	err := single(t, opensearch.Options{
		URL: "https://search.example.com", Auth: opensearch.SigV4, Region: "eu-central-1",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{}, errors.New("the metadata service does not answer")
		}),
		Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			t.Error("a request is sent unsigned")
			return answer(200, taken), nil
		}),
	})
	if !pipeline.IsDenied(err) || !strings.Contains(err.Error(), "no credentials") {
		t.Errorf("error: %v", err)
	}
}

// The client trusts a server by the authority in CA, and authenticates with a password. Without the authority a request
// fails with a transient error. A wrong password is a fatal error.
func TestOwnAuthority(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "tablewake" || password != "hush" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, taken)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}
	if err := os.WriteFile(ca, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	known := opensearch.Options{URL: s.URL, CA: ca, Auth: opensearch.Basic, User: "tablewake", Password: "hush"}
	if err := single(t, known); err != nil {
		t.Errorf("with the authority and the password: %v", err)
	}
	stranger := known
	stranger.CA = ""
	if _, transient := pipeline.Retryable(single(t, stranger)); !transient {
		t.Error("without the authority the server is believed, or given up")
	}
	wrong := known
	wrong.Password = "loud"
	if err := single(t, wrong); !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "credentials") || strings.Contains(err.Error(), "loud") {
		t.Errorf("with a wrong password: %v", err)
	}
}

// The client sends each request once, even if it fails. The caller decides about retries.
func TestNothingIsSentTwice(t *testing.T) {
	for name, what := range map[string]roundTrip{
		"503":     func(*http.Request) (*http.Response, error) { return answer(503, ""), nil },
		"end":     func(*http.Request) (*http.Response, error) { return nil, io.EOF },
		"refused": func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
	} {
		var sent atomic.Int32
		err := single(t, opensearch.Options{URL: "http://search.example.com", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			sent.Add(1)
			return what(r)
		})})
		if _, transient := pipeline.Retryable(err); !transient {
			t.Errorf("%s: %v is not transient", name, err)
		}
		if sent.Load() != 1 {
			t.Errorf("%s: %d requests are sent", name, sent.Load())
		}
	}
}

// A timeout and a stopped pipeline are transient errors.
func TestInTime(t *testing.T) {
	silent := roundTrip(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	err := single(t, opensearch.Options{URL: "http://search.example.com", Timeout: time.Millisecond, Transport: silent})
	if _, transient := pipeline.Retryable(err); !transient || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("in time: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := open(t, opensearch.Options{URL: "http://search.example.com", Mode: opensearch.Fast, Transport: silent})
	rs, err := s.Apply(ctx, []search.Mutation{mutation("products", "a", 1)})
	if err == nil {
		err = rs[0].Err
	}
	if _, transient := pipeline.Retryable(err); !transient {
		t.Errorf("stopped: %v", err)
	}
}

func TestOptions(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]opensearch.Options{
		"URL":                  {},
		"URL: it is not":       {URL: "search.example.com:9200"},
		"URL: it holds a user": {URL: "https://tablewake:hush@search.example.com"},
		"URL: it holds a q":    {URL: "https://search.example.com?pretty"},
		"Mode":                 {URL: "https://a", Mode: "quick"},
		"Auth":                 {URL: "https://a", Auth: "kerberos"},
		"Service":              {URL: "https://a", Service: "s3"},
		"Password":             {URL: "https://a", Auth: opensearch.Basic, User: "tablewake"},
		"Region":               {URL: "https://a", Auth: opensearch.SigV4, Credentials: credentials},
		"Credentials":          {URL: "https://a", Auth: opensearch.SigV4, Region: "eu-central-1"},
		"Transport":            {URL: "https://a", CA: ca, Transport: http.DefaultTransport},
		"CA: ":                 {URL: "https://a", CA: ca},
		"CA: open":             {URL: "https://a", CA: ca + ".gone"},
		"BulkBytes":            {URL: "https://a", BulkBytes: -1},
		"use mode: fast":       {URL: "https://a.eu-central-1.aoss.amazonaws.com", Auth: opensearch.SigV4, Region: "eu-central-1", Credentials: credentials},
	} {
		_, err := opensearch.New(o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		} else if strings.Contains(err.Error(), "hush") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}
