package streamtest

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

var _ shardreader.API = (*Server)(nil)

// describedCall is a call with the subject for its errors.
type describedCall struct {
	Call
	subject string
}

func (c describedCall) errorOf(err error) *shardreader.Error {
	return &shardreader.Error{Op: c.Op, Subject: c.subject, Err: err}
}

// call runs an operation that returns T. A fault may break the answer. wire returns the JSON object that HTTP would
// send as the answer.
func call[T any](
	ctx context.Context, s *Server, c describedCall, wire func(T) map[string]any, do func() (T, *failure),
) (T, error) {
	var none T
	out, fault, err := execute(ctx, s, c, do)
	switch {
	case err != nil:
		return none, err
	case fault.Cut != nil:
		return none, c.errorOf(pipeline.Transient(fault.Cut))
	case fault.Body != nil:
		// A changed answer counts as broken, even if the SDK could read it.
		original := bodyOf(wire(out)).bytes()
		if changed := fault.Body(bytes.Clone(original)); !bytes.Equal(changed, original) {
			return none, c.errorOf(pipeline.Transient(errBroken))
		}
	}
	return out, nil
}

// kinds maps error codes to kinds of errors.
var kinds = map[string]error{
	"ExpiredIteratorException":   shardreader.ErrExpiredIterator,
	"TrimmedDataAccessException": shardreader.ErrTrimmed,
	"ResourceNotFoundException":  shardreader.ErrNotFound,
	"AccessDeniedException":      shardreader.ErrDenied,
}

// executeLocked runs an operation, unless a fault replaces it. It holds the server's lock meanwhile.
func executeLocked[T any](s *Server, c Call, do func() (T, *failure)) (out T, fault Fault, f *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault = s.begin(c)
	f = fault.failure()
	if f == nil && fault.Err == nil {
		out, f = do()
	}
	return out, fault, f
}

// execute runs an operation. A fault may replace the operation.
func execute[T any](
	ctx context.Context, s *Server, c describedCall, do func() (T, *failure),
) (out T, fault Fault, err error) {
	if ctx.Err() != nil {
		return out, fault, c.errorOf(context.Cause(ctx))
	}
	out, fault, f := executeLocked(s, c.Call, do)
	if err := s.delay(ctx, fault.Delay); err != nil {
		return out, fault, c.errorOf(err)
	}
	switch {
	case fault.Err != nil:
		return out, fault, c.errorOf(pipeline.Transient(fault.Err))
	case f == nil:
		return out, fault, nil
	}
	bodyIsBroken := fault.Cut != nil || fault.Body != nil && !json.Valid(fault.change(bodyOf(wireFailure(f))).bytes())
	if bodyIsBroken { // the error is unreadable
		return out, fault, c.errorOf(pipeline.Transient(errBroken))
	}
	e := c.errorOf(f)
	e.Kind = kinds[f.code]
	isPermanent := e.Kind != nil || f.code == "ValidationException" || f == errNoTimestamps // as in package sdk
	if !isPermanent {
		e.Err = pipeline.Transient(f)
	}
	return out, fault, e
}
