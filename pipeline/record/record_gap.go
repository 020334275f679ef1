package record

import "time"

// Gap is a range of a shard's records that were lost before a consumer read them.
type Gap struct {
	StreamARN string
	Shard     string // "" for the records between this stream and the stream that was read before it
	After     string // sequence number before the first lost record; not lost itself; "" for the shard's start
	Before    string // sequence number after the last lost record; not lost itself; "" while it is unknown

	Whole bool // all records of the shard after After are lost

	// UnknownExtent means that it is unknown whether any record was lost:
	//   - The shard is gone and was not read to its end.
	//   - The parent of the shard is gone and was not read to its end.
	//   - Nothing of the shard was read, it is older than the stream's retention, and the stream rejects its first
	//     sequence number.
	//   - The table had no stream between two streams that were read.
	UnknownExtent bool

	From, To time.Time // creation times of the records before and after the gap; zero if unknown
	Found    time.Time // time of the detection; if it is zero, the store sets it
}

// Span returns the minimum duration of the gap, or 0 if the duration is unknown. Creation times are whole seconds, so
// the difference of two creation times may be one second too large. Span subtracts this second.
func (g Gap) Span() time.Duration {
	if g.From.IsZero() || g.To.IsZero() {
		return 0
	}
	return max(g.To.Sub(g.From)-time.Second, 0)
}
