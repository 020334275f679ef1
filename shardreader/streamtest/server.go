package streamtest

import (
	"fmt"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

// Options shape a server.
type Options struct {
	Decoder      pipeline.DecoderOptions // of the pages that GetRecords returns
	PageRecords  int                     // records a page. Default: 1000
	PageShards   int                     // shards and streams a page. Default: 100
	EmptyPages   int                     // pages that come empty before each page with records. Default: 0
	IteratorLife time.Duration           // Default: 15m
}

// Server is a Streams API in memory. It is safe for concurrent use.
type Server struct {
	o       Options
	mu      sync.Mutex // guards all below, and the streams
	streams []*Stream
	faults  map[string][]Fault
	calls   map[string]int
	records int // ever put, for sequence numbers
}

// New makes a server without streams.
func New(o Options) *Server {
	if o.PageRecords <= 0 {
		o.PageRecords = 1000
	}
	if o.PageShards <= 0 {
		o.PageShards = 100
	}
	if o.IteratorLife <= 0 {
		o.IteratorLife = 15 * time.Minute
	}
	return &Server{o: o, faults: make(map[string][]Fault), calls: make(map[string]int)}
}

// Fault is one call that goes wrong.
type Fault struct {
	Code   string              // the answer is this error: ThrottlingException, ...
	Status int                 // HTTP status of that error. Default: 500 for InternalServerError, else 400
	Err    error               // there is no answer, the connection fails
	Body   func([]byte) []byte // the answer's body is changed on its way
	Cut    error               // reading the body ends with this error behind what Body leaves
}

// Fail makes the next calls of an operation (GetRecords, ...) go wrong, one a fault.
func (s *Server) Fail(op string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[op] = append(s.faults[op], faults...)
}

// Calls counts the calls of an operation so far, failed ones too.
func (s *Server) Calls(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

// begin counts a call and takes its fault, if one waits. The lock is held.
func (s *Server) begin(op string) Fault {
	s.calls[op]++
	waiting := s.faults[op]
	if len(waiting) == 0 {
		return Fault{}
	}
	s.faults[op] = waiting[1:]
	return waiting[0]
}

// AddStream enables a stream, with one open shard, on a table. A stream added
// later is newer.
func (s *Server) AddStream(table string) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	enabled := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(len(s.streams)) * time.Hour)
	label := enabled.Format("2006-01-02T15:04:05.000")
	st := &Stream{
		server:  s,
		status:  shardreader.Enabled,
		enabled: enabled,
		ref: shardreader.StreamRef{
			ARN:   fmt.Sprintf("arn:aws:dynamodb:eu-central-1:123456789012:table/%s/stream/%s", table, label),
			Table: table,
			Label: label,
		},
	}
	s.streams = append(s.streams, st)
	st.addShard("")
	return st
}

// failure is an error answer.
type failure struct {
	code, message string
	status        int
}

func (f *failure) Error() string { return f.code + ": " + f.message }

func notFound(format string, args ...any) *failure {
	return &failure{code: "ResourceNotFoundException", message: fmt.Sprintf(format, args...), status: 400}
}

func (s *Server) stream(arn string) (*Stream, *failure) {
	for _, st := range s.streams {
		if st.ref.ARN == arn {
			return st, nil
		}
	}
	return nil, notFound("Requested resource not found: Stream: %s not found", arn)
}
