package awshttp_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tablewake/tablewake/pipeline/awshttp"
)

type answering struct {
	status int
	body   io.Reader
}

func (a answering) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(a.body), ContentLength: -1}, nil
}

func TestBelieve(t *testing.T) {
	for _, tt := range []struct {
		op     string
		status int
		body   string
		want   bool
	}{
		{"PutItem", 200, `{}`, true},
		{"PutItem", 200, ` {"ConsumedCapacity":{"TableName":"t"}} `, true},
		{"PutItem", 200, ``, false},
		{"PutItem", 200, ` `, false},
		{"PutItem", 204, ``, false},
		{"PutItem", 200, `[]`, false},
		{"PutItem", 200, `null`, false},
		{"PutItem", 200, `<html>hello</html>`, false},
		{"PutItem", 200, `{"Attributes":{"a`, false},
		{"PutItem", 200, `{}{}`, false},
		{"Query", 200, `{}`, false},
		{"Query", 200, `{"Count":0,"Items":[],"ScannedCount":0}`, true},
		{"BatchGetItem", 200, `{"UnprocessedKeys":{}}`, false},
		{"BatchGetItem", 200, `{"Responses":{},"UnprocessedKeys":{}}`, true},
		{"GetItem", 200, `{}`, true},
		{"PutItem", 400, ``, true}, // the caller checks the error code, which is missing here
		{"PutItem", 503, `<html>busy</html>`, true},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+tt.op)
		resp, err := awshttp.Verify(answering{tt.status, strings.NewReader(tt.body)}).Do(req)
		if (err == nil) != tt.want {
			t.Errorf("%s: %d %q: %v", tt.op, tt.status, tt.body, err)
		}
		if err != nil {
			if e, ok := errors.AsType[*awshttp.Error](err); !ok || !e.RetryableError() || strings.Contains(e.Redacted(), "hello") {
				t.Errorf("%s: %d %q: %v", tt.op, tt.status, tt.body, err)
			}
			continue
		}
		if got, err := io.ReadAll(resp.Body); err != nil || string(got) != tt.body {
			t.Errorf("%s: the body arrives as %q, %v", tt.op, got, err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := awshttp.Verify(answering{200, iotest.ErrReader(io.ErrUnexpectedEOF)}).Do(req); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a body that breaks off: %v", err)
	}
}
