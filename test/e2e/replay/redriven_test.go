package replay

import (
	"slices"
	"strings"
	"testing"
)

// A redrive finishes the claims that have their row by now, and the claims whose item moved on. Claims that wait stay
// in dead letters.
func TestCollisionsRedriven(t *testing.T) {
	t.Parallel()
	user := func(pk, mail string) oracleItem {
		return oracleItem{"PK": str(pk), "SK": str("USER"), "Mail": str(mail)}
	}
	write := func(sequence, pk, was, is string) []byte {
		s := said{op: "MODIFY", keys: oracleItem{"PK": str(pk), "SK": str("USER")}, old: user(pk, was), new: user(pk, is), sequence: sequence}
		switch {
		case was == "":
			s.op, s.old = "INSERT", nil
		case is == "":
			s.op, s.new = "REMOVE", nil
		}
		return s.line()
	}
	before := [][]byte{write("101", "ann", "", "a@x"), write("103", "bob", "", "a@x")}
	for name, run := range map[string]struct {
		after [][]byte
		rows  []string // each row with its owner, in order
		left  int      // dead letters after the redrive
	}{
		"the holder left":            {[][]byte{write("104", "ann", "a@x", "ann@x")}, []string{"a@x bob", "ann@x ann"}, 0},
		"the holder is gone":         {[][]byte{write("104", "ann", "a@x", "")}, []string{"a@x bob"}, 0},
		"the one who waits moved on": {[][]byte{write("104", "bob", "a@x", "b@x")}, []string{"a@x ann", "b@x bob"}, 0},
		"the one who waits is gone":  {[][]byte{write("104", "bob", "a@x", "")}, []string{"a@x ann"}, 0},
		"both are gone":              {[][]byte{write("104", "bob", "a@x", ""), write("105", "ann", "a@x", "")}, nil, 0},
		"both want it still":         {nil, []string{"a@x ann"}, 1},
		"the holder came back":       {[][]byte{write("104", "ann", "a@x", ""), write("105", "ann", "", "a@x")}, []string{"a@x ann"}, 1},
	} {
		out := t.TempDir()
		file := mails.file(t)
		for _, line := range slices.Concat(before, run.after) { // each line in a process of its own
			tablewake(t, nil, "replay", "-c", file, "--local", out, saved(t, "s.jsonl", joined([][]byte{line})))
		}
		if dead := query(t, out, "dead"); len(dead) == 0 {
			t.Fatalf("%s: no dead letter to redrive", name)
		}
		for range 2 {
			r := tablewake(t, nil, "redrive", "-c", file, "--local", out)
			if (r.code == 0) != (run.left == 0) {
				t.Errorf("%s: exit code %d of the redrive\n%s%s", name, r.code, r.stdout, r.stderr)
			}
			var rows []string
			for _, line := range query(t, out, "view", mails.rows) {
				var row struct{ PK, Who string }
				decode(t, line, &row)
				rows = append(rows, row.PK+" "+row.Who)
			}
			if !slices.Equal(rows, run.rows) {
				t.Errorf("%s: rows %q, want %q", name, rows, run.rows)
			}
			if dead := query(t, out, "dead"); len(dead) != run.left {
				t.Errorf("%s: %d dead letters are left, want %d: %s", name, len(dead), run.left, strings.Join(texts(dead), "\n"))
			}
		}
	}
}

func texts(lines [][]byte) []string {
	var out []string
	for _, l := range lines {
		out = append(out, string(l))
	}
	return out
}
