package opensearch_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// scripted is a server with one prepared answer for each request method.
type scripted map[string]struct {
	status int
	body   string
}

func (s scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	a := s[r.Method]
	return &http.Response{StatusCode: a.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

// The stored script compares versions. If the server has another script of the same name, or stores no scripts, Open
// stops the sink before it writes.
func TestScriptIsVerified(t *testing.T) {
	const missing = `{"_id":"x","found":false}`
	for name, test := range map[string]struct {
		of    scripted
		want  string
		again bool
	}{
		"altered": {scripted{"GET": {200, `{"_id":"x","found":true,"script":{"lang":"painless","source":"ctx.op = 'none'"}}`}}, "was altered on the server: delete it", false},
		"refused": {scripted{"GET": {404, missing}, "PUT": {400, `{"error":{"type":"illegal_argument_exception","reason":"cannot execute"},"status":400}`}}, "use mode: fast", false},
		"denied":  {scripted{"GET": {403, `{"error":{"type":"security_exception","reason":"no permissions"},"status":403}`}}, "use mode: fast", false},
		"unknown": {scripted{"GET": {404, `{"message":"no such path"}`}}, "use mode: fast", false},
		"busy":    {scripted{"GET": {404, missing}, "PUT": {429, `{"error":{"type":"circuit_breaking_exception"}}`}}, "circuit_breaking_exception", true},
		"unwell":  {scripted{"GET": {503, ``}}, "503", true},
	} {
		synctest.Test(t, func(t *testing.T) { // Open retries transient errors for a while
			s := open(t, opensearch.Options{URL: "http://127.0.0.1:1", Transport: test.of})
			err := s.Open(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want an error of %q", name, err, test.want)
			}
			if _, again := pipeline.Retryable(err); again != test.again || pipeline.IsFatal(err) == test.again {
				t.Errorf("%s: %v, to be tried again is %v", name, err, again)
			}
		})
	}
}
