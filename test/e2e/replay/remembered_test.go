package replay

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// However the stream is delivered, aggregates and shared rows end as one clean
// pass leaves them, sums to the last digit.
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

// Killed at any moment, any number of times, and gone on with from any place that
// is not behind what was read: nothing counts twice, and nothing is lost.
func TestCountsKilled(t *testing.T) {
	t.Parallel()
	rng := random(t)
	lines := newWorld(rng, plainKeys(30)).changes(3000)
	out := t.TempDir()
	for range 6 {
		p := start(t, counts, out)
		p.feed(t, joined(lines[:500+rng.IntN(len(lines)-500)]))
		time.Sleep(time.Duration(rng.IntN(80)) * time.Millisecond) // any moment will do
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

// A start in mid-stream counts what it sees. A range that was lost leaves its items as
// they were until their next change, which makes them right.
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

// Numbers of the whole range add up to their last digit, and to nothing once all
// are taken away: then their row is gone.
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

// mails is a view of users by e-mail, where a collision is an alarm.
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

// A row goes from one item to another, whichever of the two changes comes first. The claim that comes too early waits,
// and is in dead letters until it has the row.
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
		rows  []string // who has each row, in the order of the rows
		dead  []string // keys in dead letters
	}{
		"in order":           {[][]byte{first, leaves, takes}, 0, []string{"a@x bob", "ann@x ann"}, nil},
		"the other way":      {[][]byte{first, takes, leaves}, 4, []string{"a@x bob", "ann@x ann"}, []string{"bob,USER"}},
		"again and again":    {[][]byte{first, takes, leaves, takes, first, leaves}, 4, []string{"a@x bob", "ann@x ann"}, []string{"bob,USER"}},
		"two wait":           {[][]byte{first, third, takes, leaves}, 4, []string{"a@x bob", "ann@x ann"}, []string{"eve,USER", "bob,USER"}},
		"both want it still": {[][]byte{first, takes}, 4, []string{"a@x ann"}, []string{"bob,USER"}},
	} {
		for _, each := range []bool{true, false} { // each in a process of its own, or all in one
			if !each && (name == "two wait" || name == "both want it still") {
				continue // none was first within a batch
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
			if code != run.code && each { // in one batch a claim may never have to wait
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

// checkCollisions expects a dead letter of each item, which names the item too that has its row.
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

// Rows that many items want all the time: the newest claim has the row, whatever the order.
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

// The changes of a later stream win over earlier ones, which may still come, and do not count again.
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

// Items of two tables that have the same keys are different items: each counts, and
// each may want a row.
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
