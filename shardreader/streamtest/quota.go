package streamtest

import "time"

// operation is what is known of one operation's calls.
type operation struct {
	calls  int
	peak   int
	recent []int64 // times of the calls in the second before the last one, Unix nanoseconds
	faults []Fault
}

// Calls counts the calls of an operation so far, failed ones too.
func (s *Server) Calls(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.operation(op).calls
}

// Peak is the most calls of an operation in any one second, failed ones too: what
// the service's quotas bound.
func (s *Server) Peak(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.operation(op).peak
}

// MostReaders is the most readers ([Server.As]) that called GetRecords of one shard in any
// one second, and that shard.
func (s *Server) MostReaders() (n int, shardID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most, s.where
}

// operation finds what is known of an operation. The lock is held, here and below.
func (s *Server) operation(op string) *operation {
	o := s.calls[op]
	if o == nil {
		o = &operation{}
		s.calls[op] = o
	}
	return o
}

// begin counts a call, and finds the fault that is to meet it.
func (s *Server) begin(c Call) Fault {
	c.Time = s.o.Now()
	o := s.operation(c.Op)
	o.calls++
	c.N = o.calls
	at, old := c.Time.UnixNano(), 0
	for old < len(o.recent) && o.recent[old] <= at-int64(time.Second) {
		old++
	}
	o.recent = append(o.recent[old:], at)
	o.peak = max(o.peak, len(o.recent))
	readers := s.read(c)
	switch {
	case len(o.faults) > 0:
		f := o.faults[0]
		o.faults = o.faults[1:]
		return f
	case c.Op == "DescribeStream" && s.o.DescribePerSecond > 0 && len(o.recent) > s.o.DescribePerSecond:
		return Fault{Code: "LimitExceededException"}
	case s.o.ShardReaders > 0 && readers > s.o.ShardReaders:
		return Fault{Code: "ThrottlingException"}
	case s.failing != nil:
		return s.failing(c)
	}
	return Fault{}
}

// read counts the readers of the call's shard.
func (s *Server) read(c Call) (readers int) {
	if c.Op != "GetRecords" || c.Reader == "" {
		return 0
	}
	st := s.byARN[c.Stream]
	if st == nil || st.byID[c.Shard] == nil {
		return 0
	}
	sh := st.byID[c.Shard]
	if sh.seen == nil {
		sh.seen = make(map[string]time.Time)
	}
	sh.seen[c.Reader] = c.Time
	for name, last := range sh.seen {
		if c.Time.Sub(last) >= time.Second {
			delete(sh.seen, name)
		}
	}
	if len(sh.seen) > s.most {
		s.most, s.where = len(sh.seen), sh.id
	}
	return len(sh.seen)
}
