package replay

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// However the stream is delivered, aggregates and shared rows end as after one clean pass. Sums are right to the last
// digit.
func TestCounts(t *testing.T) {
	t.Parallel()
	for name, redeliver := range redeliveries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := random(t)
			lines := redeliver(rng, newWorld(rng, plainKeys(12)).changes(400))
			out := t.TempDir()
			replayed(t, 0, counts, out, saved(t, "s.jsonl", joined(lines)))
			checkCounts(t, out, understood(t, lines))
		})
	}
}

// A replay is killed several times, at any moment, and begins again. Nothing counts twice, and nothing is lost.
func TestCountsKilled(t *testing.T) {
	t.Parallel()
	rng := random(t)
	lines := newWorld(rng, plainKeys(30)).changes(3000)
	out := t.TempDir()
	for range 6 {
		p := start(t, counts, out)
		p.feed(t, joined(lines[:500+rng.IntN(len(lines)-500)]))
		time.Sleep(time.Duration(rng.IntN(80)) * time.Millisecond) // the kill may come at any moment
		p.signal(t, os.Kill)
		if code := p.wait(t).code; code != -1 {
			t.Fatalf("exit code %d of a killed process", code)
		}
	}
	path := saved(t, "s.jsonl", joined(lines))
	for range 2 {
		replayed(t, 0, counts, out, path)
		checkCounts(t, out, understood(t, lines))
	}
}

// A replay that starts in mid-stream counts the changes that it sees. If a range of changes was lost, the items of
// these changes stay as they were until their next change, which makes them right.
func TestCountsHeal(t *testing.T) {
	t.Parallel()
	rng := random(t)
	for range 4 {
		lines := newWorld(rng, plainKeys(9)).changes(300)
		from := rng.IntN(200)
		to := from + rng.IntN(100)
		if rng.IntN(2) == 0 {
			from = 0
		}
		out := t.TempDir()
		seen := slices.Concat(lines[:from], lines[to:])
		replayed(t, 0, counts, out, saved(t, "seen.jsonl", joined(seen)))
		checkCounts(t, out, understood(t, seen))
		replayed(t, 0, counts, out, saved(t, "suffix.jsonl", joined(seen[rng.IntN(len(seen)):])))
		checkCounts(t, out, understood(t, seen))
		replayed(t, 0, counts, out, saved(t, "whole.jsonl", joined(lines)))
		checkCounts(t, out, understood(t, slices.Concat(seen, lines)))
	}
}

// The sum of numbers of the whole range is right to the last digit. When all items are removed, the row is gone.
func TestCountsToTheLastDigit(t *testing.T) {
	t.Parallel()
	numbers := []string{"1e125", "-9.9999999999999999999999999999999999999e125", "1e-130", "99999999999999999999999999999999999999", "0.1", "-0.3", "123456789012345678901234567890.12345678"}
	var lines, gone [][]byte
	for i, n := range numbers {
		keys := oracleItem{"PK": str(fmt.Sprint(i)), "SK": str("x")}
		is := oracleItem{"PK": keys["PK"], "SK": keys["SK"], "Type": str("Order"), "Total": tagged("N", n)}
		lines = append(lines, said{op: "INSERT", keys: keys, new: is, sequence: fmt.Sprint(1000 + i)}.line())
		gone = append(gone, said{op: "REMOVE", keys: keys, old: is, sequence: fmt.Sprint(2000 + i)}.line())
	}
	out := t.TempDir()
	for i := range lines {
		replayed(t, 0, counts, out, saved(t, "s.jsonl", joined(lines[:i+1])))
		checkCounts(t, out, understood(t, lines[:i+1]))
	}
	for i := range gone {
		all := slices.Concat(lines, gone[:i+1])
		replayed(t, 0, counts, out, saved(t, "s.jsonl", joined(all)))
		checkCounts(t, out, understood(t, all))
	}
	if left := query(t, out, "view", counts.rows); len(left) > 0 {
		t.Errorf("%d rows are left of nothing: %s", len(left), left[0])
	}
}

// mails is a pipeline with a view of users by e-mail address. A collision causes a dead letter.
var mails = pipelineFile{text: `
version: 1
name: mails
source: {table: t}
sinks:
  by_mail:
    view:
      table: mails
      key: {PK: '{Mail|lower}', SK: USER}
      attributes: {who: '{PK}'}
`, rows: "mails"}

// A row goes from one item to another, whichever of the two changes comes first. A claim that comes too early waits,
// and becomes a dead letter.
func TestHandOver(t *testing.T) {
	t.Parallel()
	user := func(pk, mail string) oracleItem {
		return oracleItem{"PK": str(pk), "SK": str("USER"), "Mail": str(mail)}
	}
	keys := func(pk string) oracleItem { return oracleItem{"PK": str(pk), "SK": str("USER")} }
	first := said{op: "INSERT", keys: keys("ann"), new: user("ann", "A@x"), sequence: "101"}.line()
	leaves := said{op: "MODIFY", keys: keys("ann"), old: user("ann", "A@x"), new: user("ann", "ann@x"), sequence: "102"}.line()
	takes := said{op: "INSERT", keys: keys("bob"), new: user("bob", "a@x"), sequence: "103"}.line()
	third := said{op: "INSERT", keys: keys("eve"), new: user("eve", "a@X"), sequence: "104"}.line()
	for name, run := range map[string]struct {
		lines [][]byte
		code  int
		rows  []string // each row with its owner, in order
		dead  []string // keys of items with dead letters
	}{
		"in order":           {[][]byte{first, leaves, takes}, 0, []string{"a@x bob", "ann@x ann"}, nil},
		"the other way":      {[][]byte{first, takes, leaves}, 4, []string{"a@x bob", "ann@x ann"}, []string{"bob,USER"}},
		"again and again":    {[][]byte{first, takes, leaves, takes, first, leaves}, 4, []string{"a@x bob", "ann@x ann"}, []string{"bob,USER"}},
		"two wait":           {[][]byte{first, third, takes, leaves}, 4, []string{"a@x bob", "ann@x ann"}, []string{"eve,USER", "bob,USER"}},
		"both want it still": {[][]byte{first, takes}, 4, []string{"a@x ann"}, []string{"bob,USER"}},
	} {
		for _, each := range []bool{true, false} { // each line in a process of its own, or all in one process
			if !each && (name == "two wait" || name == "both want it still") {
				continue // within a batch, no item was first
			}
			out := t.TempDir()
			parts := [][][]byte{run.lines}
			if each {
				parts = nil
				for _, line := range run.lines {
					parts = append(parts, [][]byte{line})
				}
			}
			code := 0
			for _, lines := range parts {
				r := tablewake(t, nil, "replay", "-c", mails.file(t), "--local", out, saved(t, "s.jsonl", joined(lines)))
				code = max(code, r.code)
			}
			if code != run.code && each { // within a batch, a claim may not have to wait
				t.Errorf("%s: exit code %d, want %d", name, code, run.code)
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
			if each {
				checkCollisions(t, name, out, run.dead)
			}
		}
	}
}

// checkCollisions checks that each of the items has a dead letter, which also names the item that has the row.
func checkCollisions(t *testing.T, name, out string, want []string) {
	t.Helper()
	var keys []string
	for _, line := range query(t, out, "dead") {
		var letter struct{ Sink, Class, Error, Key string }
		decode(t, line, &letter)
		keys = append(keys, letter.Key)
		if letter.Sink != "by_mail" || letter.Class != "collision" || !strings.Contains(letter.Error, letter.Key) || !strings.Contains(letter.Error, "ann,USER") {
			t.Errorf("%s: the letter names not both items: %s", name, line)
		}
	}
	slices.Sort(keys)
	slices.Sort(want)
	if !slices.Equal(keys, want) {
		t.Errorf("%s: dead letters of %q, want %q", name, keys, want)
	}
}

// Many items want the same rows all the time. The newest claim has the row of the view latest, whatever the order of
// delivery.
func TestSharedRowsUnderPressure(t *testing.T) {
	t.Parallel()
	rng := random(t)
	lines := newWorld(rng, plainKeys(60)).changes(1500)
	out := t.TempDir()
	for range 3 {
		replayed(t, 0, counts, out, saved(t, "s.jsonl", joined(shuffled(rng, lines))))
	}
	checkCounts(t, out, understood(t, lines))
}

// The changes of a later stream win over the changes of an earlier stream. Changes of the earlier stream may still
// arrive, and do not count again.
func TestCountsOfLaterStream(t *testing.T) {
	t.Parallel()
	rng := random(t)
	first, second := newWorld(rng, plainKeys(9)), newWorld(rng, plainKeys(9))
	first.seq.SetString(strings.Repeat("7", 39), 10)
	second.arn = strings.Replace(second.arn, "2026-01-02", "2026-01-03", 1)
	early := first.changes(120)
	second.items, second.now = first.items, first.now
	later := second.changes(120)
	for name, lines := range map[string][][]byte{
		"in order":             slices.Concat(early, later),
		"a lagging worker":     slices.Concat(early, later, early),
		"a lagging suffix":     slices.Concat(early, later, early[90:]),
		"the later one begins": slices.Concat(later, early, later),
	} {
		out := t.TempDir()
		replayed(t, 0, counts, out, saved(t, "s.jsonl", joined(lines)))
		checkCounts(t, out, understood(t, lines))
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// Items with the same keys in two tables are different items. Each of them counts, and each of them may want a row.
func TestCountsOfTwoTables(t *testing.T) {
	t.Parallel()
	rng := random(t)
	of := func(table string, lines [][]byte) []change {
		cs := understood(t, lines)
		for i := range cs {
			cs[i].key = table + "!" + cs[i].key
		}
		return cs
	}
	first, second := newWorld(rng, plainKeys(6)), newWorld(rng, plainKeys(6))
	second.arn = strings.Replace(second.arn, "table/t/", "table/u/", 1)
	ts, us := first.changes(150), second.changes(150)
	two := counts
	two.text = strings.Replace(two.text, "{table: t}", "{tables: [t, u]}", 1)
	for _, lines := range [][][]byte{slices.Concat(ts, us), slices.Concat(us, ts, us[50:], ts[70:])} {
		out := t.TempDir()
		replayed(t, 0, two, out, saved(t, "s.jsonl", joined(lines)))
		checkCounts(t, out, slices.Concat(of("t", ts), of("u", us)))
	}
}
