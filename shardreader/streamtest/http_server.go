package streamtest

import (
	"cmp"
	"context"
	"io"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/shardreader"
)

var (
	_ http.RoundTripper = (*Server)(nil)
	_ http.Handler      = (*Server)(nil)
)

func (s *Server) roundTrip(req *http.Request, name string) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	var in []byte
	if req.Body != nil {
		var err error
		if in, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close()
	}
	status, b, fault := s.answer(req, name, in)
	if err := s.delay(req.Context(), fault.Delay); err != nil {
		return nil, err
	}
	if fault.Err != nil {
		return nil, fault.Err
	}
	b = fault.change(b)
	resp := &http.Response{
		Status:        strconv.Itoa(status) + " " + http.StatusText(status),
		StatusCode:    status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Requestid": {"TEST"}},
		Body:          b.reader(fault.Cut),
		ContentLength: int64(b.size()),
		Request:       req,
	}
	if fault.Cut != nil {
		resp.ContentLength = -1
	}
	return resp, nil
}

// ServeHTTP implements [http.Handler]. If the fault of a call has Err, ServeHTTP closes the connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	resp, err := s.roundTrip(req, accessKey(req))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	maps.Copy(w.Header(), resp.Header)
	if resp.ContentLength >= 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
	}
	w.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(w, resp.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// accessKey returns the access key of the request's signature; "" if there is none.
func accessKey(req *http.Request) string {
	_, credential, _ := strings.Cut(req.Header.Get("Authorization"), "Credential=")
	key, _, _ := strings.Cut(credential, "/")
	return key
}

// delay waits for d, unless d is 0.
func (s *Server) delay(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	return s.options.Sleep(ctx, d)
}

// answer executes a request. It returns the status, the body and the fault of the call.
func (s *Server) answer(req *http.Request, name string, in []byte) (status int, b body, fault Fault) {
	op := strings.TrimPrefix(req.Header.Get("X-Amz-Target"), "DynamoDBStreams_20120810.")
	r, parseFailure := parseRequest(op, in)
	c := Call{Op: op, Reader: name, Stream: r.StreamArn, Shard: r.ShardID}
	encode, fault, f := executeLocked(s, c, func() (func() body, *failure) {
		if parseFailure != nil {
			return nil, parseFailure
		}
		return s.run(c.Op, r)
	})
	switch {
	case f != nil:
		return cmp.Or(f.status, http.StatusBadRequest), bodyOf(wireFailure(f)), fault
	case encode != nil:
		b = encode()
	}
	return http.StatusOK, b, fault
}

// run executes an operation. encode returns the body of the answer, and is called without the lock.
func (s *Server) run(op string, r request) (encode func() body, f *failure) {
	serverLimit, bound := s.options.PageShards, 100
	if op == "GetRecords" {
		serverLimit, bound = s.options.PageRecords, 1000
	}
	limit, f := r.limit(serverLimit, bound)
	if f != nil {
		return nil, f
	}
	switch op {
	case "ListStreams":
		page, f := s.listStreams(r.TableName, r.ExclusiveStartStreamArn, limit)
		return func() body { return bodyOf(wireStreams(page)) }, f
	case "DescribeStream":
		q := shardreader.DescribeQuery{StreamARN: r.StreamArn, After: r.ExclusiveStartShardID}
		if r.ShardFilter != nil {
			q.ChildrenOf = r.ShardFilter.ShardID
		}
		d, f := s.describeStream(q, limit)
		keys := s.keysOf(d.Table)
		return func() body { return bodyOf(wireDescription(d, keys)) }, f
	case "GetShardIterator":
		at := shardreader.ShardPosition{StreamARN: r.StreamArn, Shard: r.ShardID, Type: r.ShardIteratorType,
			Sequence: r.SequenceNumber}
		if r.Timestamp != 0 {
			at.Time = time.UnixMilli(int64(math.Round(r.Timestamp * 1000)))
		}
		it, f := s.getShardIterator(at)
		return func() body { return bodyOf(wireIterator(it)) }, f
	case "GetRecords":
		b, f := s.getRecords(r.iterator, limit)
		return func() body { return b }, f
	}
	return nil, &failure{code: "UnknownOperationException", message: op}
}
