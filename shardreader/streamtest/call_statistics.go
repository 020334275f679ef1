package streamtest

import "time"

// operation holds the statistics and faults of one operation.
type operation struct {
	calls  int
	peak   int
	recent []int64 // times of the calls of the last second, Unix nanoseconds
	faults []Fault
}

// Calls returns the number of calls of an operation so far, including failed calls.
func (s *Server) Calls(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.operation(op).calls
}

// Peak returns the largest number of calls of an operation in any one second, including failed calls. The service's
// quotas limit this number.
func (s *Server) Peak(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.operation(op).peak
}

// MostReaders returns the largest number of readers ([Server.As]) that called GetRecords of one shard in any one
// second, and the id of that shard.
func (s *Server) MostReaders() (n int, shardID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.maxReaders, s.maxReadersShard
}

// operation returns the entry of an operation. The caller holds the lock, here and below.
func (s *Server) operation(op string) *operation {
	o := s.operations[op]
	if o == nil {
		o = &operation{}
		s.operations[op] = o
	}
	return o
}

// count counts a call at a time, in Unix nanoseconds.
func (o *operation) count(at int64) {
	o.calls++
	expired := 0
	for expired < len(o.recent) && o.recent[expired] <= at-int64(time.Second) {
		expired++
	}
	o.recent = append(o.recent[expired:], at)
	o.peak = max(o.peak, len(o.recent))
}

// begin counts a call, and returns its fault.
func (s *Server) begin(c Call) Fault {
	c.Time = s.options.Now()
	o := s.operation(c.Op)
	o.count(c.Time.UnixNano())
	c.N = o.calls
	readers := s.countReaders(c)
	switch {
	case len(o.faults) > 0:
		f := o.faults[0]
		o.faults = o.faults[1:]
		return f
	case c.Op == "DescribeStream" && s.options.DescribePerSecond > 0 && len(o.recent) > s.options.DescribePerSecond:
		return Fault{Code: "LimitExceededException"}
	case s.options.ShardReaders > 0 && readers > s.options.ShardReaders:
		return Fault{Code: "ThrottlingException"}
	case s.chooseFault != nil:
		return s.chooseFault(c)
	}
	return Fault{}
}

// countReaders returns the number of readers of the call's shard in the last second, including the reader of c.
func (s *Server) countReaders(c Call) (readers int) {
	if c.Op != "GetRecords" || c.Reader == "" {
		return 0
	}
	st := s.byARN[c.Stream]
	if st == nil || st.byID[c.Shard] == nil {
		return 0
	}
	sh := st.byID[c.Shard]
	if sh.lastReads == nil {
		sh.lastReads = make(map[string]time.Time)
	}
	sh.lastReads[c.Reader] = c.Time
	for name, last := range sh.lastReads {
		if c.Time.Sub(last) >= time.Second {
			delete(sh.lastReads, name)
		}
	}
	if len(sh.lastReads) > s.maxReaders {
		s.maxReaders, s.maxReadersShard = len(sh.lastReads), sh.id
	}
	return len(sh.lastReads)
}
