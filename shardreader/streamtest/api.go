package streamtest

import (
	"context"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

var _ shardreader.API = (*Server)(nil)

// ListStreams implements [shardreader.API].
func (s *Server) ListStreams(ctx context.Context, table, after string) (shardreader.StreamPage, error) {
	return call(ctx, s, "ListStreams", "of table "+table, func(Fault) (shardreader.StreamPage, *failure) {
		return s.listStreams(table, after), nil
	})
}

// DescribeStream implements [shardreader.API].
func (s *Server) DescribeStream(ctx context.Context, q shardreader.DescribeQuery) (shardreader.StreamDescription, error) {
	return call(ctx, s, "DescribeStream", q.StreamARN, func(Fault) (shardreader.StreamDescription, *failure) {
		return s.describeStream(q)
	})
}

// GetShardIterator implements [shardreader.API].
func (s *Server) GetShardIterator(ctx context.Context, at shardreader.ShardPosition) (string, error) {
	return call(ctx, s, "GetShardIterator", "shard "+at.Shard, func(Fault) (string, *failure) {
		return s.getShardIterator(at)
	})
}

// GetRecords implements [shardreader.API].
func (s *Server) GetRecords(ctx context.Context, q shardreader.RecordsQuery) (pipeline.Answer, error) {
	subject := "shard " + q.Shard
	var fault Fault
	body, err := call(ctx, s, "GetRecords", subject, func(f Fault) ([]byte, *failure) {
		fault = f
		return s.getRecords(q)
	})
	if err != nil {
		return pipeline.Answer{}, err
	}
	if fault.Body != nil {
		body = fault.Body(body)
	}
	if fault.Cut != nil {
		return pipeline.Answer{}, &shardreader.Error{Op: "GetRecords", Subject: subject, Err: pipeline.Transient(fault.Cut)}
	}
	o := s.o.Decoder
	o.StreamARN, o.Shard = q.StreamARN, q.Shard
	answer, err := pipeline.NewDecoder(o).DecodeAnswer(body)
	if err != nil {
		answer.NextIterator, answer.Ended = "", false
		return answer, &shardreader.Error{Op: "GetRecords", Subject: subject, Err: pipeline.Transient(err)}
	}
	return answer, nil
}

// call runs an operation, or the fault that waits for it.
func call[T any](ctx context.Context, s *Server, op, subject string, do func(Fault) (T, *failure)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none T
	fault := s.begin(op)
	if ctx.Err() != nil {
		return none, &shardreader.Error{Op: op, Subject: subject, Err: context.Cause(ctx)}
	}
	if fault.Err != nil {
		return none, &shardreader.Error{Op: op, Subject: subject, Err: pipeline.Transient(fault.Err)}
	}
	f := fault.failure()
	var out T
	if f == nil {
		out, f = do(fault)
	}
	if f == nil {
		return out, nil
	}
	e := &shardreader.Error{Op: op, Subject: subject, Err: f}
	switch f.code {
	case "ExpiredIteratorException":
		e.Kind = shardreader.ErrExpiredIterator
	case "TrimmedDataAccessException":
		e.Kind = shardreader.ErrTrimmed
	case "ResourceNotFoundException":
		e.Kind = shardreader.ErrNotFound
	case "AccessDeniedException":
		e.Kind = shardreader.ErrDenied
	case "ValidationException":
	default:
		e.Err = pipeline.Transient(f)
	}
	return none, e
}
