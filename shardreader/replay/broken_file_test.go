package replay

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/inputs"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// A broken line of JSON lines costs itself alone, wherever it stands, and is named by file and line. If the file ends
// within the line, the file was cut: the line is not a record.
func TestSource_BrokenLines(t *testing.T) {
	for _, broken := range []string{
		`{"eventID":"x", "dynamodb"`, `{"eventID":"x",`, `{"eventID":"x","dynamodb":{`, `{"eventID":"x","dynamodb":`, `{"eventID":["`,
		`garbage`, `{"eventID":"x"}`, `[1]`, `[{"eventID":"x"`, `{}`, `{"eventID":"` + "\x01" + `"}`, `}`, `]`, "\xff\xfe", `{"eventID":"` + "\xff" + `"}`, `7`,
	} {
		for _, at := range []int{0, 1, 20, 39} {
			rs := recordsJSON(0, 39)
			want := numbers(0, 39)
			isCut := at == 39 && inputs.CheckEnd([]byte(broken+"\n")) != nil
			rs = slices.Insert(rs, at, broken)
			if !isCut {
				want = slices.Insert(want, at, "!")
			}
			content := lines(rs)
			path := filepath.Join(write(t, map[string]string{"s.jsonl": content}), "s.jsonl")
			for _, block := range []int{1, 1000, 0} {
				g := readAll(t, open(t, Options{Paths: []string{path}, BlockBytes: block}))
				if diff := cmp.Diff(want, g.sequences); diff != "" || errors.Is(g.err, inputs.ErrCut) != isCut || len(g.errs) != len(want)-39 {
					t.Errorf("%s at %d by %d: %v, records (-want +got):\n%s", broken, at, block, g.err, diff)
				}
				if len(g.errs) == 0 {
					continue
				}
				start := len(strings.Join(rs[:at], "\n"))
				place, ok := errors.AsType[*LocationError](g.errs[0].Err)
				if !ok || place.File != path || place.Line != int64(at)+1 || place.Offset < int64(start) || place.Offset > int64(start+1+len(broken)) {
					t.Errorf("%s is said to be at %+v, want line %d, byte %d", broken, place, at+1, start)
				}
			}
		}
	}
}

// Text after a record on its line costs only itself; a comma costs nothing.
func TestSource_GarbageBehindARecord(t *testing.T) {
	for _, behind := range []string{",", " x", "}", "]"} {
		rs := recordsJSON(0, 3)
		rs[0] += behind
		want := []string{"1", "!", "2", "3"}
		if behind == "," {
			want = []string{"1", "2", "3"}
		}
		path := filepath.Join(write(t, map[string]string{"s.jsonl": lines(rs)}), "s.jsonl")
		g := readAll(t, open(t, Options{Paths: []string{path}}))
		if diff := cmp.Diff(want, g.sequences); diff != "" || (g.err != nil) != (behind == ",") {
			t.Errorf("%q: %v, records (-want +got):\n%s", behind, g.err, diff)
		}
	}
}

// A record whose grammar is sound and whose shape is wrong costs itself alone, in every shape.
func TestSource_WrongRecords(t *testing.T) {
	rs := slices.Insert(recordsJSON(0, 9), 4, `{"eventID":"x"}`)
	want := slices.Insert(numbers(0, 9), 4, "!")
	for name, content := range map[string]string{"array": array(rs), "pretty": pretty(t, event(rs)), "lines": lines(rs)} {
		path := filepath.Join(write(t, map[string]string{"f": content}), "f")
		g := readAll(t, open(t, Options{Paths: []string{path}, BlockBytes: 1500}))
		if diff := cmp.Diff(want, g.sequences); diff != "" || g.err != nil {
			t.Errorf("%s: %v, records (-want +got):\n%s", name, g.err, diff)
			continue
		}
		place, ok := errors.AsType[*LocationError](g.errs[0].Err)
		at := strings.Index(content, `"x"`)
		at = strings.LastIndex(content[:at], "{")
		if !ok || place.Offset != int64(at) || place.Line != int64(1+strings.Count(content[:at], "\n")) || name != "lines" && place.Record != 5 {
			t.Errorf("%s: %+v, want record 5 at byte %d", name, place, at)
		}
	}
}

// A record that breaks within an array or event costs itself alone. A missing end of a file is reported, and the other
// files are read.
func TestSource_BrokenFiles(t *testing.T) {
	rs := recordsJSON(0, 20)
	hurt := slices.Clone(rs)
	hurt[10] = strings.Replace(hurt[10], `"eventName":`, `"eventName"`, 1)
	oneHurt := slices.Replace(numbers(0, 20), 10, 11, "!")
	tests := []struct {
		name, content string
		want          []string
		record        int // offset at which a record is reported broken, or -1
		offset        int // offset at which the file is reported broken; -1: the end; -2: not broken; -3: anywhere
		err           string
	}{
		{"an array", array(hurt), oneHurt, strings.Index(array(hurt), `"eventName""`) + 11, -2, ""},
		{"a record a line in an array", "[\n" + strings.Join(hurt, ",\n") + "]", oneHurt, -1, -2, ""},
		{"an event", event(hurt), oneHurt, -1, -2, ""},
		{"a cut array", array(rs)[:len(array(rs[:12]))+50], numbers(0, 12), -1, -1, "cut short"},
		{"an array without its end", strings.TrimSuffix(array(rs), "]"), numbers(0, 20), -1, -1, "cut short"},
		{"a record that ends in bytes 0", lines(rs[:12]) + rs[12][:50] + strings.Repeat("\x00", 5000), numbers(0, 12), -1, -1, "has bytes 0"},
		{"bytes 0 behind the records", lines(rs) + strings.Repeat("\x00", 500_000), numbers(0, 20), -1, -1, "has bytes 0"},
		{"a cut event", event(rs)[:len(event(rs[:12]))+50], numbers(0, 12), -1, -1, "cut short"},
		{"a cut pretty event", strings.TrimRight(pretty(t, event(rs)), "} \n]"), numbers(0, 19), -1, -1, "cut short"},
		{"garbage behind an array", array(rs) + "x", append(numbers(0, 20), "!"), len(array(rs)), -2, ""},
		{"commas behind records", strings.Join(rs, ",\n"), numbers(0, 20), -1, len(rs[0]), "18 more places"},
		{"a comma behind the last record", strings.Replace(array(rs), "}]", "},]", 1), numbers(0, 20), -1, len(array(rs)), "a comma too many"},
		{"no comma", strings.Replace(array(rs), "},{", "} {", 1), numbers(0, 20), -1, len(array(rs[:1])), "a comma"},
		{"a cut gzip file", gzipped(t, lines(rs))[:200], nil, -1, -3, "gzip data is cut short"},
		{"a cut zstd file", zstandard(t, lines(rs))[:200], nil, -1, -3, "zstd data is cut short"},
		{"a gzip file cut in its header", gzipped(t, lines(rs))[:2], nil, -1, 0, "gzip data is cut short"},
		{"rubbish behind gzip", gzipped(t, lines(rs)) + "garbage", numbers(0, 20), -1, -3, "other bytes follow the end of the gzip data"},
		{"a gzip file cut in its second header", gzipped(t, lines(rs)) + gzipped(t, lines(rs))[:5], numbers(0, 20), -1, -3, "gzip data is cut short"},
		{"a zstd file cut in its header", zstandard(t, lines(rs))[:3], nil, -1, 0, "zstd data is cut short"},
		{"a damaged gzip file", gzipped(t, lines(rs))[:50] + "?" + gzipped(t, lines(rs))[51:], nil, -1, -3, "gzip data is damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := write(t, map[string]string{"1": lines(recordsJSON(100, 2)), "2": tt.content, "3": event(recordsJSON(200, 2))})
			g := readAll(t, open(t, Options{Paths: []string{dir}, BlockBytes: 1000}))
			want := slices.Concat(numbers(100, 2), tt.want, numbers(200, 2))
			if diff := cmp.Diff(want, g.sequences); diff != "" && tt.want != nil {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			file := filepath.Join(dir, "2")
			for _, e := range g.errs {
				if place, ok := errors.AsType[*LocationError](e.Err); !ok || place.File != file || tt.record >= 0 && place.Offset != int64(tt.record) {
					t.Errorf("a record is said to break at %+v, want byte %d", place, tt.record)
				}
			}
			broken, ok := errors.AsType[*BrokenError](g.err)
			if tt.offset == -2 && g.err == nil {
				return
			}
			if !ok || len(broken.Files) != 1 || broken.Files[0].File != file || !strings.Contains(g.err.Error(), tt.err) {
				t.Fatalf("it ends with %v, want an error that names the second file", g.err)
			}
			f := broken.Files[0]
			if tt.offset == -1 {
				tt.offset = len(tt.content)
			}
			if tt.offset >= 0 && f.Offset != int64(tt.offset) || f.Line > 1 && tt.offset != -3 && f.Line != int64(1+strings.Count(tt.content[:f.Offset], "\n")) {
				t.Errorf("broken at line %d, byte %d; want byte %d", f.Line, f.Offset, tt.offset)
			}
		})
	}
}

// Events on lines of their own: the records before the break of a broken event are read, and the next event.
func TestSource_BrokenEventOfMany(t *testing.T) {
	rs := recordsJSON(0, 12)
	for at := range 3 {
		events := []string{event(rs[:4]), event(rs[4:8]), event(rs[8:])}
		want := slices.Concat(numbers(0, 4), numbers(4, 4), numbers(8, 4))
		events[at] = events[at][:len(event(rs[:2]))+30]
		want = slices.Replace(want, 4*at+2, 4*at+4, "!")
		path := filepath.Join(write(t, map[string]string{"events": lines(events)}), "events")
		for _, block := range []int{1, 1000, 0} {
			g := readAll(t, open(t, Options{Paths: []string{path}, BlockBytes: block}))
			cut := at == 2 // nothing closes the last one
			if diff := cmp.Diff(want, g.sequences); diff != "" || (g.err != nil) != cut || len(g.errs) != 1 {
				t.Errorf("broken at %d, by %d: %v, records (-want +got):\n%s", at, block, g.err, diff)
				continue
			}
			if place, ok := errors.AsType[*LocationError](g.errs[0].Err); !ok || place.Line != int64(at)+1 {
				t.Errorf("broken at %d, by %d: said to be at %v", at, block, g.errs[0].Err)
			}
		}
	}
}

// JSON lines that are cut at any byte lose at most the record that was cut, and the cut is an error of the file.
func TestSource_LinesCutAnywhere(t *testing.T) {
	content := lines(recordsJSON(0, 3))
	dir := t.TempDir()
	path := filepath.Join(dir, "cut.jsonl")
	for cut := range len(content) + 1 {
		if err := os.WriteFile(path, []byte(content[:cut]), 0o644); err != nil {
			t.Fatal(err)
		}
		g := readAll(t, open(t, Options{Paths: []string{path}}))
		atLineEnd := cut < len(content) && content[cut] == '\n'
		whole := strings.Count(content[:cut], "\n")
		if atLineEnd {
			whole++ // the line feed does not matter
		}
		if diff := cmp.Diff(append([]string(nil), numbers(0, whole)...), append([]string(nil), g.sequences...)); diff != "" {
			t.Errorf("cut at %d (-want +got):\n%s", cut, diff)
		}
		var want error
		isWithinRecord := cut > 0 && content[cut-1] != '\n' && !atLineEnd
		switch {
		case cut == 0:
			want = inputs.ErrEmpty
		case isWithinRecord:
			want = inputs.ErrCut
		}
		broken, _ := errors.AsType[*BrokenError](g.err)
		if !errors.Is(g.err, want) || len(g.errs) > 0 || want != nil && (len(broken.Files) != 1 || broken.Files[0].Line != int64(whole)+1) {
			t.Errorf("cut at %d: errors %v, %v", cut, g.errs, g.err)
		}
	}
}

// Records behind a long line of something else are read.
func TestSource_LongForeignLine(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"f": strings.Repeat("x", 3*headBytes) + "\n" + recordJSON(1) + "\n"}), "f")
	if g := readAll(t, open(t, Options{Paths: []string{path}})); g.err != nil || len(g.errs) != 1 || len(g.sequences) != 2 {
		t.Errorf("%d records, %v, %v: want an error and a record", len(g.sequences), g.errs, g.err)
	}
}

// A file that may not be read ends the replay before its first record. Root reads every file.
func TestOpen_UnreadableFile(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"f": recordJSON(1)}), "f")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Options{Paths: []string{path}})
	if err == nil {
		_ = s.Close()
	}
	if root := os.Geteuid() == 0; (err == nil) != root || !root && !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v, want that it cannot be read", err)
	}
}

// A file that was named and holds something else is an error that says what.
func TestSource_ForeignFiles(t *testing.T) {
	for content, want := range map[string]string{
		`{"Item":{"PK":{"S":"a"}}}` + "\n": "export",
		`{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":{"PK":{"S":"a"}},"NewImage":{}}`: "incremental",
		`{"tablewakeNewestOnly":true,"eventName":"INSERT"}` + "\n":                              "newest change of each item alone",
		"PK,SK,Total\na,b,3\n":                   "CSV",
		"version: 1\nname: shop\n":               "not JSON",
		`{"properties":{}}`:                      "none of a record's members",
		`{"PK":{"S":"a"}}`:                       "tablewake backfill --items takes items",
		`{"Items":[{"PK":{"S":"a"}}],"Count":1}`: "output of a scan",
		"\xff\xfe{\x00\"\x00":                    "UTF-16",
		"\x00\x01\x02\x03":                       "not JSON",
		"42":                                     "not JSON",
	} {
		path := filepath.Join(write(t, map[string]string{"f": content}), "f")
		g := readAll(t, open(t, Options{Paths: []string{path}}))
		if broken, ok := errors.AsType[*BrokenError](g.err); !ok || broken.Files[0].File != path || !strings.Contains(g.err.Error(), want) || len(g.sequences) > 0 {
			t.Errorf("%q: %v, want an error with %q", content, g.err, want)
		}
	}
	// So is a file of a folder, if its records are not a history.
	folder := write(t, map[string]string{"f": `{"tablewakeNewestOnly":true,"eventName":"INSERT"}`})
	if g := readAll(t, open(t, Options{Paths: []string{folder}})); !errors.Is(g.err, errNewestOnly) || len(g.sequences) > 0 {
		t.Errorf("%v, %v", g.sequences, g.err)
	}
	// An input that says that it has no records is not an error: a table may be at rest. Neither is one that is named to
	// read nothing.
	if g := readAll(t, open(t, Options{Paths: []string{os.DevNull}})); g.err != nil || len(g.sequences) > 0 {
		t.Errorf("%v, %v", g.sequences, g.err)
	}
	for _, content := range []string{"[]", `{"Records":[]}`} {
		path := filepath.Join(write(t, map[string]string{"f": content}), "f")
		if g := readAll(t, open(t, Options{Paths: []string{path}})); g.err != nil || len(g.sequences) > 0 {
			t.Errorf("%q: %v, %v", content, g.sequences, g.err)
		}
	}
}

// A file without content is an error if it is named, or if a folder has no other file. Beside others it is left out,
// unless its name says that it has a document.
func TestSource_EmptyFiles(t *testing.T) {
	for _, content := range []string{"", "\n \n", gzipped(t, "")} {
		path := filepath.Join(write(t, map[string]string{"f": content}), "f")
		for _, paths := range [][]string{{path}, {filepath.Dir(path)}} {
			if g := readAll(t, open(t, Options{Paths: paths})); !errors.Is(g.err, inputs.ErrEmpty) || len(g.sequences) > 0 {
				t.Errorf("%q: %v, %v", content, g.sequences, g.err)
			}
		}
	}
	for name, want := range map[string]error{"empty.jsonl": nil, "empty": nil, "empty.json": inputs.ErrEmpty, "empty.jsonl.gz": inputs.ErrCut} {
		folder := write(t, map[string]string{name: "", "records": lines(recordsJSON(0, 1))})
		var leftOut []string
		g := readAll(t, open(t, Options{Paths: []string{folder}, Skipped: func(path string, _ error) { leftOut = append(leftOut, filepath.Base(path)) }}))
		if !errors.Is(g.err, want) || (want == nil) != slices.Equal(leftOut, []string{name}) || len(g.sequences) != 1 {
			t.Errorf("%s: %v, %v, left out %q", name, g.sequences, g.err, leftOut)
		}
		if g := readAll(t, open(t, Options{Paths: []string{folder}, Complete: true})); !isBroken(g.err) || len(g.sequences) != 1 {
			t.Errorf("%s: %v, %v", name, g.sequences, g.err)
		}
	}
}

// If no file may be missing, a file of another kind is an error. Otherwise it is left out.
func TestSource_CompleteWithoutRecords(t *testing.T) {
	for _, content := range []string{`{"message":"AccessDenied"}`, "\xff\xfe{\x00", "<html>"} {
		folder := write(t, map[string]string{"a": content, "b": lines(recordsJSON(0, 1))})
		for _, isComplete := range []bool{false, true} {
			g := readAll(t, open(t, Options{Paths: []string{folder}, Complete: isComplete}))
			if isBroken(g.err) != isComplete || len(g.sequences) != 1 {
				t.Errorf("%q, complete %t: %v, %v", content, isComplete, g.sequences, g.err)
			}
		}
	}
}

// A file of a folder whose name says JSON is damaged if it has another content. The other files are read.
func TestSource_DamagedFilesOfAFolder(t *testing.T) {
	for _, content := range []string{strings.Repeat("\x00", 5000), "\xff\xfe{\x00\"\x00", "<html>", "a,b,c\n1,2,3\n"} {
		for name, isDamaged := range map[string]bool{"a.json": true, "a.jsonl": true, "a.ndjson": true, "a": false, "a.csv": false} {
			folder := write(t, map[string]string{name: content, name + ".gz": gzipped(t, content), "b.jsonl": lines(recordsJSON(0, 1))})
			g := readAll(t, open(t, Options{Paths: []string{folder}}))
			broken, _ := errors.AsType[*BrokenError](g.err)
			if isDamaged != (broken != nil && len(broken.Files) == 2) || len(g.sequences) != 1 {
				t.Errorf("%s with %.20q: %v, %v", name, content, g.sequences, g.err)
			}
		}
	}
}

// Bytes 0 between records hide records, so they are an error of the file. The records around them are read.
func TestSource_ZerosBetweenRecords(t *testing.T) {
	rs := recordsJSON(0, 20)
	zeros := strings.Repeat("\x00", 4096)
	for name, content := range map[string]string{
		"lines": lines(rs[:10]) + rs[10][:50] + zeros + rs[12][60:] + "\n" + lines(rs[13:]),
		"array": array(slices.Concat(rs[:10], []string{rs[10][:50] + zeros + rs[12][60:]}, rs[13:])),
	} {
		path := filepath.Join(write(t, map[string]string{"s.json": content}), "s.json")
		for _, block := range []int{1000, 0} {
			g := readAll(t, open(t, Options{Paths: []string{path}, BlockBytes: block}))
			want := slices.Concat(numbers(0, 10), numbers(13, 7))
			if diff := cmp.Diff(want, g.sequences); diff != "" || !errors.Is(g.err, inputs.ErrZeros) || !isBroken(g.err) {
				t.Errorf("%s by %d: %v, records (-want +got):\n%s", name, block, g.err, diff)
			}
		}
	}
}

func isBroken(err error) bool {
	_, is := errors.AsType[*BrokenError](err)
	return is
}

// A file of a folder that was cut is not taken for a file of another kind.
func TestSource_CutDocumentOfAFolder(t *testing.T) {
	folder := write(t, map[string]string{"a.json": recordJSON(0)[:7], "b.json": recordJSON(1)})
	if g := readAll(t, open(t, Options{Paths: []string{folder}})); !errors.Is(g.err, inputs.ErrCut) || len(g.sequences) != 1 {
		t.Errorf("%v, %v", g.sequences, g.err)
	}
}

// The log has the error of the input, and no value of it.
func TestBrokenInputInALog(t *testing.T) {
	for content, want := range map[string]string{
		`[{"eventID":"secret"`:                             "input: the input ends in the middle of a document: it was cut short: copy the file again, and repeat the command",
		"[" + recordJSON(1) + ",," + recordJSON(2) + "]":   "input: broken JSON: a comma too many",
		"[" + recordJSON(1) + "s" + recordJSON(2) + "]":    "input: broken JSON: unexpected 's'",
		`{"Records":[` + recordJSON(1) + `],"Records":[]}`: "input: broken JSON: an event with two members named Records",
	} {
		path := filepath.Join(write(t, map[string]string{"secret.json": content}), "secret.json")
		g := readAll(t, open(t, Options{Paths: []string{path}}))
		err := g.err
		if err == nil && len(g.errs) > 0 {
			err = g.errs[0].Err
		}
		if err == nil {
			t.Errorf("%s is read", content)
			continue
		}
		if got := redact.LogText(err); got != want {
			t.Errorf("%s is in the log as %q, want %q", content, got, want)
		}
	}
	mixed := &StreamError{Unnamed: "secret.json:1", Named: "secret.json:2"}
	if got := redact.LogText(mixed); !strings.HasPrefix(got, "input: ") || strings.Contains(got, "secret") || !strings.Contains(got, "--stream-arn") {
		t.Errorf("records of which some name their stream are in the log as %q", got)
	}
}
