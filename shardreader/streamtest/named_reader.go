package streamtest

import (
	"context"
	"net/http"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
)

// Reader makes the calls of one named reader.
type Reader struct {
	server *Server
	name   string
}

var (
	_ shardreader.API   = (*Reader)(nil)
	_ http.RoundTripper = (*Reader)(nil)
)

// As returns a reader of this name. Over HTTP the name is the access key of the request's signature.
func (s *Server) As(name string) *Reader { return &Reader{server: s, name: name} }

// RoundTrip answers a request of the AWS SDK without a connection.
func (r *Reader) RoundTrip(req *http.Request) (*http.Response, error) {
	return r.server.roundTrip(req, r.name)
}

// ListStreams implements [shardreader.API].
func (r *Reader) ListStreams(ctx context.Context, table, after string) (shardreader.StreamPage, error) {
	c := describedCall{Call{Op: "ListStreams", Reader: r.name}, "of table " + table}
	return call(ctx, r.server, c, wireStreams, func() (shardreader.StreamPage, *failure) {
		return r.server.listStreams(table, after, r.server.options.PageShards)
	})
}

// DescribeStream implements [shardreader.API].
func (r *Reader) DescribeStream(
	ctx context.Context, q shardreader.DescribeQuery,
) (shardreader.StreamDescription, error) {
	c := describedCall{Call{Op: "DescribeStream", Reader: r.name, Stream: q.StreamARN, Shard: q.ChildrenOf}, q.StreamARN}
	return call(ctx, r.server, c, wireShards, func() (shardreader.StreamDescription, *failure) {
		return r.server.describeStream(q, r.server.options.PageShards)
	})
}

// GetShardIterator implements [shardreader.API].
func (r *Reader) GetShardIterator(ctx context.Context, at shardreader.ShardPosition) (string, error) {
	c := describedCall{Call{Op: "GetShardIterator", Reader: r.name, Stream: at.StreamARN, Shard: at.Shard},
		"shard " + at.Shard}
	return call(ctx, r.server, c, wireIterator, func() (string, *failure) {
		return r.server.getShardIterator(at)
	})
}

// GetRecords implements [shardreader.API].
func (r *Reader) GetRecords(ctx context.Context, q shardreader.RecordsQuery) (record.GetRecordsPage, error) {
	s := r.server
	it, parseFailure := parseIterator(q.Iterator)
	c := describedCall{Call{Op: "GetRecords", Reader: r.name, Stream: it.stream, Shard: it.shard}, "shard " + q.Shard}
	b, fault, err := execute(ctx, s, c, func() (body, *failure) {
		if parseFailure != nil {
			return nil, parseFailure
		}
		limit := s.options.PageRecords
		if q.Limit > 0 {
			limit = min(limit, q.Limit)
		}
		return s.getRecords(it, limit)
	})
	if err != nil {
		return record.GetRecordsPage{}, err
	}
	if fault.Cut != nil {
		return record.GetRecordsPage{}, c.errorOf(pipeline.Transient(fault.Cut))
	}
	answer, err := s.decoder.ForShard(q.StreamARN, q.Shard).DecodeGetRecords(fault.change(b).bytes())
	if err != nil {
		answer.NextIterator, answer.Ended = "", false
		return answer, c.errorOf(pipeline.Transient(err))
	}
	return answer, nil
}
