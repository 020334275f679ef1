package streamtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/shardreader"
)

var (
	_ http.RoundTripper = (*Server)(nil)
	_ http.Handler      = (*Server)(nil)
)

// RoundTrip answers a request of the AWS SDK in process.
func (s *Server) RoundTrip(req *http.Request) (*http.Response, error) {
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
	status, body, fault := s.answer(req.Header.Get("X-Amz-Target"), in)
	if fault.Err != nil {
		return nil, fault.Err
	}
	resp := &http.Response{
		Status:        strconv.Itoa(status) + " " + http.StatusText(status),
		StatusCode:    status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Requestid": {"TEST"}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       req,
	}
	if fault.Cut != nil {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{fault.Cut}))
		resp.ContentLength = -1
	}
	return resp, nil
}

// ServeHTTP answers a request over a socket; a connection that is to fail is closed.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	in, err := io.ReadAll(req.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	status, body, fault := s.answer(req.Header.Get("X-Amz-Target"), in)
	if fault.Err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if fault.Cut != nil {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	}
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil || fault.Cut != nil {
		panic(http.ErrAbortHandler)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// failure is the error answer that a fault asks for, if it does.
func (f Fault) failure() *failure {
	if f.Code == "" {
		return nil
	}
	status := f.Status
	if status == 0 {
		status = http.StatusBadRequest
		if f.Code == "InternalServerError" {
			status = http.StatusInternalServerError
		}
	}
	return &failure{code: f.Code, message: "injected", status: status}
}

// answer is the status and body of one call.
func (s *Server) answer(target string, in []byte) (int, []byte, Fault) {
	op := strings.TrimPrefix(target, "DynamoDBStreams_20120810.")
	s.mu.Lock()
	defer s.mu.Unlock()
	fault := s.begin(op)
	body, f := []byte(nil), fault.failure()
	if f == nil {
		body, f = s.dispatch(op, in)
	}
	if f != nil {
		b, err := json.Marshal(map[string]string{"__type": "com.amazonaws.dynamodb.v20120810#" + f.code, "message": f.message})
		if err != nil {
			panic(err) // strings
		}
		return f.status, b, fault
	}
	if fault.Body != nil {
		body = fault.Body(body)
	}
	return http.StatusOK, body, fault
}

// request holds the members of all requests; their names are matched without case.
type request struct {
	TableName, ExclusiveStartStreamArn string
	StreamArn, ExclusiveStartShardID   string
	ShardFilter                        struct{ ShardID string }
	ShardID, SequenceNumber            string
	ShardIteratorType                  shardreader.IteratorType
	ShardIterator                      string
	Limit                              int
}

func (s *Server) dispatch(op string, in []byte) ([]byte, *failure) {
	var r request
	if err := json.Unmarshal(in, &r); err != nil {
		return nil, &failure{code: "SerializationException", message: err.Error(), status: http.StatusBadRequest}
	}
	var out any
	var f *failure
	switch op {
	case "ListStreams":
		out = wireStreams(s.listStreams(r.TableName, r.ExclusiveStartStreamArn))
	case "DescribeStream":
		var d shardreader.StreamDescription
		d, f = s.describeStream(shardreader.DescribeQuery{StreamARN: r.StreamArn, After: r.ExclusiveStartShardID, ChildrenOf: r.ShardFilter.ShardID})
		out = wireDescription(d)
	case "GetShardIterator":
		var it string
		it, f = s.getShardIterator(shardreader.ShardPosition{StreamARN: r.StreamArn, Shard: r.ShardID, Type: r.ShardIteratorType, Sequence: r.SequenceNumber})
		out = map[string]string{"ShardIterator": it}
	case "GetRecords":
		return s.getRecords(shardreader.RecordsQuery{Iterator: r.ShardIterator, Limit: r.Limit})
	default:
		f = &failure{code: "UnknownOperationException", message: op, status: http.StatusBadRequest}
	}
	if f != nil {
		return nil, f
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, &failure{code: "InternalServerError", message: err.Error(), status: http.StatusInternalServerError}
	}
	return b, nil
}

func wireStreams(p shardreader.StreamPage) map[string]any {
	streams := []map[string]string{}
	for _, st := range p.Streams {
		streams = append(streams, map[string]string{"StreamArn": st.ARN, "TableName": st.Table, "StreamLabel": st.Label})
	}
	out := map[string]any{"Streams": streams}
	if p.After != "" {
		out["LastEvaluatedStreamArn"] = p.After
	}
	return out
}

func wireDescription(d shardreader.StreamDescription) map[string]any {
	shards := []map[string]any{}
	for _, sh := range d.Shards {
		r := map[string]string{"StartingSequenceNumber": sh.First}
		if sh.Last != "" {
			r["EndingSequenceNumber"] = sh.Last
		}
		shard := map[string]any{"ShardId": sh.ID, "SequenceNumberRange": r}
		if sh.Parent != "" {
			shard["ParentShardId"] = sh.Parent
		}
		shards = append(shards, shard)
	}
	desc := map[string]any{
		"StreamArn": d.ARN, "TableName": d.Table, "StreamLabel": d.Label, "StreamStatus": d.Status,
		"StreamViewType": d.ViewType.String(), "CreationRequestDateTime": d.Created.Unix(), "Shards": shards,
	}
	if d.After != "" {
		desc["LastEvaluatedShardId"] = d.After
	}
	return map[string]any{"StreamDescription": desc}
}

// ErrReset is a connection that breaks, for [Fault.Err] and [Fault.Cut].
var ErrReset = fmt.Errorf("read: %w", errors.New("connection reset by peer"))
