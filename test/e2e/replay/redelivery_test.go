package replay

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The result of the fixture is what the oracle says, and stays so when the fixture is replayed again.
func TestShop(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	lines := shopStream(t)
	cs := understood(t, lines)
	for range 2 {
		l, _ := replayed(t, 0, shop, out, "--notify", fixture+"stream.jsonl")
		check(t, shop, out, cs)
		if got, want := l.Ledger.Events["order_completed"], orders(cs); got != want || want == 0 {
			t.Errorf("%d orders were completed, want %d", got, want)
		}
		ids := make(map[string]bool)
		for _, line := range query(t, out, "events", "on_completed") {
			var event struct{ ID string }
			decode(t, line, &event)
			ids[event.ID] = true
		}
		if int64(len(ids)) != orders(cs) {
			t.Errorf("%d ids of events, want %d", len(ids), orders(cs))
		}
	}
}

// redeliveries has the forms that at-least-once delivery may give to a stream. In all but "a suffix first", the order
// of the first deliveries stays for each key.
var redeliveries = map[string]func(rng *rand.Rand, lines [][]byte) [][]byte{
	"as it is":             func(_ *rand.Rand, lines [][]byte) [][]byte { return lines },
	"twice":                func(_ *rand.Rand, lines [][]byte) [][]byte { return slices.Concat(lines, lines) },
	"shuffled across keys": shuffled,
	"keys one after the other": func(_ *rand.Rand, lines [][]byte) [][]byte {
		return slices.Concat(byKey(lines)...)
	},
	"doubled right behind": func(rng *rand.Rand, lines [][]byte) [][]byte {
		var out [][]byte
		for _, line := range lines {
			for range 1 + rng.IntN(3) {
				out = append(out, line)
			}
		}
		return out
	},
	"doubled much later": func(rng *rand.Rand, lines [][]byte) [][]byte {
		var out [][]byte
		for i, line := range lines {
			out = append(out, line)
			for range rng.IntN(3) {
				out = append(out, lines[rng.IntN(i+1)])
			}
		}
		return out
	},
	"suffixes again": func(rng *rand.Rand, lines [][]byte) [][]byte {
		out := slices.Clone(lines)
		for range 3 {
			out = append(out, lines[rng.IntN(len(lines)):]...)
		}
		return out
	},
	"a suffix first": func(rng *rand.Rand, lines [][]byte) [][]byte {
		return slices.Concat(lines[rng.IntN(len(lines)):], lines)
	},
	"a worker that lags": func(rng *rand.Rand, lines [][]byte) [][]byte {
		var out [][]byte
		behind := 0
		for _, line := range lines {
			out = append(out, line)
			if rng.IntN(2) == 0 {
				out = append(out, lines[behind])
				behind++
			}
		}
		return append(out, lines[behind:]...)
	},
}

func TestRedelivery(t *testing.T) {
	t.Parallel()
	for name, redeliver := range redeliveries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range []struct {
				p     pipelineFile
				lines [][]byte
			}{
				{shop, shopStream(t)},
				{everything, newWorld(random(t), plainKeys(12)).changes(300)},
			} {
				out := t.TempDir()
				replayed(t, 0, s.p, out, saved(t, "again.jsonl", joined(redeliver(random(t), s.lines))))
				check(t, s.p, out, understood(t, s.lines))
			}
		})
	}
}

// Overlapping pieces of a stream, cut at any line, are replayed by a process each. A last replay of the whole stream
// makes the result right.
func TestCutAndResumed(t *testing.T) {
	t.Parallel()
	rng := random(t)
	lines := shopStream(t)
	cs := understood(t, lines)
	out := t.TempDir()
	for range 3 {
		cut := 1 + rng.IntN(len(lines)-1)
		replayed(t, 0, shop, out, saved(t, "start.jsonl", joined(lines[:cut])))
	}
	from := rng.IntN(len(lines))
	replayed(t, 0, shop, out, saved(t, "end.jsonl", joined(lines[from:])))
	replayed(t, 0, shop, out, fixture+"stream.jsonl")
	check(t, shop, out, cs)
	if t.Failed() {
		t.Logf("the last start was at line %d", from+1)
	}
}

// A stream that is cut within a line loses only the record of that line, and the replay fails. A replay of the whole
// stream brings this record.
func TestCutWithinLine(t *testing.T) {
	t.Parallel()
	rng := random(t)
	lines := newWorld(rng, plainKeys(12)).changes(200)
	whole := joined(lines)
	for range 3 {
		out := t.TempDir()
		n := rng.IntN(len(lines))
		line := lines[n]
		start := len(joined(lines[:n]))
		cut := start + 1 + rng.IntN(len(line)-1)
		l, r := replayed(t, 4, everything, out, saved(t, "cut.jsonl", whole[:cut]))
		if l.Ledger.Source.Undecodable != 0 || l.Ledger.Source.Read != int64(n) {
			t.Errorf("cut at byte %d: %+v, want %d records", cut, l.Ledger.Source, n)
		}
		if where := fmt.Sprintf("cut.jsonl:%d (byte %d)", n+1, cut); !strings.Contains(r.stderr, where) ||
			!strings.Contains(r.stderr, "cut short") {
			t.Errorf("the error does not say that the file was cut at %s: %s", where, r.stderr)
		}
		check(t, everything, out, understood(t, lines[:n]))
		replayed(t, 0, everything, out, saved(t, "whole.jsonl", whole))
		check(t, everything, out, understood(t, lines))
	}
}

// Files of a folder are read in the order of their names.
func TestSplitIntoFiles(t *testing.T) {
	t.Parallel()
	rng := random(t)
	lines := shopStream(t)
	dir, out := t.TempDir(), t.TempDir()
	for i, from := 0, 0; from < len(lines); i++ {
		to := min(len(lines), from+rng.IntN(200))
		write(t, filepath.Join(dir, fmt.Sprintf("%03d", i/10), fmt.Sprintf("part-%04d.jsonl", i)), bytes.Join(lines[from:to], []byte("\n")))
		from = to
	}
	l, _ := replayed(t, 0, shop, out, dir)
	if l.Ledger.Source.Read != int64(len(lines)) {
		t.Errorf("read %d records, want %d", l.Ledger.Source.Read, len(lines))
	}
	check(t, shop, out, understood(t, lines))
}

// shuffled changes the order of lines, but keeps the order of the lines of each key.
func shuffled(rng *rand.Rand, lines [][]byte) [][]byte {
	queues := byKey(lines)
	var turns []int
	for i, q := range queues {
		turns = append(turns, slices.Repeat([]int{i}, len(q))...)
	}
	rng.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
	out := make([][]byte, 0, len(lines))
	for _, i := range turns {
		out = append(out, queues[i][0])
		queues[i] = queues[i][1:]
	}
	return out
}

// byKey returns the lines of each key. The keys are in the order of their first lines.
func byKey(lines [][]byte) [][][]byte {
	at := make(map[string]int)
	var queues [][][]byte
	for _, line := range lines {
		c, err := readChange(line)
		if err != nil {
			panic(err)
		}
		i, ok := at[c.key]
		if !ok {
			i = len(queues)
			at[c.key], queues = i, append(queues, nil)
		}
		queues[i] = append(queues[i], line)
	}
	return queues
}

// joined returns lines as the content of a file.
func joined(lines [][]byte) []byte {
	var b bytes.Buffer
	for _, line := range lines {
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.Bytes()
}
