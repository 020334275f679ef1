package replay

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// shape returns records in a form in which they are saved: files by name.
type shape func(rng *rand.Rand, lines [][]byte) map[string][]byte

// streamShapes are shapes that keep the ARN of the stream in each record.
var streamShapes = map[string]shape{
	"lines": one("s.jsonl", func(_ *rand.Rand, lines [][]byte) []byte { return joined(lines) }),
	"lines without a last line feed, with a byte order mark": one("s.jsonl", func(_ *rand.Rand, lines [][]byte) []byte {
		return append([]byte("\ufeff"), bytes.TrimSpace(joined(lines))...)
	}),
	"CRLF and empty lines": one("s.jsonl", func(rng *rand.Rand, lines [][]byte) []byte {
		var b []byte
		for _, line := range lines {
			b = append(append(b, line...), pick(rng, "\r\n", "\r\n\r\n", "\n \t \n")...)
		}
		return b
	}),
	"compact array": one("s.json", func(_ *rand.Rand, lines [][]byte) []byte { return array(lines, ",") }),
	"array with a record a line": one("s.json", func(_ *rand.Rand, lines [][]byte) []byte {
		return array(lines, ",\n")
	}),
	"array with leading commas": one("s.json", func(_ *rand.Rand, lines [][]byte) []byte {
		return array(lines, "\n,")
	}),
	"pretty array": one("s.json", func(_ *rand.Rand, lines [][]byte) []byte { return pretty(array(lines, ",")) }),
	"pretty records": one("s.json", func(_ *rand.Rand, lines [][]byte) []byte {
		var b []byte
		for _, line := range lines {
			b = append(append(b, pretty(line)...), '\n')
		}
		return b
	}),
	"records one behind the other": one("s.json", func(_ *rand.Rand, lines [][]byte) []byte { return bytes.Join(lines, nil) }),
	"events in files":              eventFiles(func(b []byte) []byte { return b }),
	"pretty events in files":       eventFiles(pretty),
	"events on lines": one("s.jsonl", func(rng *rand.Rand, lines [][]byte) []byte {
		return joined(events(rng, lines))
	}),
	"one event of all":        one("s.json", func(_ *rand.Rand, lines [][]byte) []byte { return event(lines) }),
	"one pretty event of all": one("s.json", func(_ *rand.Rand, lines [][]byte) []byte { return pretty(event(lines)) }),
	"array of events": one("s.json", func(rng *rand.Rand, lines [][]byte) []byte {
		return array(events(rng, lines), ",")
	}),
	"gzip of several members": one("s.jsonl.gz", func(rng *rand.Rand, lines [][]byte) []byte {
		cut := rng.IntN(len(lines))
		return append(gzipped(joined(lines[:cut])), gzipped(joined(lines[cut:]))...)
	}),
	"zstd without its suffix": one("records", func(_ *rand.Rand, lines [][]byte) []byte { return zstandard(joined(lines)) }),
	"gzip of a pretty event":  one("s.gz", func(_ *rand.Rand, lines [][]byte) []byte { return gzipped(pretty(event(lines))) }),
}

func TestShapes(t *testing.T) {
	t.Parallel()
	all := maps.Clone(streamShapes)
	all["a mix in a folder"] = mix
	for name, shape := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := random(t)
			lines := newWorld(rng, plainKeys(12)).changes(250)
			dir, out := t.TempDir(), t.TempDir()
			for name, body := range shape(rng, lines) {
				write(t, filepath.Join(dir, name), body)
			}
			l, _ := replayed(t, 0, everything, out, dir)
			if l.Ledger.Source.Read != int64(len(lines)) {
				t.Errorf("read %d records, want %d", l.Ledger.Source.Read, len(lines))
			}
			check(t, everything, out, understood(t, lines))
		})
	}
}

// Standard input takes the same forms as a file.
func TestStandardInput(t *testing.T) {
	t.Parallel()
	rng := random(t)
	lines := newWorld(rng, plainKeys(12)).changes(250)
	cs := understood(t, lines)
	for _, body := range [][]byte{joined(lines), gzipped(joined(lines)), zstandard(array(lines, ",\n")), pretty(event(lines))} {
		out := t.TempDir()
		replayedFrom(t, bytes.NewReader(body), 0, everything, out, "-")
		check(t, everything, out, cs)
	}
}

// Records as the AWS CLI prints them do not name a stream, and have their own spelling of identity and time. With
// --stream-arn they are replayed like the records of the stream.
func TestCommandLineAnswers(t *testing.T) {
	t.Parallel()
	rng := random(t)
	w := newWorld(rng, plainKeys(12))
	lines := w.changes(250)
	dir, out := t.TempDir(), t.TempDir()
	var bare []byte
	for i, from := 0, 0; from < len(lines); i++ {
		to := min(len(lines), from+1+rng.IntN(60))
		bare = fmt.Appendf(nil, `{"Records":%s,"NextShardIterator":"arn|1|AAAA=="}`, array(answers(t, lines[from:to]), ","))
		write(t, filepath.Join(dir, fmt.Sprintf("%03d.json", i)), pretty(bare))
		from = to
	}
	replayed(t, 0, everything, out, "--stream-arn", w.arn, dir)
	check(t, everything, out, understood(t, lines))
}

// answers returns records in the form of the Streams API.
func answers(t *testing.T, lines [][]byte) [][]byte {
	t.Helper()
	var out [][]byte
	for _, line := range lines {
		var r map[string]any
		decode(t, line, &r)
		delete(r, "eventSourceARN")
		if id, ok := r["userIdentity"].(map[string]any); ok {
			r["userIdentity"] = map[string]any{"Type": id["type"], "PrincipalId": id["principalId"]}
		}
		s := r["dynamodb"].(map[string]any)
		s["ApproximateCreationDateTime"] = "2025-11-24T16:00:00+01:00"
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// An archive can be replayed like the stream that it came from.
func TestArchiveReplays(t *testing.T) {
	t.Parallel()
	first, second, third := t.TempDir(), t.TempDir(), t.TempDir()
	replayed(t, 0, shop, first, fixture+"stream.jsonl")
	replayed(t, 0, shop, second, filepath.Join(first, "archive", "shop-archive", "changes"))
	cs := understood(t, shopStream(t))
	check(t, shop, second, cs)
	lines := query(t, first, "archive", "shop-archive", "--prefix", "changes/")
	replayed(t, 0, shop, third, saved(t, "queried.jsonl", joined(lines)))
	check(t, shop, third, cs)
}

func one(name string, body func(*rand.Rand, [][]byte) []byte) shape {
	return func(rng *rand.Rand, lines [][]byte) map[string][]byte {
		return map[string][]byte{name: body(rng, lines)}
	}
}

func eventFiles(body func([]byte) []byte) shape {
	return func(rng *rand.Rand, lines [][]byte) map[string][]byte {
		files := make(map[string][]byte)
		for i, event := range events(rng, lines) {
			files[fmt.Sprintf("event-%04d.json", i)] = body(event)
		}
		return files
	}
}

// mix saves each part of the stream in a random shape.
func mix(rng *rand.Rand, lines [][]byte) map[string][]byte {
	names := slices.Sorted(maps.Keys(streamShapes))
	files := make(map[string][]byte)
	for i := 0; len(lines) > 0; i++ {
		n := min(len(lines), 1+rng.IntN(40))
		for name, body := range streamShapes[pick(rng, names...)](rng, lines[:n]) {
			files[fmt.Sprintf("%04d/%s", i, name)] = body
		}
		lines = lines[n:]
	}
	return files
}

// events returns Lambda events of up to 100 records.
func events(rng *rand.Rand, lines [][]byte) [][]byte {
	var out [][]byte
	for from := 0; from < len(lines); {
		to := min(len(lines), from+1+rng.IntN(100))
		out = append(out, event(lines[from:to]))
		from = to
	}
	return out
}

func event(lines [][]byte) []byte { return fmt.Appendf(nil, `{"Records":%s}`, array(lines, ",")) }

func array(lines [][]byte, between string) []byte {
	return fmt.Appendf(nil, "[%s]", bytes.Join(lines, []byte(between)))
}

func pretty(doc []byte) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, doc, "", "    "); err != nil {
		panic(err)
	}
	return append(b.Bytes(), '\n')
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

func zstandard(b []byte) []byte {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return z.EncodeAll(b, nil)
}
