package record

import "time"

// Gap is a range of a shard's records that were lost before they were read.
type Gap struct {
	StreamARN string
	Shard     string // "" for what was written between this stream and the one that was read before it
	After     string // sequence number below all lost ones, not lost itself; "" for the shard's start
	Before    string // sequence number above all lost ones, not lost itself; "" while it is unknown

	Whole bool // the rest of the shard is lost, not only its oldest part

	// UnknownExtent: nobody knows whether there was anything to lose. The shard is gone,
	// and it was not read to its end; or it is there, and its parent is gone and was
	// never read to its end; or nothing of it was read, it is older than what the stream
	// keeps, and the stream refuses the sequence number that it starts with; or the table had
	// no stream between two that were read.
	UnknownExtent bool

	From, To time.Time // creation times of the records beside the gap, zero where they are unknown
	Found    time.Time // when it was noted; zero: the store sets it
}

// Span returns how long the lost records were written for, at least; 0 where that is unknown. Creation times
// are cut to the second, so two of them are up to one second closer than they look.
func (g Gap) Span() time.Duration {
	if g.From.IsZero() || g.To.IsZero() {
		return 0
	}
	return max(g.To.Sub(g.From)-time.Second, 0)
}
