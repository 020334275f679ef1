package replay

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Fact 13: if a stage needs an image that the stream's view type lacks, the replay fails with a clear error before it
// writes anything.
func TestFact13_ViewTypesThatLackAnImage(t *testing.T) {
	t.Parallel()
	keys := oracleItem{"PK": str("USER#1"), "SK": str("ORDER#1")}
	for viewType, s := range map[string]said{
		"KEYS_ONLY": {op: "MODIFY"},
		"NEW_IMAGE": {op: "MODIFY", new: order(keys, "paid")},
		"OLD_IMAGE": {op: "MODIFY", old: order(keys, "paid")},
	} {
		s.keys, s.sequence = keys, "100000000000000000001"
		line := strings.ReplaceAll(string(s.line()), "NEW_AND_OLD_IMAGES", viewType)
		for _, p := range []pipelineFile{shop, everything} {
			out := filepath.Join(t.TempDir(), "out")
			_, r := replayed(t, 1, p, out, saved(t, "s.jsonl", []byte(line+"\n")))
			if !strings.Contains(r.stderr, "StreamViewType NEW_AND_OLD_IMAGES") || !strings.Contains(r.stderr, "has the view type "+viewType) ||
				!strings.Contains(r.stderr, "sink ") && !strings.Contains(r.stderr, "detector ") {
				t.Errorf("%s: the stage, the view type or the way out is not named: %s", viewType, r.stderr)
			}
			if s := look(t, p, out); len(s[rows])+len(s[documents])+len(s[deleted])+len(s[history]) > 0 {
				t.Errorf("%s: written before the error: %v", viewType, s)
			}
		}
	}
}

// A pipeline that needs no image works with keys alone.
func TestKeysOnly(t *testing.T) {
	t.Parallel()
	p := pipelineFile{text: `
version: 1
name: keys
source: {table: t}
sinks:
  items:
    view: {table: rows, key: {PK: '{@key}'}}
  log:
    archive: {bucket: everything, prefix: log/}
`, rows: "rows", bucket: "everything", log: "log/"}
	var lines []string
	for i, keys := range plainKeys(6) {
		s := said{op: "INSERT", keys: keys, sequence: "100000000000000000001"}
		lines = append(lines, string(s.line()))
		if i%2 == 0 {
			s.op, s.sequence = "REMOVE", "100000000000000000002"
			lines = append(lines, string(s.line()))
		}
	}
	out := t.TempDir()
	body := strings.ReplaceAll(strings.Join(lines, "\n"), "NEW_AND_OLD_IMAGES", "KEYS_ONLY")
	replayed(t, 0, p, out, saved(t, "s.jsonl", []byte(body)))
	var got []string
	for _, line := range query(t, out, "view", "rows") {
		var row struct{ PK string }
		decode(t, line, &row)
		got = append(got, row.PK)
	}
	if want := []string{"USER%23000,ORDER%231", "USER%23001,ORDER%230", "USER%23001,ORDER%232"}; !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	if n := len(query(t, out, "archive", "everything", "--prefix", "log/")); n != 9 {
		t.Errorf("%d changes in the log, want 9", n)
	}
}

// A replay into a folder that another configuration wrote is refused, and the folder stays as it is.
func TestOtherConfiguration(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	// So many keys leave some rows. A view without rows would accept other settings.
	lines := newWorld(random(t), plainKeys(100)).changes(400)
	path := saved(t, "s.jsonl", joined(lines))
	replayed(t, 0, everything, out, path)
	other := everything
	other.text = strings.Replace(other.text, "price: '{Price}'", "price: '{Total}'", 1)
	_, r := replayed(t, 1, other, out, path)
	if !strings.Contains(r.stderr, "--fresh") {
		t.Errorf("the way out is not named: %s", r.stderr)
	}
	check(t, everything, out, understood(t, lines))
	if _, err := os.Stat(filepath.Join(out, "views.db")); err != nil {
		t.Error(err)
	}
}
