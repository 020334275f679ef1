package file

import (
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks/state"
)

// leaseRow is the JSON of a lease.
type leaseRow struct {
	Shard      string `json:"shard"`
	Checkpoint string `json:"checkpoint"`
	Sub        int64  `json:"sub,omitempty"`
	leases.Lease
}

// memberRow is the JSON of a member. Behind has null instead of the zero time.
type memberRow struct {
	leases.Member
	Behind  map[string]*time.Time         `json:"behind,omitempty"`
	Stopped map[string]string             `json:"stopped,omitempty"`
	Failing map[string]leases.ReadFailure `json:"failing,omitempty"`
}

// gapRow is the JSON of a gap. Its times are in Unix seconds; 0 if unknown.
type gapRow struct {
	Stream        string `json:"stream"`
	Shard         string `json:"shard"`
	After         string `json:"after,omitempty"`
	Before        string `json:"before,omitempty"`
	Whole         bool   `json:"whole,omitempty"`
	UnknownExtent bool   `json:"unknown_extent,omitempty"`
	From          int64  `json:"from,omitempty"`
	To            int64  `json:"to,omitempty"`
	Found         int64  `json:"found,omitempty"`

	Repair state.GapRepair `json:"repair"`
}

func (r leaseRow) lease() (l leases.Lease, err error) {
	if r.Shard == "" {
		return l, errs.New("a lease has no shard")
	}
	l = r.Lease
	l.Shard = r.Shard
	l.Checkpoint, err = leases.ParseCheckpoint(r.Checkpoint)
	if err != nil {
		return l, fmt.Errorf("the lease of %s: %w", r.Shard, err)
	}
	l.Checkpoint.Sub = r.Sub
	return l, nil
}

func newGapRow(g state.NotedGap) gapRow {
	return gapRow{
		Stream: g.StreamARN, Shard: g.Shard, After: g.After, Before: g.Before, Whole: g.Whole, UnknownExtent: g.UnknownExtent,
		From: seconds(g.From), To: seconds(g.To), Found: seconds(g.Found),
		Repair: g.Repair,
	}
}

func (r gapRow) notedGap() state.NotedGap {
	return state.NotedGap{Repair: r.Repair, Gap: record.Gap{
		StreamARN: r.Stream, Shard: r.Shard, After: r.After, Before: r.Before, Whole: r.Whole, UnknownExtent: r.UnknownExtent,
		From: timeOf(r.From), To: timeOf(r.To), Found: timeOf(r.Found),
	}}
}

// seconds returns a time in Unix seconds; 0 for the zero time.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func timeOf(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

func newMemberRow(m leases.Member) memberRow {
	r := memberRow{m, make(map[string]*time.Time, len(m.Behind)), m.Stopped, m.Failing}
	for shard, t := range m.Behind {
		r.Behind[shard] = nil
		if !t.IsZero() {
			r.Behind[shard] = &t
		}
	}
	return r
}

func (r memberRow) member() leases.Member {
	m := r.Member
	m.Stopped, m.Failing = r.Stopped, r.Failing
	if len(r.Behind) > 0 {
		m.Behind = make(map[string]time.Time, len(r.Behind))
	}
	for shard, t := range r.Behind {
		m.Behind[shard] = time.Time{}
		if t != nil {
			m.Behind[shard] = *t
		}
	}
	return m
}
