package awshttp

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/bounded"
)

type large struct{}

func (large) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"a":"` + strings.Repeat("x", 100) + `"}`)), ContentLength: -1}, nil
}

// An answer that is too large is an error that the SDK retries.
func TestLargeAnswer(t *testing.T) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", nil)
	if err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int64]bool{50: false, 108: true} {
		resp, err := verifier{large{}, most, checkOfCall}.Do(req)
		if (err == nil) != want {
			t.Fatalf("at most %d bytes: %v", most, err)
		}
		if err == nil {
			_ = resp.Body.Close()
			continue
		}
		e, ours := errors.AsType[*Error](err)
		if _, bound := errors.AsType[*bounded.Error](err); !ours || !bound || !e.RetryableError() || !strings.Contains(err.Error(), "larger than 50 bytes") {
			t.Errorf("%v", err)
		}
	}
}
