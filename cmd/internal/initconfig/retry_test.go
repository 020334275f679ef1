package initconfig

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// While init repeats a request because its answers are broken, it says so.
func TestInit_RetriesAreTold(t *testing.T) {
	var scans atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		text := `{"Table":{"TableName":"shop","TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"PK","KeyType":"HASH"}]}}`
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Scan") {
			text = `{"Items":[{"PK":{"S":"USER#1"}}],"Count":1,"ScannedCount":1}`
			if scans.Add(1) <= 3 { // as often as the SDK tries
				text = text[:20]
			}
		}
		_, _ = io.WriteString(w, text)
	}))
	defer srv.Close()
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", srv.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "a")
	t.Setenv("AWS_REGION", "eu-central-1")
	var errs bytes.Buffer
	o := options{table: "shop", out: filepath.Join(t.TempDir(), "made.yaml")}
	err := o.run(t.Context(), cli.Streams{Out: io.Discard, Err: &errs})
	if err != nil || !strings.Contains(errs.String(), "a request of the scan failed, and is repeated in ") {
		t.Errorf("error %v; it says %s", err, errs.String())
	}
}
