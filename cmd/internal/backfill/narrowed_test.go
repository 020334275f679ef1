package backfill_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// A narrowing that selects no item of the source does not make the sink live. The corrected command fills the sink.
func TestNarrowingThatSelectsNothing(t *testing.T) {
	for _, wrong := range []string{"--type=Ordr", "--key-prefix=x", "--filter=item.Total > 100.0"} {
		w := newItemsWorld(t, "")
		w.put("items.jsonl", bytes.ReplaceAll(itemLines(50), []byte(`}}`), []byte(`},"Type":{"S":"Order"},"Total":{"N":"7"}}`)))
		all := w.args
		w.args = slices.Concat(all, []string{wrong})
		for range 2 {
			w.refused(wrong, "--type, --key-prefix and --filter select no item of the source (")
		}
		w.args = slices.Concat(all, []string{"--type=Order", "--key-prefix=1"})
		w.completed("rows", 11)
	}
}

// An interrupted narrowed backfill continues, and is complete with what both processes selected.
func TestNarrowedBackfillContinues(t *testing.T) {
	w := newItemsWorld(t, "")
	orders := bytes.ReplaceAll(itemLines(3000), []byte(`}}`), []byte(`},"Type":{"S":"Order"}}`))
	w.put("items.jsonl", append(orders, bytes.ReplaceAll(itemLines(3000), []byte(`"S":"`), []byte(`"S":"u`))...))
	w.args = append(w.args, "--type", "Order")
	w.interrupt()
	w.completed("rows", 3000)
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
