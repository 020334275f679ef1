package streamtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// Fault is one call that goes wrong. The zero value is a call that does not.
type Fault struct {
	Code   string              // the answer is this error: ThrottlingException, ...
	Status int                 // HTTP status of that error. Default: 500 for InternalServerError, 503 for ServiceUnavailable, else 400
	Err    error               // there is no answer, the connection fails
	Body   func([]byte) []byte // the answer's body is changed on its way
	Cut    error               // reading the body ends with this error behind what Body leaves
	Delay  time.Duration       // the answer, or its failure, comes this much later; what it says is of the time of the call
}

// Call is a call that came in.
type Call struct {
	Op            string // ListStreams, DescribeStream, GetShardIterator, GetRecords
	N             int    // of that operation, from 1 on
	Reader        string // who calls, see Server.As; "" where nobody says
	Stream, Shard string // what is asked for: the stream's ARN, the shard's id; "" where it says nothing of it
	Time          time.Time
}

// Fail makes the next calls of an operation (GetRecords, ...) go wrong, one a fault.
func (s *Server) Fail(op string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.operation(op)
	o.faults = append(o.faults, faults...)
}

// FailWhen has a function choose the fault of every call that [Server.Fail] left
// none for; nil ends that. Calls come one at a time. It must not call the server.
func (s *Server) FailWhen(choose func(Call) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = choose
}

// Sometimes is a function for [Server.FailWhen]: each call goes wrong with that
// probability, by one of the faults. The same seed hits the same calls, by operation
// and number, whatever the order in which different operations are called.
func Sometimes(seed uint64, probability float64, faults ...Fault) func(Call) Fault {
	return func(c Call) Fault {
		r := rand.New(rand.NewPCG(seed^hash(c.Op), uint64(c.N)))
		if len(faults) == 0 || r.Float64() >= probability {
			return Fault{}
		}
		return faults[r.IntN(len(faults))]
	}
}

// Faults are the usual faults by their names, which are: throttled, limited,
// throughput, internal, unavailable, expired, trimmed, lost, denied, reset, cut, empty,
// object, garbage, trailing, halferror, and slow, which takes a second.
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
		"cut":         {Body: half, Cut: ErrReset},
		"empty":       {Body: func([]byte) []byte { return nil }},
		"object":      {Body: func([]byte) []byte { return []byte("{}") }},
		"garbage":     {Body: func([]byte) []byte { return []byte("<html>hello</html>") }},
		"trailing":    {Body: func(b []byte) []byte { return append(slices.Clone(b), '}') }},
		"halferror":   {Code: "ThrottlingException", Body: half, Cut: ErrReset},
		"slow":        {Delay: time.Second},
	}
}

func half(b []byte) []byte { return b[:len(b)/2] }

// ErrReset is a connection that breaks, for [Fault.Err] and [Fault.Cut].
var ErrReset = fmt.Errorf("read: %w", errors.New("connection reset by peer"))

// errBroken is an answer that arrived, and that nobody can read.
var errBroken = errors.New("the answer was broken on its way")

// failure is the error answer that a fault asks for, if it does.
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

// change is the body as it arrives.
func (f Fault) change(b body) body {
	if f.Body == nil {
		return b
	}
	return body{f.Body(b.bytes())}
}
