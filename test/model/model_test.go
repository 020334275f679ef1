package model_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/test/model"
)

// The stores hold the result of the model after one pass, for any division into pages and partitions.
func TestOnePass(t *testing.T) {
	check(t, func(t *rapid.T, p product, s model.Stream) {
		l := p.run(s.Records, rapid.IntRange(1, 20).Draw(t, "page"), rapid.IntRange(1, 3).Draw(t, "partitions"))
		p.counted(l, s.Records)
		p.want("one pass", s.Records)
	})
}

// The records are shuffled across keys, in order within each key. The result is the same, whichever of the items that
// share a row came first. After every record is delivered again, the dead letters show which of the items wait.
func TestShuffled(t *testing.T) {
	check(t, func(t *rapid.T, p product, s model.Stream) {
		l := p.run(shuffle(t, s.Records), rapid.IntRange(1, 20).Draw(t, "page"), 1)
		p.counted(l, s.Records)
		p.want("a pass shuffled across keys", s.Records)
		p.run(shuffle(t, s.Records), rapid.IntRange(1, 20).Draw(t, "page again"), 1)
		p.want("another shuffled pass", s.Records)
		p.wantCollisions(s.Records)
	})
}

// Items can meet in a row although their names were declared to identify them. One item owns the row, and the change
// of every other item is a dead letter.
func TestUnique(t *testing.T) {
	t.Parallel()
	ctx, dir, contests := t.Context(), t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		p := newProduct(ctx, t, dir, model.UniqueConfigs().Draw(t, "configuration"))
		defer p.close()
		s := model.Streams(model.Schemas[0], 30).Draw(t, "stream")
		contests += len(p.cfg.Run(s.Records).Contested)
		l := p.run(shuffle(t, s.Records), rapid.IntRange(1, 20).Draw(t, "page"), 1)
		p.counted(l, s.Records)
		p.want("a pass of items that meet", s.Records)
		p.run(suffix(t, s.Records), rapid.IntRange(1, 20).Draw(t, "page again"), 1)
		p.want("a suffix that came again", s.Records)
	})
	if contests == 0 {
		t.Error("no items met: the test has seen nothing")
	}
}

// The result stays the same if suffixes of the stream are delivered again, in the same run and in later processes.
func TestReplayed(t *testing.T) {
	check(t, func(t *rapid.T, p product, s model.Stream) {
		p.run(stutter(t, s.Records), rapid.IntRange(1, 20).Draw(t, "page"), rapid.IntRange(1, 3).Draw(t, "partitions"))
		for range rapid.IntRange(1, 2).Draw(t, "replays") {
			p.run(stutter(t, suffix(t, s.Records)), rapid.IntRange(1, 20).Draw(t, "page"), rapid.IntRange(1, 3).Draw(t, "partitions"))
		}
		p.want("replays of suffixes", s.Records)
	})
}

// The result stays the same if processes end anywhere and the next ones begin anywhere before that point.
func TestRestarted(t *testing.T) {
	check(t, func(t *rapid.T, p product, s model.Stream) {
		from, arrived := 0, []sinktest.Record(nil)
		for range rapid.IntRange(1, 3).Draw(t, "stops") {
			to := rapid.IntRange(from, len(s.Records)).Draw(t, "to")
			p.run(s.Records[from:to], rapid.IntRange(1, 20).Draw(t, "page"), 1)
			arrived = append(arrived, s.Records[from:to]...)
			p.want("a process that ended early", arrived)
			from = rapid.IntRange(0, to).Draw(t, "from")
		}
		p.run(s.Records[from:], 10, rapid.IntRange(1, 3).Draw(t, "partitions"))
		p.want("restarts", append(arrived, s.Records[from:]...))
	})
}

// A start in the middle of the stream and a lost range give the result of the records that arrived. If the whole
// stream is delivered afterwards, it gives the result of the whole stream.
func TestLost(t *testing.T) {
	check(t, func(t *rapid.T, p product, s model.Stream) {
		from := rapid.IntRange(0, len(s.Records)).Draw(t, "from")
		to := rapid.IntRange(from, len(s.Records)).Draw(t, "to")
		arrived := slices.Concat(s.Records[:from], s.Records[to:])
		p.run(arrived, rapid.IntRange(1, 20).Draw(t, "page"), rapid.IntRange(1, 3).Draw(t, "partitions"))
		p.want("a range was lost", arrived)
		p.run(s.Records, 10, 1)
		p.want("the whole stream came behind it", append(arrived, s.Records...))
	})
}

// shuffle draws an order that differs across keys and keeps the order within each key.
func shuffle(t *rapid.T, records []sinktest.Record) []sinktest.Record {
	var order []string
	lanes := map[string][]sinktest.Record{}
	for _, r := range records {
		key := r.KeyText()
		if lanes[key] == nil {
			order = append(order, key)
		}
		lanes[key] = append(lanes[key], r)
	}
	var out []sinktest.Record
	for len(out) < len(records) {
		key := rapid.SampledFrom(order).Draw(t, "lane")
		if len(lanes[key]) > 0 {
			out, lanes[key] = append(out, lanes[key][0]), lanes[key][1:]
		}
	}
	return out
}

// suffix draws the point at which a replay begins, and returns the records from there.
func suffix(t *rapid.T, records []sinktest.Record) []sinktest.Record {
	return records[rapid.IntRange(0, len(records)-1).Draw(t, "from"):]
}

// stutter draws a delivery that jumps back sometimes.
func stutter(t *rapid.T, records []sinktest.Record) []sinktest.Record {
	var out []sinktest.Record
	jumps := 3
	for at := 0; at < len(records); {
		out = append(out, records[at])
		at++
		if jumps > 0 && rapid.IntRange(0, 4).Draw(t, "jump") == 0 {
			jumps--
			at = rapid.IntRange(0, at-1).Draw(t, "back to")
		}
	}
	return out
}
