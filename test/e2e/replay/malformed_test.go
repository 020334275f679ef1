package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

// bad is an unsound line with its place among the other lines.
type bad struct {
	what string
	line []byte
	at   int // line number, counted from 1
}

// spoiled puts a line of every damage at a random place among the sound lines. No sound line is lost. A line that does
// not begin like a record is put directly after a sound line, because after a broken line it would count as a part of
// the broken line.
func spoiled(t *testing.T, sound [][]byte, kinds map[string]func(map[string]any) []byte) (all [][]byte, bads []bad) {
	t.Helper()
	rng := random(t)
	behind := make(map[int][]bad)
	places := rng.Perm(len(sound) + 1) // places of lines that do not begin like a record
	for _, what := range slices.Sorted(maps.Keys(kinds)) {
		var r map[string]any
		decode(t, sound[rng.IntN(len(sound))], &r)
		line := bad{what: what, line: kinds[what](r)}
		if i := rng.IntN(len(sound) + 1); line.line[0] == '{' {
			behind[i] = append(behind[i], line)
		} else {
			behind[places[0]] = slices.Insert(behind[places[0]], 0, line)
			places = places[1:]
		}
	}
	for i := range len(sound) + 1 {
		for _, b := range behind[i] {
			all = append(all, b.line)
			b.at = len(all)
			bads = append(bads, b)
		}
		if i < len(sound) {
			all = append(all, sound[i])
		}
	}
	return all, bads
}

// Each damaged line is reported with its place and kept whole in a dead letter. No other record is lost.
func TestMalformedLines(t *testing.T) {
	t.Parallel()
	kinds := maps.Clone(damages)
	maps.Copy(kinds, brokenLines)
	sound := newWorld(random(t), plainKeys(12)).changes(250)
	all, bads := spoiled(t, sound, kinds)
	for _, end := range []string{"\n", "\r\n"} {
		out := t.TempDir()
		path := saved(t, "spoiled.jsonl", bytes.Join(all, []byte(end)))
		l, r := replayed(t, 4, everything, out, path)
		if l.Ledger.Source.Undecodable != int64(len(bads)) || l.Ledger.Source.Routed != int64(len(sound)) {
			t.Errorf("%+v, want %d undecodable and %d routed", l.Ledger.Source, len(bads), len(sound))
		}
		reported(t, r.stderr, path, bads)
		buried(t, out, bads)
		check(t, everything, out, understood(t, sound))
	}
}

// In an array or an event with sound brackets, a damaged record causes no loss of other records.
func TestMalformedRecords(t *testing.T) {
	t.Parallel()
	sound := newWorld(random(t), plainKeys(12)).changes(200)
	all, bads := spoiled(t, sound, damages)
	for name, body := range map[string][]byte{"array": array(all, ",\n"), "event": append([]byte("{\"Records\":"), append(array(all, "\n,"), '}')...)} {
		out := t.TempDir()
		path := saved(t, name+".json", body)
		l, r := replayed(t, 4, everything, out, path)
		if l.Ledger.Source.Undecodable != int64(len(bads)) || l.Ledger.Source.Routed != int64(len(sound)) {
			t.Errorf("%s: %+v, want %d undecodable and %d routed", name, l.Ledger.Source, len(bads), len(sound))
		}
		reported(t, r.stderr, path, bads)
		buried(t, out, bads)
		check(t, everything, out, understood(t, sound))
	}
}

// reported checks that standard error has one line for each bad line, and none for other lines.
func reported(t *testing.T, stderr, path string, bads []bad) {
	t.Helper()
	at := make(map[int]int)
	for _, m := range regexp.MustCompile(`(?m)^undecodable: `+regexp.QuoteMeta(path)+`:(\d+) \(byte \d+.*\): \S.*$`).FindAllStringSubmatch(stderr, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		at[n]++
	}
	for _, b := range bads {
		if at[b.at] != 1 {
			t.Errorf("%s, in line %d, is reported %d times: %.200s", b.what, b.at, at[b.at], b.line)
		}
		delete(at, b.at)
	}
	if len(at) > 0 {
		t.Errorf("sound lines are reported: %v\n%s", at, stderr)
	}
}

// buried checks that each bad line is in dead letters in its original form. Only characters that a terminal would obey
// are escaped.
func buried(t *testing.T, out string, bads []bad) {
	t.Helper()
	kept := make(map[string]int)
	for _, line := range query(t, out, "dead") {
		var letter struct {
			Sink, Class, Error string
			Record             json.RawMessage
			Bytes              []byte `json:"record_base64"`
		}
		decode(t, line, &letter)
		if letter.Class != "undecodable" || letter.Sink != "" || letter.Error == "" {
			t.Errorf("a dead letter of %q: %s", letter.Sink, line)
		}
		kept[compact(append(letter.Record, letter.Bytes...))]++
	}
	for _, b := range bads {
		if kept[compact(b.line)] == 0 {
			t.Errorf("%s, in line %d, is not in dead letters: %.300s", b.what, b.at, b.line)
		}
		kept[compact(b.line)]--
	}
}

func compact(line []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, line) != nil {
		return string(bytes.TrimSpace(line))
	}
	return string(item.AppendPrintable(nil, b.Bytes()))
}

// If the brackets of the input break, the records before that place are replayed, the place is reported, and the replay
// fails. The files after the broken file are replayed.
func TestBrokenDocuments(t *testing.T) {
	t.Parallel()
	rng := random(t)
	lines := newWorld(rng, plainKeys(12)).changes(120)
	for name, body := range map[string]func(first, cut []byte) []byte{
		"event cut":  func(first, cut []byte) []byte { return fmt.Appendf(nil, `{"Records":[%s,%s`, first, cut) },
		"array cut":  func(first, cut []byte) []byte { return fmt.Appendf(nil, "[%s,\n%s", first, cut) },
		"pretty cut": func(first, cut []byte) []byte { return fmt.Appendf(nil, "{\n\"Records\":[\n%s\n,\n%s", first, cut) },
		"event that continues wrong": func(first, cut []byte) []byte {
			return fmt.Appendf(nil, `{"Records":[%s %s]}`, first, cut)
		},
		"gzip cut": func(first, _ []byte) []byte {
			return gzipped(fmt.Appendf(nil, `[%s]`, first))
		},
	} {
		dir, out := t.TempDir(), t.TempDir()
		n := 1 + rng.IntN(50)
		cut := lines[n][:1+rng.IntN(len(lines[n])-1)]
		whole := body(bytes.Join(lines[:n], []byte(",")), cut)
		if name == "gzip cut" {
			whole = whole[:len(whole)-6] // cuts the checksum, so that all records are there
		}
		write(t, filepath.Join(dir, "1.json"), whole)
		write(t, filepath.Join(dir, "2.json"), event(lines[n:]))
		_, r := replayed(t, 4, everything, out, dir)
		if !bytes.Contains([]byte(r.stderr), []byte("input is broken at "+filepath.Join(dir, "1.json")+":")) {
			t.Errorf("%s: the place is missing: %s", name, r.stderr)
		}
		check(t, everything, out, understood(t, lines))
	}
}
