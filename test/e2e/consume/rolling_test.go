package consume

import (
	"slices"
	"testing"
)

// In a deployment, one consumer after the other is stopped and started again while the table is written and its stream
// splits. No record is lost, and no record is read twice.
func TestRollingRestart(t *testing.T) {
	s := startStream(t, "-table", "shop", "-shards", "12")
	w := newWorld(t, "shop", s.endpoint, "")
	s.do(t, "POST", "/admin/write", map[string]any{"records": 600, "keys": 60, "rate": 40, "deletes": 0.1}, nil)
	s.do(t, "POST", "/admin/split", map[string]any{"every": "1s", "times": 10}, nil)

	var read int64
	fleet := []*process{w.start(t, "task-1", w.dynamo), w.start(t, "task-2", w.dynamo)}
	all := slices.Clone(fleet)
	for _, p := range fleet {
		p.reads(t)
	}
	for i, p := range fleet {
		read += p.stop(t).Records
		fleet[i] = w.start(t, p.name, w.dynamo)
		fleet[i].reads(t)
		all = append(all, fleet[i])
	}
	until(t, "all is written", func() bool { return s.stats(t).Running == 0 })
	w.converge(t, func() []item { return s.items(t) })
	w.healthy(t)
	for _, p := range fleet {
		read += p.stop(t).Records
	}
	st := s.stats(t)
	written := int64(st.Records)
	switch {
	case read < written:
		t.Errorf("%d records were read of %d that were written", read, written)
	case read > written && !slices.ContainsFunc(all, (*process).lapsed):
		t.Errorf("%d records were read, and %d were written: a stop that is asked for repeats nothing", read, written)
	}
	if st.Peak["DescribeStream"] > 10 {
		t.Errorf("%d DescribeStream calls in a second", st.Peak["DescribeStream"])
	}
	w.look(t, 6, "status") // no consumer reads any more
}
