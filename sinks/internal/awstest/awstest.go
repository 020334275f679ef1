// Package awstest is for the tests of stores on AWS services. It makes clients of the test servers whose endpoints are
// in environment variables. A test can put a [Tap] between a client and its server. The Tap adds faults that the server
// never has, such as failed entries, throttling and lost answers.
package awstest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tablewake/tablewake/test/server"
)

// The environment variables that hold the endpoints.
const (
	SQS  = "TABLEWAKE_TEST_SQS"  // ElasticMQ
	Moto = "TABLEWAKE_TEST_MOTO" // moto: SNS, EventBridge, SQS, S3
	S3   = "TABLEWAKE_TEST_S3"   // versitygw
)

// Region is the Region of the clients.
const Region = "us-east-1"

// Tap answers a request of a client. op is the name of the operation if the request contains it (SQS, SNS,
// EventBridge), and otherwise the HTTP method. send sends the request with a given body to the server, and returns the
// response. Tap may call send any number of times.
type Tap func(
	op string, r *http.Request, body []byte, send func(body []byte) (*http.Response, error),
) (*http.Response, error)

// Config returns the configuration of clients of a test server. env is the name of the environment variable with the
// endpoint. The test fails if the variable is not set. The clients send every call once. tap may be nil.
func Config(t testing.TB, env string, tap Tap) aws.Config {
	t.Helper()
	endpoint := os.Getenv(env)
	if endpoint == "" {
		t.Fatal(env + " is not set: run the tests by  go run ./test/servers -- go test ./...")
	}
	tr := &http.Transport{MaxIdleConnsPerHost: 32}
	t.Cleanup(tr.CloseIdleConnections)
	return config(endpoint, Transport(tr, tap))
}

// Offline returns the configuration of clients without a server. tap answers all their calls.
func Offline(tap Tap) aws.Config {
	return config("http://offline.invalid", Transport(nil, tap))
}

func config(endpoint string, tr http.RoundTripper) aws.Config {
	return aws.Config{
		Region: Region, BaseEndpoint: &endpoint, HTTPClient: &http.Client{Transport: tr},
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: server.AccessKey, SecretAccessKey: server.SecretKey}, nil
		}),
	}
}

// Name returns a random lower-case name that begins with prefix.
func Name(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()[:12]) }

// Transport returns a transport whose calls tap answers. The tap's send uses next. If tap is nil, next answers all
// calls.
func Transport(next http.RoundTripper, tap Tap) http.RoundTripper { return &transport{next, tap} }

type transport struct {
	next http.RoundTripper
	tap  Tap
}

// RoundTrip reads and closes the body of the request first, because a RoundTripper must always close it.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		if err := errors.Join(err, r.Body.Close()); err != nil {
			return nil, err
		}
	}
	send := func(body []byte) (*http.Response, error) {
		again := r.Clone(r.Context())
		again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return t.next.RoundTrip(again)
	}
	if t.tap == nil {
		return send(body)
	}
	return t.tap(operation(r, body), r, body, send)
}

func operation(r *http.Request, body []byte) string {
	if _, op, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		return op
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		form, _ := url.ParseQuery(string(body))
		return form.Get("Action")
	}
	return r.Method
}

// Answer returns an answer to r without a server.
func Answer(r *http.Request, status int, contentType, body string) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {contentType}}, Request: r,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// Refuse returns the error answer of a service that has the protocol of SQS or EventBridge.
func Refuse(r *http.Request, status int, code string) *http.Response {
	return Answer(r, status, "application/x-amz-json-1.0",
		`{"__type":"com.amazonaws#`+code+`","message":"canary: what the server says"}`)
}
