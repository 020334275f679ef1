package streamtest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
)

// Server is a Streams API in memory. It is safe for concurrent use.
type Server struct {
	unnamedReader // the API of the server itself, for callers without a reader's name
	options       Options
	decoder       *record.Decoder

	mu              sync.Mutex // guards the fields below, and all streams and tables
	streams         []*Stream  // oldest first
	byARN           map[string]*Stream
	lastEnabled     map[string]time.Time // when the newest stream was enabled, by table
	tables          map[string]*Table
	lastSequence    sequence              // last sequence number that nextSequence returned
	scratch         []byte                // JSON of the record that is being written
	shards          int                   // number of shards created so far, for their ids
	operations      map[string]*operation // by name
	chooseFault     func(Call) Fault      // function of FailWhen; may be nil
	maxReaders      int                   // the most readers that called GetRecords of one shard in one second
	maxReadersShard string                // the shard that had maxReaders
}

// unnamedReader is Reader, under a name that is not exported as a field of Server.
type unnamedReader = Reader

// New returns a server without streams.
func New(o Options) *Server {
	s := &Server{
		options:      o.withDefaults(),
		decoder:      record.NewDecoder(o.Decoder),
		byARN:        make(map[string]*Stream),
		lastEnabled:  make(map[string]time.Time),
		tables:       make(map[string]*Table),
		operations:   make(map[string]*operation),
		lastSequence: firstSequence,
	}
	s.server = s
	return s
}

// StreamOptions configure a stream.
type StreamOptions struct {
	Shards int             // number of shards at the start. Default: 1
	View   record.ViewType // Default: NewAndOldImages
}

// AddStream enables a stream on a table. The stream has one open shard, and records with both images.
func (s *Server) AddStream(table string) *Stream { return s.Enable(table, StreamOptions{}) }

// Enable enables a stream on a table. The label is the present time, but at least one second after the label of the
// table's last stream. Enable does not disable the table's other streams. Call [Stream.Disable] first, because a real
// table has at most one enabled stream.
func (s *Server) Enable(table string, o StreamOptions) *Stream {
	if table == "" || strings.Trim(table, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" {
		panic(fmt.Sprintf("streamtest: %q cannot be a table's name", table))
	}
	if o.View == record.ViewUnknown {
		o.View = record.NewAndOldImages
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	enabledAt := s.options.Now().UTC().Truncate(time.Millisecond)
	if last, ok := s.lastEnabled[table]; ok && last.Add(time.Second).After(enabledAt) {
		enabledAt = last.Add(time.Second)
	}
	label := enabledAt.Format("2006-01-02T15:04:05.000")
	st := &Stream{
		server: s,
		ref: shardreader.StreamRef{
			ARN:   "arn:aws:dynamodb:eu-central-1:123456789012:table/" + table + "/stream/" + label,
			Table: table,
			Label: label,
		},
		status:    shardreader.Enabled,
		view:      o.View,
		enabledAt: enabledAt,
		byID:      make(map[string]*shard),
		children:  make(map[string][]*shard),
	}
	s.streams = append(s.streams, st)
	s.byARN[st.ref.ARN] = st
	s.lastEnabled[table] = enabledAt
	for _, r := range fullRange.split(max(o.Shards, 1)) {
		st.writable = append(st.writable, st.addShard("", r))
	}
	if t := s.tables[table]; t != nil {
		t.stream = st
	}
	return st
}

// Streams returns the listed streams, oldest first.
func (s *Server) Streams() []*Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropExpired()
	return slices.Clone(s.streams)
}

// stream returns the stream with an ARN. The caller holds the lock, here and below.
func (s *Server) stream(arn string) (*Stream, *failure) {
	st := s.byARN[arn]
	if st != nil && s.isExpired(st.disabledAt) {
		s.dropExpired()
		st = nil
	}
	if st == nil {
		return nil, notFound("Requested resource not found: Stream: %s not found", arn)
	}
	st.dropExpiredShards()
	return st, nil
}

// dropExpired removes streams that were disabled longer ago than the retention.
func (s *Server) dropExpired() {
	s.streams = slices.DeleteFunc(s.streams, func(st *Stream) bool {
		gone := s.isExpired(st.disabledAt)
		if gone {
			delete(s.byARN, st.ref.ARN)
		}
		return gone
	})
}

// isExpired reports whether a shard or a stream ended longer ago than the retention. ended is the time of its end, or
// zero if it did not end.
func (s *Server) isExpired(ended time.Time) bool {
	return !ended.IsZero() && s.options.Now().Sub(ended) > s.options.Retention
}

// nextSequence returns a new sequence number.
func (s *Server) nextSequence() sequence {
	s.lastSequence += sequenceStep
	return s.lastSequence
}

// failure is an error answer.
type failure struct {
	code, message string
	status        int // Default: 400
}

func (f *failure) Error() string { return f.code + ": " + f.message }

func notFound(format string, args ...any) *failure {
	return &failure{code: "ResourceNotFoundException", message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *failure {
	return &failure{code: "ValidationException", message: fmt.Sprintf(format, args...)}
}

func trimmed(what string) *failure {
	return &failure{code: "TrimmedDataAccessException", message: what + " is older than the trim horizon"}
}
