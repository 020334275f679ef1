package model_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/test/model"
)

// One pass, however it is cut into pages and partitions, leaves what the model says.
func TestOnePass(t *testing.T) {
	check(t, func(t *rapid.T, p product, s model.Stream) {
		l := p.run(s.Records, rapid.IntRange(1, 20).Draw(t, "page"), rapid.IntRange(1, 3).Draw(t, "partitions"))
		p.counted(l, s.Records)
		p.want("one pass", s.Records)
	})
}

// Shuffled across keys, the order within each kept, the end is the same, whichever of the
// items that share a row came first; and all that comes again says which of them wait.
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

// Items that meet in a row whose names were to identify them: one has it, and the change of each other one is a dead letter.
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

// Suffixes that come again, within a run and by later processes, change nothing.
func TestReplayed(t *testing.T) {
	check(t, func(t *rapid.T, p product, s model.Stream) {
		p.run(stutter(t, s.Records), rapid.IntRange(1, 20).Draw(t, "page"), rapid.IntRange(1, 3).Draw(t, "partitions"))
		for range rapid.IntRange(1, 2).Draw(t, "replays") {
			p.run(stutter(t, suffix(t, s.Records)), rapid.IntRange(1, 20).Draw(t, "page"), rapid.IntRange(1, 3).Draw(t, "partitions"))
		}
		p.want("replays of suffixes", s.Records)
	})
}

// Processes that end anywhere, and begin anywhere before, reach the same end.
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

// A start in mid-stream, and a lost range, leave the result of the records that arrived; and that of the whole stream
// if it comes again afterwards.
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

// shuffle draws an order that differs across keys and is the same within each.
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

// suffix draws where a replay begins.
func suffix(t *rapid.T, records []sinktest.Record) []sinktest.Record {
	return records[rapid.IntRange(0, len(records)-1).Draw(t, "from"):]
}

// stutter draws a delivery that jumps back now and then.
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
