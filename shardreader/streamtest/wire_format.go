package streamtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"testing/iotest"

	"github.com/tablewake/tablewake/shardreader"
)

// request has the members of all requests. JSON matches their names case-insensitively.
type request struct {
	TableName, ExclusiveStartStreamArn string
	StreamArn, ExclusiveStartShardID   string
	ShardFilter                        *struct{ ShardID, Type string }
	ShardID, SequenceNumber            string
	ShardIteratorType                  shardreader.IteratorType
	Timestamp                          float64 // Unix seconds, with a precision of 1 ms
	ShardIterator                      string
	Limit                              *int

	iterator iterator // parsed ShardIterator
}

// parseRequest parses the body of a request. Stream and shard of GetRecords are those of its iterator.
func parseRequest(op string, in []byte) (r request, f *failure) {
	if err := json.Unmarshal(in, &r); err != nil {
		return r, &failure{code: "SerializationException",
			message: "the request is not JSON that belongs to this operation"}
	}
	if op == "GetRecords" {
		r.iterator, f = parseIterator(r.ShardIterator)
		r.StreamArn, r.ShardID = r.iterator.stream, r.iterator.shard
	}
	return r, f
}

// limit returns the request's limit, but at most serverLimit. bound is the highest limit that the service accepts.
func (r request) limit(serverLimit, bound int) (int, *failure) {
	switch {
	case r.Limit == nil:
		return serverLimit, nil
	case *r.Limit < 1 || *r.Limit > bound:
		return 0, invalid("One or more parameter values were invalid: Limit must be between 1 and %d", bound)
	}
	return min(serverLimit, *r.Limit), nil
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

func wireIterator(it string) map[string]any { return map[string]any{"ShardIterator": it} }

func wireFailure(f *failure) map[string]any {
	space := "com.amazonaws.dynamodb.v20120810#"
	if f.code == "ValidationException" {
		space = "com.amazon.coral.validate#"
	}
	return map[string]any{"__type": space + f.code, "message": f.message}
}

// wireKeys returns the KeySchema of a table.
func wireKeys(keys []string) []map[string]string {
	schema := []map[string]string{}
	for i, name := range keys {
		schema = append(schema, map[string]string{"AttributeName": name, "KeyType": []string{"HASH", "RANGE"}[min(i, 1)]})
	}
	return schema
}

func wireDescription(d shardreader.StreamDescription, keys []string) map[string]any {
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
		"StreamViewType": d.ViewType.String(), "CreationRequestDateTime": float64(d.Created.UnixMilli()) / 1000,
		"Shards": shards, "KeySchema": wireKeys(keys),
	}
	if d.After != "" {
		desc["LastEvaluatedShardId"] = d.After
	}
	return map[string]any{"StreamDescription": desc}
}

func wireShards(d shardreader.StreamDescription) map[string]any { return wireDescription(d, nil) }

// body is an HTTP body in parts. The parts are not copied.
type body [][]byte

func bodyOf(v any) body {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot happen: v has only texts and numbers
	}
	return body{b}
}

func (b body) size() int {
	n := 0
	for _, part := range b {
		n += len(part)
	}
	return n
}

// bytes returns the body with its parts joined.
func (b body) bytes() []byte { return bytes.Join(b, nil) }

// reader returns a reader of the body. After the last byte it returns err, or io.EOF if err is nil.
func (b body) reader(err error) io.ReadCloser {
	parts := net.Buffers(b)
	if err == nil {
		return io.NopCloser(&parts)
	}
	return io.NopCloser(io.MultiReader(&parts, iotest.ErrReader(err)))
}

// quote appends a text as a JSON string.
func quote(dst []byte, text string) []byte {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // cannot happen: text is a string
	}
	return append(dst, b...)
}
