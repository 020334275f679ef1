package sdk

import (
	"bytes"
	"compress/gzip"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const (
	streamARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.000"
	first     = `{"awsRegion":"eu-central-1","eventID":"1","eventName":"INSERT","eventSource":"aws:dynamodb","eventVersion":"1.1","dynamodb":{"ApproximateCreationDateTime":1767322800,"Keys":{"PK":{"S":"a"}},"NewImage":{"PK":{"S":"a"}},"SequenceNumber":"100000000000000000001","SizeBytes":6,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`
)

var second = strings.NewReplacer(`"1"`, `"2"`, `000001"`, `000002"`).Replace(first)

// roundTripper answers requests in process.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answers is a transport that gives one answer after the other, repeats the last one for ever, and notes the requests'
// bodies.
type answers struct {
	give     []answer
	requests []string
}

type answer struct {
	status int // Default: 200
	body   string
	err    error         // instead of an answer
	cut    error         // behind the body
	header http.Header   // Default: none
	hang   bool          // until the request's context is done
	closed chan struct{} // closed with the body, where set
}

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	in, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	a.requests = append(a.requests, string(in))
	give := a.give[min(len(a.requests), len(a.give))-1]
	switch {
	case give.hang:
		<-req.Context().Done()
		return nil, req.Context().Err()
	case give.err != nil:
		return nil, give.err
	}
	resp := &http.Response{StatusCode: give.status, Header: give.header, Request: req, ContentLength: -1}
	if resp.StatusCode == 0 {
		resp.StatusCode = 200
	}
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	var body io.Reader = strings.NewReader(give.body)
	if give.cut != nil {
		body = io.MultiReader(body, broken{give.cut})
	}
	resp.Body = closer{body, give.closed}
	return resp, nil
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

type closer struct {
	io.Reader
	closed chan struct{}
}

func (c closer) Close() error {
	if c.closed != nil {
		close(c.closed)
	}
	return nil
}

func streams(rt http.RoundTripper) *Streams {
	client := dynamodbstreams.New(dynamodbstreams.Options{
		Region:      "eu-central-1",
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient:  &http.Client{Transport: rt},
	})
	return New(client, record.DecoderOptions{})
}

func query() shardreader.RecordsQuery {
	return shardreader.RecordsQuery{Iterator: "it-1", StreamARN: streamARN, Shard: "shard-1"}
}

func sequences(p *record.Page) string {
	var s []string
	for _, c := range p.Changes {
		s = append(s, c.Sequence[len(c.Sequence)-1:])
	}
	return strings.Join(s, " ")
}

func TestGetRecords_Answers(t *testing.T) {
	tests := []struct {
		name, body string
		want       string // sequence numbers' last digits
		next       string
		ended      bool
	}{
		{"records and the next iterator", `{"Records":[` + first + `,` + second + `],"NextShardIterator":"it-2"}`, "1 2", "it-2", false},
		{"members the other way round", `{"NextShardIterator":"it-2","Records":[` + first + `]}`, "1", "it-2", false},
		{"an empty page", `{"Records":[],"NextShardIterator":"it-2"}`, "", "it-2", false},
		{"members that are not known", `{"MillisBehindLatest":5,"Records":[],"NextShardIterator":"it-2"}`, "", "it-2", false},
		{"the end: no iterator", `{"Records":[]}`, "", "", true},
		{"the end: a null iterator", `{"Records":[],"NextShardIterator":null}`, "", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rt := &answers{give: []answer{{body: tt.body}}}
			got, err := streams(rt).GetRecords(t.Context(), query())
			if err != nil {
				t.Fatal(err)
			}
			if s := sequences(got.Page); s != tt.want || got.NextIterator != tt.next || got.Ended != tt.ended {
				t.Errorf("records %q, next %q, ended %v; want %q, %q, %v", s, got.NextIterator, got.Ended, tt.want, tt.next, tt.ended)
			}
			if want := []string{`{"ShardIterator":"it-1"}`}; !cmp.Equal(rt.requests, want) {
				t.Errorf("requests %q, want %q", rt.requests, want)
			}
		})
	}
}

// Fact 4: GetRecords may return records together with a nil NextShardIterator:
// process them, then the shard ends.
func TestFact4_RecordsWithTheEnd(t *testing.T) {
	for _, end := range []string{"", `,"NextShardIterator":null`} {
		got, err := streams(&answers{give: []answer{{body: `{"Records":[` + first + `]` + end + `}`}}}).GetRecords(t.Context(), query())
		if err != nil || sequences(got.Page) != "1" || !got.Ended || got.NextIterator != "" {
			t.Errorf("%q: %+v, %v; want record 1 and the end", end, got, err)
		}
	}
}

func TestGetRecords_ChangesKnowWhereTheyCameFrom(t *testing.T) {
	rt := &answers{give: []answer{{body: `{"Records":[` + first + `],"NextShardIterator":"it-2"}`}}}
	q := query()
	q.Limit = 5000
	got, err := streams(rt).GetRecords(t.Context(), q)
	if err != nil || len(got.Page.Changes) != 1 {
		t.Fatal(got, err)
	}
	c := got.Page.Changes[0]
	if c.StreamARN != streamARN || c.Shard != "shard-1" || c.Op != record.Insert || string(c.Raw) != first {
		t.Errorf("change %+v", c)
	}
	if want := `{"Limit":1000,"ShardIterator":"it-1"}`; rt.requests[0] != want {
		t.Errorf("request %s, want %s", rt.requests[0], want)
	}
}

func TestGetRecords_ClosesTheBody(t *testing.T) {
	for _, body := range []string{`{"Records":[]}`, `{`} {
		synctest.Test(t, func(t *testing.T) {
			closed := make(chan struct{})
			rt := &answers{give: []answer{{body: body, closed: closed}, {body: `{"Records":[]}`}}}
			if _, err := streams(rt).GetRecords(t.Context(), query()); err != nil {
				t.Fatal(err)
			}
			select {
			case <-closed:
			default:
				t.Errorf("the body %q was left open", body)
			}
		})
	}
}

// A right checksum passes.
func TestGetRecords_Checksum(t *testing.T) {
	body := `{"Records":[` + first + `]}`
	sum := strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(body))), 10)
	got, err := streams(&answers{give: []answer{{body: body, header: http.Header{"X-Amz-Crc32": {sum}}}}}).GetRecords(t.Context(), query())
	if err != nil || sequences(got.Page) != "1" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Over a socket net/http unzips what is announced as zipped.
func TestGetRecords_ZippedAnswer(t *testing.T) {
	body := zipped(`{"Records":[` + first + `],"NextShardIterator":"it-2"}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(body))), 10))
		io.WriteString(w, body)
	}))
	defer server.Close()
	client := dynamodbstreams.New(dynamodbstreams.Options{
		Region:       "eu-central-1",
		Credentials:  credentials.NewStaticCredentialsProvider("id", "secret", ""),
		BaseEndpoint: aws.String(server.URL),
		HTTPClient:   server.Client(),
	})
	got, err := New(client, record.DecoderOptions{}).GetRecords(t.Context(), query())
	if err != nil || sequences(got.Page) != "1" || got.NextIterator != "it-2" {
		t.Errorf("%+v, %v", got, err)
	}
}

func zipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, s)
	if err := errors.Join(err, z.Close()); err != nil {
		panic(err) // into memory
	}
	return b.String()
}

// A request's body stays readable after the client has returned: net/http may
// still be writing it then.
func TestRequestBodyOutlivesTheCall(t *testing.T) {
	var body io.ReadCloser
	rt := roundTripper(func(req *http.Request) (*http.Response, error) {
		body = req.Body
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: req, Body: io.NopCloser(strings.NewReader(`{"Records":[]}`))}, nil
	})
	if _, err := streams(rt).GetRecords(t.Context(), query()); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body)
	if err != nil || string(got) != `{"ShardIterator":"it-1"}` {
		t.Errorf("read %q, %v", got, err)
	}
}

// The other operations, and the pages of each, against the in-memory service.
func TestStreams_AgainstTheFake(t *testing.T) {
	server := streamtest.New(streamtest.Options{PageShards: 2, PageRecords: 2})
	old, st := server.AddStream("shop"), server.AddStream("shop")
	server.AddStream("other")
	root := st.Shards()[0]
	want := st.Put(root, streamtest.Record{Keys: `{"PK":{"S":"a"}}`, New: `{"PK":{"S":"a"}}`}, streamtest.Record{Keys: `{"PK":{"S":"b"}}`, New: `{"PK":{"S":"b"}}`}, streamtest.Record{Keys: `{"PK":{"S":"c"}}`, New: `{"PK":{"S":"c"}}`})
	children := st.Split(root, 2)
	api := streams(server)

	ref, err := shardreader.FindStream(t.Context(), api, "shop")
	if err != nil || ref.ARN != st.ARN() || ref.ARN == old.ARN() {
		t.Fatalf("the newest stream is %+v, %v; want %s", ref, err, st.ARN())
	}
	desc, err := shardreader.ListShards(t.Context(), api, ref.ARN)
	if err != nil {
		t.Fatal(err)
	}
	if len(desc.Shards) != 3 || desc.Status != shardreader.Enabled || desc.ViewType != record.NewAndOldImages || desc.Table != "shop" || desc.Created.IsZero() {
		t.Errorf("description %+v", desc)
	}
	if server.Calls("DescribeStream") != 2 {
		t.Errorf("%d calls of DescribeStream, want one a page", server.Calls("DescribeStream"))
	}
	if s := desc.Shards[0]; s.Open() || s.Parent != "" || s.Last != want[2] {
		t.Errorf("the parent is %+v", s)
	}
	below, err := api.DescribeStream(t.Context(), shardreader.DescribeQuery{StreamARN: ref.ARN, ChildrenOf: root})
	if err != nil || len(below.Shards) != 2 || below.Shards[0].ID != children[0] || below.Shards[0].Parent != root || !below.Shards[0].Open() {
		t.Errorf("the children are %+v, %v", below.Shards, err)
	}

	for _, tt := range []struct {
		at   shardreader.ShardPosition
		want []string
	}{
		{shardreader.ShardPosition{Type: shardreader.TrimHorizon}, want},
		{shardreader.ShardPosition{Type: shardreader.Latest}, nil},
		{shardreader.ShardPosition{Type: shardreader.AtSequence, Sequence: want[1]}, want[1:]},
		{shardreader.ShardPosition{Type: shardreader.AfterSequence, Sequence: want[1]}, want[2:]},
	} {
		tt.at.StreamARN, tt.at.Shard = ref.ARN, root
		it, err := api.GetShardIterator(t.Context(), tt.at)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for ended := false; !ended; {
			a, err := api.GetRecords(t.Context(), shardreader.RecordsQuery{Iterator: it, StreamARN: ref.ARN, Shard: root})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range a.Page.Changes {
				got = append(got, c.Sequence)
			}
			it, ended = a.NextIterator, a.Ended
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("from %s (-want +got):\n%s", tt.at.Type, diff)
		}
	}
}
