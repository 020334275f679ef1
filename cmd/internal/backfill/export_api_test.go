package backfill

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/test/exportfile"
)

const shopTable = "arn:aws:dynamodb:eu-west-1:123456789012:table/shop"

// exportAPI serves the calls of DynamoDB and S3 that --start-export needs, as their API references describe them. Each
// export has two items.
type exportAPI struct {
	t      *testing.T
	bucket string // folder with the objects of the bucket

	mu       sync.Mutex
	enabled  time.Time              // earliest time of point-in-time recovery
	complete bool                   // exports are complete at once; otherwise they stay in progress
	failure  string                 // FailureCode of all exports
	requests []exportRequest        // requests for new exports
	byToken  map[string]int         // ClientToken -> index in requests
	calls    map[string]int         // number of calls, by operation
	written  map[int]bool           // exports whose files are written
	called   func(operation string) // called after each answer
}

type exportRequest struct {
	ClientToken, S3Bucket, S3Prefix string
	ExportTime                      float64
	FilterSpecification             json.RawMessage
}

func newExportAPI(t *testing.T) *exportAPI {
	t.Helper()
	return &exportAPI{
		t: t, bucket: t.TempDir(), enabled: time.Now().Add(-time.Hour), called: func(string) {},
		byToken: make(map[string]int), calls: make(map[string]int), written: make(map[int]bool),
	}
}

// id returns the ID of an export.
func (*exportAPI) id(n int) string { return fmt.Sprintf("0169509721800%d-d6299cbd", n) }

func (a *exportAPI) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	_, op, isDynamoDB := strings.Cut(q.Header.Get("X-Amz-Target"), ".")
	if !isDynamoDB {
		a.serveS3(w, q)
		return
	}
	body, err := io.ReadAll(q.Body)
	if err != nil {
		a.t.Error(err)
	}
	a.mu.Lock()
	a.calls[op]++
	status, answer := a.answer(op, body)
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		a.t.Error(err)
	}
	a.called(op)
}

func (a *exportAPI) answer(op string, body []byte) (status int, answer any) {
	switch op {
	case "DescribeTable":
		return http.StatusOK, map[string]any{"Table": map[string]any{
			"TableName": "shop", "TableArn": shopTable, "TableStatus": "ACTIVE",
			"KeySchema": []any{map[string]any{"AttributeName": "PK", "KeyType": "HASH"}},
		}}
	case "DescribeContinuousBackups":
		return http.StatusOK, map[string]any{"ContinuousBackupsDescription": map[string]any{
			"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": map[string]any{
				"PointInTimeRecoveryStatus":  "ENABLED",
				"EarliestRestorableDateTime": a.enabled.Unix(), "LatestRestorableDateTime": time.Now().Add(time.Hour).Unix(),
			},
		}}
	case "ExportTableToPointInTime":
		var r exportRequest
		if err := json.Unmarshal(body, &r); err != nil {
			a.t.Error(err)
		}
		n, known := a.byToken[r.ClientToken]
		if !known {
			n = len(a.requests)
			a.byToken[r.ClientToken], a.requests = n, append(a.requests, r)
		} else if is := a.requests[n]; is.ExportTime != r.ExportTime || is.S3Bucket+is.S3Prefix != r.S3Bucket+r.S3Prefix {
			return refusal("ExportConflictException")
		}
		return http.StatusOK, map[string]any{"ExportDescription": a.describe(n)}
	case "DescribeExport":
		var in struct{ ExportArn string }
		if err := json.Unmarshal(body, &in); err != nil {
			a.t.Error(err)
		}
		for n := range a.requests {
			if strings.HasSuffix(in.ExportArn, a.id(n)) {
				return http.StatusOK, map[string]any{"ExportDescription": a.describe(n)}
			}
		}
		return refusal("ExportNotFoundException")
	}
	return refusal("ValidationException")
}

func refusal(code string) (status int, answer any) {
	return http.StatusBadRequest, map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + code}
}

// describe describes an export, and writes its files once it is complete.
func (a *exportAPI) describe(n int) map[string]any {
	r := a.requests[n]
	d := map[string]any{
		"ExportArn": shopTable + "/export/" + a.id(n), "ExportStatus": "IN_PROGRESS", "ExportTime": r.ExportTime,
		"S3Bucket": r.S3Bucket, "S3Prefix": r.S3Prefix,
	}
	switch {
	case a.failure != "":
		d["ExportStatus"], d["FailureCode"], d["FailureMessage"] = "FAILED", a.failure, "refused"
	case a.complete:
		at := time.Unix(int64(r.ExportTime), 0).UTC().Format(time.RFC3339)
		items := func(text string) iter.Seq[[]byte] { return func(yield func([]byte) bool) { yield([]byte(text)) } }
		e := exportfile.Export{
			Table: shopTable, TableID: "t", Bucket: r.S3Bucket, ID: a.id(n), Time: at, End: at,
			Files: []iter.Seq[[]byte]{items(`{"PK":{"S":"a"}}`), items(`{"PK":{"S":"b"}}`)},
		}
		if !a.written[n] {
			if err := e.Write(a.bucket); err != nil {
				a.t.Error(err)
			}
			a.written[n] = true
		}
		d["ExportStatus"], d["ItemCount"], d["BilledSizeBytes"] = "COMPLETED", 2, 100
		d["ExportManifest"] = "AWSDynamoDB/" + a.id(n) + "/manifest-summary.json"
	}
	return d
}

func (a *exportAPI) serveS3(w http.ResponseWriter, q *http.Request) {
	key := strings.TrimPrefix(q.URL.Path, "/b/")
	if !q.URL.Query().Has("list-type") {
		b, err := os.ReadFile(filepath.Join(a.bucket, filepath.FromSlash(key)))
		if err != nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		http.ServeContent(w, q, key, time.Time{}, bytes.NewReader(b))
		return
	}
	type content struct {
		Key  string
		Size int64
	}
	type listed struct {
		XMLName        xml.Name `xml:"ListBucketResult"`
		Contents       []content
		CommonPrefixes []struct{ Prefix string }
	}
	prefix, answer := q.URL.Query().Get("prefix"), listed{}
	entries, _ := os.ReadDir(filepath.Join(a.bucket, filepath.FromSlash(prefix)))
	for _, e := range entries {
		if e.IsDir() {
			answer.CommonPrefixes = append(answer.CommonPrefixes, struct{ Prefix string }{prefix + e.Name() + "/"})
			continue
		}
		info, err := e.Info()
		if err != nil {
			a.t.Error(err)
			continue
		}
		answer.Contents = append(answer.Contents, content{prefix + e.Name(), info.Size()})
	}
	if err := xml.NewEncoder(w).Encode(answer); err != nil {
		a.t.Error(err)
	}
}

// exportWorld has an exportAPI, and the stored state of a pipeline.
type exportWorld struct {
	*exportAPI
	url  string
	kept state.Store
}

func newExportWorld(t *testing.T) *exportWorld {
	t.Helper()
	a := newExportAPI(t)
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	stores, err := local.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stores.Close(); err != nil {
			t.Error(err)
		}
	})
	kept, err := stores.State(t.Context(), shopConfig(t, false))
	if err != nil {
		t.Fatal(err)
	}
	return &exportWorld{exportAPI: a, url: server.URL, kept: kept}
}

// process returns a process of `backfill --start-export --bucket b` that fills the sink users. change may be nil.
func (w *exportWorld) process(stderr io.Writer, change func(*options)) *job {
	w.t.Helper()
	o := &options{Flags: target.Flags{Live: true}, clockSkew: time.Second}
	c := &cobra.Command{}
	o.Input.Add(c)
	o.addSource(c)
	if err := c.ParseFlags([]string{"--start-export", "--bucket", "b", "--stream-arn", shopStream}); err != nil {
		w.t.Fatal(err)
	}
	if change != nil {
		change(o)
	}
	floor := time.Now().UTC().Truncate(time.Second).Add(-time.Minute)
	j := &job{o: o, streams: cli.Streams{Err: stderr}, cfg: shopConfig(w.t, false), stateStore: w.kept, selection: &selection{
		births: []state.Birth{{Sink: "users", Stage: state.Filling, Run: "run", Floor: floor}}, runID: "run",
	}}
	j.aws = aws.Config{
		Region: "eu-west-1", BaseEndpoint: &w.url, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}
	for b, err := range w.kept.Backfills(w.t.Context()) {
		if err != nil {
			w.t.Fatal(err)
		}
		j.selection.stored = b
	}
	return j
}
