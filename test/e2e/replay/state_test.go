package replay

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// state is the content of a folder: rows, documents, deleted items and the log of changes, each by its name.
type state map[string]map[string]string

const (
	rows      = "rows"
	documents = "documents"
	deleted   = "objects per item"
	history   = "the log"
)

func newState() state {
	return state{rows: {}, documents: {}, deleted: {}, history: {}}
}

// check compares a folder with the result of the oracle for the changes.
func check(t *testing.T, p pipelineFile, out string, cs []change) {
	t.Helper()
	same(t, look(t, p, out), p.want(cs))
}

// look reads a folder with the queries of the program.
func look(t *testing.T, p pipelineFile, out string) state {
	t.Helper()
	s := newState()
	for _, line := range query(t, out, "view", p.rows, "--typed") {
		var row oracleItem
		decode(t, line, &row)
		s.put(t, rows, canonical(oracleItem{"PK": row["PK"], "SK": row["SK"]}), canonical(row))
	}
	s[documents] = storedDocuments(t, out, p.index)
	for part, prefix := range map[string]string{deleted: p.ofItem, history: p.log} {
		if prefix == "" {
			continue
		}
		for _, line := range query(t, out, "archive", p.bucket, "--prefix", prefix) {
			c, err := readChange(line)
			if err != nil {
				t.Fatalf("archived: %v\n%s", err, line)
			}
			s.put(t, part, c.key+" "+c.version, archived(c))
		}
	}
	return s
}

// put adds a content under a name. The name must be new.
func (s state) put(t *testing.T, part, name, content string) {
	t.Helper()
	if _, twice := s[part][name]; twice {
		t.Errorf("%s: %s stands there twice", part, name)
	}
	s[part][name] = content
}

func query(t *testing.T, out string, args ...string) [][]byte {
	t.Helper()
	args = append(append([]string{"query"}, args...), "--local", out, "-o", "json")
	r := tablewake(t, nil, args...)
	if r.code != 0 {
		t.Fatalf("tablewake %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return slices.DeleteFunc(bytes.Split([]byte(r.stdout), []byte("\n")), func(l []byte) bool { return len(l) == 0 })
}

func decode(t *testing.T, line []byte, to any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(to); err != nil {
		t.Fatalf("%v\n%s", err, line)
	}
}

// document writes a document so that equal documents have equal texts. Numbers have all digits, and the elements of an
// array are sorted, because sets have no order.
func document(doc map[string]any) string {
	b, err := json.Marshal(normal(doc))
	if err != nil {
		panic(err)
	}
	return string(b)
}

func normal(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number(decimal(v.String()))
	case map[string]any:
		out := make(map[string]any)
		for name, v := range v {
			out[name] = normal(v)
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = normal(out[i])
		}
		slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(scalar(a), scalar(b)) })
		return out
	}
	return v
}

// scalar returns the text by which an element of an array is sorted.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// archived returns the content that an archive must keep of a change.
func archived(c change) string {
	return c.op + " " + canonical(c.keys) + " old " + canonical(c.old) + " new " + canonical(c.new)
}

// same compares a state with the wanted state, and reports the first differences.
func same(t *testing.T, got, want state) {
	t.Helper()
	for _, part := range slices.Sorted(maps.Keys(want)) {
		g, w := got[part], want[part]
		wrong := 0
		report := func(format string, args ...any) {
			if wrong++; wrong <= 3 {
				t.Errorf(part+": "+format, args...)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(w)) {
			if is, ok := g[name]; !ok {
				report("%s is missing: %s", name, w[name])
			} else if is != w[name] {
				report("%s is\n  %s\nwant\n  %s", name, is, w[name])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(g)) {
			if _, ok := w[name]; !ok {
				report("%s should not be there: %s", name, g[name])
			}
		}
		if wrong > 3 {
			t.Errorf("%s: %d differences in all, of %d", part, wrong, len(w))
		}
	}
}
