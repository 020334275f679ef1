package backfill_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks/state"
)

// A narrowing that selects no item of the source does not make the sink live. The corrected command fills the sink.
func TestNarrowingThatSelectsNothing(t *testing.T) {
	for _, wrong := range []string{"--type=Ordr", "--key-prefix=x", "--filter=item.Total > 100.0"} {
		w := newItemsWorld(t, "")
		w.put("items.jsonl", bytes.ReplaceAll(itemLines(50), []byte(`}}`), []byte(`},"Type":{"S":"Order"},"Total":{"N":"7"}}`)))
		all := w.args
		w.args = slices.Concat(all, []string{wrong})
		for range 2 {
			w.refused(wrong, "--type, --key-prefix and --filter select no item of the source for rows (")
		}
		w.args = slices.Concat(all, []string{"--type=Order", "--key-prefix=1"})
		w.completed("rows", 11)
	}
}

// An item for which --filter fails is taken, and the command tells how many there are. It masks a sensitive key.
func TestFilterThatFails(t *testing.T) {
	for isSensitive, shown := range map[bool]string{false: ": item secret: ", true: ": item "} {
		w := newItemsWorld(t, "")
		if isSensitive {
			settings := strings.ReplaceAll(readFile(t, w.in("tablewake.yaml")), "table: rows,", "table: rows, allow_sensitive: [PK],")
			w.put("tablewake.yaml", []byte(settings+"sensitive: [PK]\nhmac_key: '${SECRET:-0123456789abcdef0123}'\n"))
		}
		w.put("items.jsonl", []byte(`{"PK":{"S":"a"},"Total":{"N":"7"}}`+"\n"+`{"PK":{"S":"secret"}}`+"\n"+
			`{"PK":{"S":"secret2"},"Total":{"S":"7"}}`+"\n"+`{"PK":{"S":"d"},"Total":{"N":"1"}}`+"\n"))
		w.args = append(w.args, "--filter", "item.Total + 1.0 > 5.0")
		text, said := program.Run(t, cli.ExitOK, w.args...)
		if !strings.Contains(said, "warning: --filter failed 2 times, and ") || !strings.Contains(said, shown) ||
			strings.Contains(said, "secret") == isSensitive {
			t.Errorf("it says %s%s", text, said)
		}
		rows, _ := program.Run(t, cli.ExitOK, "query", "view", "rows", "--local", w.in("out"))
		if strings.Count(rows, "\n") != 3 {
			t.Errorf("the rows are %s", rows)
		}
	}
}

// After a narrowing that selected nothing, a correction may name fewer sinks. The others can be filled too, and a sink
// that is filled is not filled again.
func TestNarrowingCorrectedForFewerSinks(t *testing.T) {
	w := newItemsWorld(t, "  users: {view: {table: users, key: {PK: 'U#{@key}'}}}\n")
	w.put("items.jsonl", bytes.ReplaceAll(itemLines(50), []byte(`}}`), []byte(`},"Type":{"S":"Order"}}`)))
	all := w.args
	with := func(more ...string) { w.args = slices.Concat(all, more) }
	with("--type", "Ordr")
	w.refused("both", "select no item of the source")
	with("--sink", "rows", "--type", "Order")
	w.completed("rows", 50)
	if _, said := program.Run(t, cli.ExitUsage, w.args...); !strings.Contains(said, "--sink rows is filled (run ") {
		t.Errorf("of a filled sink it says %s", said)
	}
	with("--sink", "rows,users")
	if _, said := program.Run(t, cli.ExitUsage, w.args...); !strings.Contains(said, "--sink rows is filled (run ") {
		t.Errorf("of both sinks it says %s", said)
	}
	with()
	w.completed("users", 50)
}

// If a table has no item of a narrowing, --none makes the sink live. The message has the command.
func TestNarrowingThatIsRightlyEmpty(t *testing.T) {
	w := newItemsWorld(t, "")
	w.put("items.jsonl", itemLines(5))
	w.args = append(w.args, "--type", "Invoice")
	none := []string{"backfill", "-c", w.in("tablewake.yaml"), "--local", w.in("out"), "--sink", "rows", "--none"}
	w.refused("no invoice", "`tablewake "+strings.Join(none, " ")+"`")
	planned, _ := program.Run(t, cli.ExitPlanned, "plan", "-c", w.in("tablewake.yaml"), "--local", w.in("out"))
	if !strings.Contains(planned, "; or, if that ended with an error, do what the error says\n") {
		t.Errorf("meanwhile plan says %s", planned)
	}
	if text, said := program.Run(t, cli.ExitOK, none...); !strings.Contains(text, "rows: live ") {
		t.Errorf("it says %s%s", text, said)
	}
	if text, _ := program.Run(t, cli.ExitOK, "plan", "-c", w.in("tablewake.yaml"), "--local", w.in("out")); !strings.Contains(text, "= rows") {
		t.Errorf("plan says %s", text)
	}
	w = newItemsWorld(t, "")
	w.put("items.jsonl", itemLines(3000))
	w.interrupt()
	none[2], none[4] = w.in("tablewake.yaml"), w.in("out")
	if _, said := program.Run(t, cli.ExitUsage, none...); !strings.Contains(said, "--none: the sink rows does not wait: it is filling") {
		t.Errorf("of a sink that is partly filled it says %s", said)
	}
}

// A sink that waited keeps its floor if a narrowing selects nothing. The source of the corrected command is checked
// against the floor.
func TestNarrowingWithFloor(t *testing.T) {
	w := newItemsWorld(t, "")
	w.put("items.jsonl", bytes.ReplaceAll(itemLines(5), []byte(`}}`), []byte(`},"Type":{"S":"Order"}}`)))
	w.put("stream.jsonl", []byte(clitest.Order("x", "1")))
	settings := readFile(t, w.in("tablewake.yaml"))
	w.put("tablewake.yaml", []byte(strings.ReplaceAll(settings, "  rows: {", "  first: {")))
	program.Run(t, cli.ExitOK, "replay", "-c", w.in("tablewake.yaml"), "--local", w.in("out"), w.in("stream.jsonl"))
	w.put("tablewake.yaml", []byte(settings))
	prepared, _ := program.Run(t, cli.ExitOK, "backfill", "-c", w.in("tablewake.yaml"), "--local", w.in("out"), "--sink", "rows", "--prepare", "-o", "json")
	var floor struct{ Earliest time.Time }
	if err := json.Unmarshal([]byte(prepared), &floor); err != nil {
		t.Fatal(err)
	}
	all, shown := w.args, floor.Earliest.Format(time.RFC3339)
	w.args = slices.Concat(all, []string{"--shown-at", shown, "--type", "Ordr"})
	w.refused("a typo", "select no item of the source")
	w.args = slices.Concat(all, []string{"--shown-at", floor.Earliest.Add(-time.Second).Format(time.RFC3339), "--type", "Order"})
	w.refused("an old source", "and it must be as of "+shown+" or later")
	w.args = slices.Concat(all, []string{"--shown-at", shown, "--type", "Order"})
	w.completed("rows", 6)
}

// An interrupted narrowed backfill continues. It is complete although the second process reads only items that are not
// selected, because the state has the note that the first process has read a selected item.
func TestNarrowedBackfillContinues(t *testing.T) {
	for _, hasNote := range []bool{true, false} {
		w := newItemsWorld(t, "")
		orders := bytes.ReplaceAll(itemLines(3000), []byte(`}}`), []byte(`},"Type":{"S":"Order"}}`))
		w.put("items.jsonl", append(orders, bytes.ReplaceAll(itemLines(3000), []byte(`"S":"`), []byte(`"S":"u`))...))
		w.args = append(w.args, "--type", "Order")
		w.interrupt()
		w.changeRun(func(kept state.Store, run string, p state.Part) {
			next := p
			_, digest, _ := strings.Cut(p.Position, ",")
			next.Position, next.Items, next.Counter = "3000,"+digest, 3000, p.Counter+1
			if done, err := kept.SetPart(t.Context(), p, next); err != nil || !done {
				t.Fatal(done, err)
			}
			if hasNote {
				return
			}
			if err := kept.RemoveBackfill(t.Context(), snapshot.SelectedRun(run)); err != nil {
				t.Fatal(err)
			}
		})
		if !hasNote {
			w.refused("the rest", "select no item of the source")
			continue
		}
		if text, said := program.Run(t, cli.ExitOK, w.args...); !strings.Contains(text, "\nrows: live\n") {
			t.Errorf("it says %s%s", text, said)
		}
	}
}

// changeRun calls change with the state, and with the run and the part of the stored backfill.
func (w *itemsWorld) changeRun(change func(kept state.Store, run string, p state.Part)) {
	w.t.Helper()
	w.withState(func(kept state.Store) {
		for b, err := range kept.Backfills(w.t.Context()) {
			if err != nil {
				w.t.Fatal(err)
			}
			for p, err := range kept.Parts(w.t.Context(), b.Run) {
				if err != nil {
					w.t.Fatal(err)
				}
				change(kept, b.Run, p)
				return
			}
		}
		w.t.Fatal("no part is stored")
	})
}

// A type that the conditions of the sinks refuse is refused at once, with the type that was probably meant.
func TestTypeThatNoSinkTakes(t *testing.T) {
	const sinks = `  b: {view: {table: b, key: {PK: 'B#{@key}'}, when: 'item.Type == "Order" || item.Type == "Draft"'}}
  c: {view: {table: c, key: {PK: 'C#{@key}'}, when: 'item.Type == "Client" && item.Total > 5.0'}}
  d: {view: {table: d, key: {PK: 'D#{@key}'}, when: 'item.Total > 5.0'}}
  e: {view: {table: e, key: {PK: 'E#{@key}'}, of: Bill}}
entities:
  Bill: {key: {PK: 'BILL#{Id}'}, when: 'item.Type == "Invoice"'}
`
	w := newItemsWorld(t, sinks)
	w.put("items.jsonl", bytes.ReplaceAll(itemLines(1), []byte(`}}`), []byte(`},"Type":{"S":"Order"},"Total":{"N":"7"}}`)))
	for args, want := range map[string]string{
		"b --type Ordr":           "--type Ordr: no sink that is filled takes items with this Type: did you mean Order?",
		"b,c --type Customer":     "takes items with this Type: they take Client, Draft and Order",
		"b,c --type Order,Clint":  "--type Clint: no sink that is filled takes items with this Type: did you mean Client?",
		"e --type Type=Invoce":    "--type Type=Invoce: no sink that is filled takes items with this Type: did you mean Invoice?",
		"b,c --type Order,Client": "",
		"b,d --type Customer":     "",
		"b --type kind=Order":     "",
		"rows --type Ordr,=x":     `Types: "=x" is neither NAME nor ATTRIBUTE=NAME`,
	} {
		line := append(append([]string{}, w.args...), strings.Fields("--dry-run --sink "+args)...)
		code := cli.ExitUsage
		if want == "" {
			code = cli.ExitOK
		}
		text, said := program.Run(t, code, line...)
		if !strings.Contains(text+said, want) {
			t.Errorf("%s: it says %s%s", args, text, said)
		}
		if _, err := os.Stat(w.in("out")); err == nil {
			t.Errorf("%s: the dry run made a folder", args)
		}
	}
	line := append(append([]string{}, w.args...), "--sink", "b", "--type", "Ordr")
	if _, said := program.Run(t, cli.ExitUsage, line...); !strings.Contains(said, "did you mean Order?") {
		t.Errorf("it says %s", said)
	}
}
