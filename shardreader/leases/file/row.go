package file

import (
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

type leaseRow struct {
	Shard      string     `json:"shard"`
	Checkpoint string     `json:"checkpoint"`
	Sub        int64      `json:"sub,omitempty"`
	Owner      string     `json:"owner,omitempty"`
	Counter    int64      `json:"counter"`
	Stream     string     `json:"stream,omitempty"`
	Parents    []string   `json:"parents,omitempty"`
	Children   []string   `json:"children,omitempty"`
	Switches   int64      `json:"switches,omitempty"`
	First      string     `json:"first,omitempty"`
	From       *time.Time `json:"from,omitempty"`
	Time       *time.Time `json:"time,omitempty"`
	Wanted     string     `json:"wanted,omitempty"`
	Pinned     string     `json:"pinned,omitempty"`
	Stopped    string     `json:"stopped,omitempty"`
	Load       float64    `json:"load,omitempty"`
	Opaque     string     `json:"opaque,omitempty"`
}

type memberRow struct {
	Worker  string                `json:"worker"`
	Name    string                `json:"name,omitempty"`
	Beat    int64                 `json:"beat"`
	Leaving bool                  `json:"leaving,omitempty"`
	Leases  int                   `json:"leases"`
	Load    float64               `json:"load"`
	Calls   float64               `json:"calls"`
	Pending int64                 `json:"pending"`
	AtEnd   int64                 `json:"at_end,omitempty"`
	Behind  map[string]*time.Time `json:"behind,omitempty"` // null: nothing was read
	Stopped map[string]string     `json:"stopped,omitempty"`
	Failing map[string]failureRow `json:"failing,omitempty"`
}

type failureRow struct {
	Since time.Time `json:"since"`
	Class string    `json:"class"`
}

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
}

func rowOf(l leases.Lease) leaseRow {
	return leaseRow{
		Shard: l.Shard, Checkpoint: l.Checkpoint.String(), Sub: l.Checkpoint.Sub, Owner: l.Owner, Counter: l.Counter, Stream: l.Stream,
		Parents: l.Parents, Children: l.Children, Switches: l.Switches, First: l.First, From: moment(l.From), Time: moment(l.Time),
		Wanted: l.Wanted, Pinned: l.Pinned, Stopped: l.Stopped, Load: l.Load, Opaque: l.Opaque,
	}
}

func (r leaseRow) lease() (leases.Lease, error) {
	if r.Shard == "" {
		return leases.Lease{}, errs.New("a lease has no shard")
	}
	c, err := leases.ParseCheckpoint(r.Checkpoint)
	if err != nil {
		return leases.Lease{}, fmt.Errorf("the lease of %s: %w", r.Shard, err)
	}
	c.Sub = r.Sub
	return leases.Lease{
		Shard: r.Shard, Checkpoint: c, Owner: r.Owner, Counter: r.Counter, Stream: r.Stream,
		Parents: r.Parents, Children: r.Children, Switches: r.Switches, First: r.First, From: at(r.From), Time: at(r.Time),
		Wanted: r.Wanted, Pinned: r.Pinned, Stopped: r.Stopped, Load: r.Load, Opaque: r.Opaque,
	}, nil
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func at(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func gapRowOf(g pipeline.Gap) gapRow {
	return gapRow{
		Stream: g.StreamARN, Shard: g.Shard, After: g.After, Before: g.Before, Whole: g.Whole, UnknownExtent: g.UnknownExtent,
		From: seconds(g.From), To: seconds(g.To), Found: seconds(g.Found),
	}
}

func (r gapRow) gap() pipeline.Gap {
	return pipeline.Gap{
		StreamARN: r.Stream, Shard: r.Shard, After: r.After, Before: r.Before, Whole: r.Whole, UnknownExtent: r.UnknownExtent,
		From: timeOf(r.From), To: timeOf(r.To), Found: timeOf(r.Found),
	}
}

// seconds is a time in Unix seconds, 0 for the zero time.
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

func memberOf(m leases.Member) memberRow {
	r := memberRow{
		Worker: m.Worker, Name: m.Name, Beat: m.Beat, Leaving: m.Leaving, Leases: m.Leases,
		Load: m.Load, Calls: m.Calls, Pending: m.Pending, AtEnd: m.AtEnd, Stopped: m.Stopped,
	}
	if len(m.Behind) > 0 {
		r.Behind = make(map[string]*time.Time, len(m.Behind))
	}
	for shard, t := range m.Behind {
		r.Behind[shard] = moment(t)
	}
	if len(m.Failing) > 0 {
		r.Failing = make(map[string]failureRow, len(m.Failing))
	}
	for shard, f := range m.Failing {
		r.Failing[shard] = failureRow(f)
	}
	return r
}

func (r memberRow) member() leases.Member {
	m := leases.Member{
		Worker: r.Worker, Name: r.Name, Beat: r.Beat, Leaving: r.Leaving, Leases: r.Leases,
		Load: r.Load, Calls: r.Calls, Pending: r.Pending, AtEnd: r.AtEnd, Stopped: r.Stopped,
	}
	if len(r.Behind) > 0 {
		m.Behind = make(map[string]time.Time, len(r.Behind))
	}
	for shard, t := range r.Behind {
		m.Behind[shard] = at(t)
	}
	if len(r.Failing) > 0 {
		m.Failing = make(map[string]leases.ReadFailure, len(r.Failing))
	}
	for shard, f := range r.Failing {
		m.Failing[shard] = leases.ReadFailure(f)
	}
	return m
}
