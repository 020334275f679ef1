package awshttp_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/awshttp"
)

// An answer to a listing that is not S3's is retried. The SDK would take it for an empty listing.
func TestVerifyS3(t *testing.T) {
	const listing = `<?xml version="1.0"?><ListBucketResult xmlns="x"><Name>b</Name></ListBucketResult>` + "\n"
	for _, tt := range []struct {
		method, url string
		status      int
		body        string
		want        bool
	}{
		{"GET", "/b?list-type=2&prefix=a", 200, listing, true},
		{"GET", "/b?list-type=2", 200, "", false},
		{"GET", "/b?list-type=2", 200, "<html>ok</html>", false},
		{"GET", "/b?list-type=2", 200, listing[:60], false},
		{"GET", "/b?list-type=2", 503, "", true},
		{"GET", "/b/o?tagging", 200, "<Tagging><TagSet></TagSet></Tagging>", true},
		{"GET", "/b/o?tagging", 200, "", false},
		{"PUT", "/b/o?tagging", 200, "", true},
		{"GET", "/b/o", 200, "", true},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://s3.local"+tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := awshttp.VerifyS3(answering{tt.status, strings.NewReader(tt.body)}).Do(req)
		if foreign, ok := errors.AsType[*awshttp.Error](err); ok == tt.want || ok && !foreign.RetryableError() {
			t.Errorf("%s %s %d %q: %v", tt.method, tt.url, tt.status, tt.body, err)
		}
		if err == nil {
			_ = resp.Body.Close()
		}
	}
}
