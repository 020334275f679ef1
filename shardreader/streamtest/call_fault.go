package streamtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// Fault makes one call fail or return a changed answer. The zero Fault changes nothing.
type Fault struct {
	Code string // error code of the answer, such as ThrottlingException
	// Status is the HTTP status of the error. Default: 500 for InternalServerError, 503 for ServiceUnavailable, else
	// 400
	Status int
	Err    error               // the connection fails with this error
	Body   func([]byte) []byte // changes the body of the answer
	Cut    error               // reading the body fails with this error, after the bytes that Body returns
	Delay  time.Duration       // delay of the answer or error. The call is executed before the delay
}

// Call describes a call of the server.
type Call struct {
	Op            string // ListStreams, DescribeStream, GetShardIterator, GetRecords
	N             int    // number of the call of this operation, from 1
	Reader        string // name of the reader, see Server.As; may be ""
	Stream, Shard string // stream ARN and shard id of the request; may be ""
	Time          time.Time
}

// Fail adds faults to the next calls of an operation (GetRecords, ...), one per call.
func (s *Server) Fail(op string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.operation(op)
	o.faults = append(o.faults, faults...)
}

// FailWhen sets a function that chooses the fault of each call that has no fault of [Server.Fail]. nil removes the
// function. The server calls choose for one call at a time. choose must not call the server.
func (s *Server) FailWhen(choose func(Call) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chooseFault = choose
}

// Sometimes returns a function for [Server.FailWhen]. Each call gets one of the faults with this probability. The fault
// depends only on the seed, the operation and the number of the call, so the order of different operations does not
// matter.
func Sometimes(seed uint64, probability float64, faults ...Fault) func(Call) Fault {
	return func(c Call) Fault {
		r := rand.New(rand.NewPCG(seed^hash(c.Op), uint64(c.N)))
		if len(faults) == 0 || r.Float64() >= probability {
			return Fault{}
		}
		return faults[r.IntN(len(faults))]
	}
}

// Faults returns the usual faults by name.
func Faults() map[string]Fault {
	return map[string]Fault{
		"throttled":   {Code: "ThrottlingException"},
		"limited":     {Code: "LimitExceededException"},
		"throughput":  {Code: "ProvisionedThroughputExceededException"},
		"internal":    {Code: "InternalServerError"},
		"unavailable": {Code: "ServiceUnavailable"},
		"expired":     {Code: "ExpiredIteratorException"},
		"trimmed":     {Code: "TrimmedDataAccessException"},
		"lost":        {Code: "ResourceNotFoundException"},
		"denied":      {Code: "AccessDeniedException"},
		"reset":       {Err: ErrReset},
		"cut":         {Body: firstHalf, Cut: ErrReset},
		"empty":       {Body: func([]byte) []byte { return nil }},
		"object":      {Body: func([]byte) []byte { return []byte("{}") }},
		"garbage":     {Body: func([]byte) []byte { return []byte("<html>hello</html>") }},
		"trailing":    {Body: func(b []byte) []byte { return append(slices.Clone(b), '}') }},
		"halferror":   {Code: "ThrottlingException", Body: firstHalf, Cut: ErrReset},
		"slow":        {Delay: time.Second},
	}
}

func firstHalf(b []byte) []byte { return b[:len(b)/2] }

// ErrReset is the error of a broken connection, for [Fault.Err] and [Fault.Cut].
var ErrReset = fmt.Errorf("read: %w", errors.New("connection reset by peer"))

// errBroken is the error of an unreadable answer.
var errBroken = errors.New("the answer was broken on its way")

// failure returns the error answer of the fault; nil if it has no Code.
func (f Fault) failure() *failure {
	if f.Code == "" {
		return nil
	}
	status := f.Status
	switch {
	case status != 0:
	case f.Code == "InternalServerError":
		status = http.StatusInternalServerError
	case f.Code == "ServiceUnavailable":
		status = http.StatusServiceUnavailable
	}
	return &failure{code: f.Code, message: "injected", status: status}
}

// change returns the body after the change of the fault.
func (f Fault) change(b body) body {
	if f.Body == nil {
		return b
	}
	return body{f.Body(b.bytes())}
}
