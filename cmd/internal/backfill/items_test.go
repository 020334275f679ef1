package backfill_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
)

// itemsWorld is a folder with a configuration whose view is filled slowly, from the file items.jsonl.
type itemsWorld struct {
	t    *testing.T
	dir  string
	args []string // of the backfill
}

func newItemsWorld(t *testing.T, more string) *itemsWorld {
	t.Helper()
	w := &itemsWorld{t: t, dir: t.TempDir()}
	w.put("tablewake.yaml", []byte(`version: 1
name: shop
source: {table: shop}
state: {table: state}
sinks:
  rows: {view: {table: rows, key: {PK: 'A#{@key}'}, batch: {count: 1}}}
`+more))
	w.args = []string{"backfill", "-c", w.in("tablewake.yaml"), "--local", w.in("out"), "--keys", "PK", "--items", w.in("items.jsonl")}
	return w
}

func (w *itemsWorld) in(name string) string { return filepath.Join(w.dir, name) }

func (w *itemsWorld) put(name string, b []byte) {
	w.t.Helper()
	if err := os.WriteFile(w.in(name), b, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// withState calls do with the state of the folder.
func (w *itemsWorld) withState(do func(kept state.Store)) {
	w.t.Helper()
	cfg, err := config.Load(w.in("tablewake.yaml"))
	if err != nil {
		w.t.Fatal(err)
	}
	stores, err := local.Open(w.in("out"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer stores.Close()
	kept, err := stores.State(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	do(kept)
}

// interrupt begins the backfill, and stops it when it has written some rows.
func (w *itemsWorld) interrupt() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if about, err := os.Stat(w.in("out/views.db-wal")); err == nil && about.Size() > 1<<20 {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	var said bytes.Buffer
	if code := cli.Run(ctx, w.args, cli.Streams{Out: &said, Err: &said}, "(test)", program); code != cli.ExitInterrupted {
		w.t.Fatalf("exit code %d: %s", code, said.String())
	}
}

// failed requires that the backfill fails with a text.
func (w *itemsWorld) failed(what, want string) {
	w.t.Helper()
	if _, said := program.Run(w.t, cli.ExitFailure, w.args...); !strings.Contains(said, want) {
		w.t.Errorf("of %s it says %s", what, said)
	}
}

// refused requires that the backfill fails with a text, and that its sink is not live.
func (w *itemsWorld) refused(what, want string) {
	w.t.Helper()
	w.failed(what, want)
	if text, _ := program.Run(w.t, cli.ExitPlanned, "plan", "-c", w.in("tablewake.yaml"), "--local", w.in("out")); strings.Contains(text, "= rows") {
		w.t.Errorf("after %s plan says %s", what, text)
	}
}

// completed requires that the backfill makes the sinks live, and that the view has n rows.
func (w *itemsWorld) completed(sinks string, n int) {
	w.t.Helper()
	if text, said := program.Run(w.t, cli.ExitOK, w.args...); !strings.Contains(text, "\n"+sinks+": live\n") {
		w.t.Errorf("it says %s%s", text, said)
	}
	rows, _ := program.Run(w.t, cli.ExitOK, "query", "view", "rows", "--local", w.in("out"))
	if got := strings.Count(rows, "\n"); got != n {
		w.t.Errorf("%d rows, want %d", got, n)
	}
}

// itemLines returns n items, each a line.
func itemLines(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `{"PK":{"S":"%d"}}`+"\n", i)
	}
	return b.Bytes()
}

func packed(t *testing.T, b []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// An interrupted backfill refuses each file that differs from the one that it began to read, wherever it differs. It
// continues with a copy of that file, also a compressed one.
func TestReplacedItems(t *testing.T) {
	const n = 4000
	w, items := newItemsWorld(t, ""), itemLines(n)
	w.put("items.jsonl", items)
	w.interrupt()
	for what, b := range map[string][]byte{
		"another beginning":   bytes.Replace(items, []byte(`"3"`), []byte(`"x"`), 1),
		"another end":         bytes.Replace(items, []byte(`"3999"`), []byte(`"399x"`), 1),
		"fewer items":         itemLines(n / 2),
		"more items":          itemLines(n + 1),
		"fewer, compressed":   packed(t, itemLines(n-1)),
		"the last line blank": append(bytes.Clone(items), '\n'),
	} {
		w.put("items.jsonl", b)
		w.refused(what, "were replaced since the run ")
	}
	w.put("items.jsonl", items[:len(items)/2-3])
	w.refused("a cut copy", "the file ends within a JSON value, so it is cut short: copy the file again")
	w.put("items.jsonl", packed(t, items))
	w.completed("rows", n)
}

// A file that was cut on its way fills nothing. The same command fills the sink from the whole file.
func TestCutItems(t *testing.T) {
	items := itemLines(100)
	whole := packed(t, items)
	for want, cut := range map[string][]byte{
		"items.jsonl:51: the file ends within a JSON value": itemLines(51)[:len(itemLines(51))-3],
		"gzip data is cut short: copy the file again":       whole[:len(whole)-20],
	} {
		for _, settings := range []string{"", "dead_letters: {dir: dead, undecodable: block}\n"} {
			w := newItemsWorld(t, settings)
			w.put("items.jsonl", cut)
			text, _ := program.Run(t, cli.ExitFailure, slices.Concat(w.args, []string{"--dry-run"})...)
			if !strings.Contains(text, "fill rows (table rows), which is live\n") || !strings.Contains(text, "this is refused: items: ") || !strings.Contains(text, want) {
				t.Errorf("a dry run says %s", text)
			}
			w.failed("a cut file", want)
			w.put("items.jsonl", items)
			w.completed("rows", 100)
		}
	}
}

// With undecodable: block a line that cannot be decoded is refused before anything is written. So the corrected file is
// not another one than a part of which was read.
func TestBlockedItems(t *testing.T) {
	w, items := newItemsWorld(t, "dead_letters: {dir: dead, undecodable: block}\n"), itemLines(100)
	w.put("items.jsonl", bytes.Replace(items, []byte(`{"PK":{"S":"70"}}`), []byte(`{"PK":{"S":"70"}`), 1))
	w.failed("a broken line", "items.jsonl:71 (byte ")
	w.put("items.jsonl", items)
	w.completed("rows", 100)
}

// Lines that cannot be decoded and may be selected count as selected: the sink is live, and a redrive completes it.
func TestSelectedItemsAreUndecodable(t *testing.T) {
	orders := bytes.ReplaceAll(itemLines(3), []byte(`}}`), []byte(`},"Type":{"S":"Order"},"Total":{"N":"x"}}`))
	w := newItemsWorld(t, "")
	w.put("items.jsonl", append([]byte(`{"PK":{"S":"c"},"Type":{"S":"Customer"}}`+"\n"), orders...))
	all := w.args
	w.args = append(slices.Clone(all), "--type", "Ordr")
	w.refused("a wrong type", "select no item of the source")
	w.args = append(slices.Clone(all), "--type", "Order")
	if text, said := program.Run(t, cli.ExitDeadLetters, w.args...); !strings.Contains(text, "\nrows: live\n") {
		t.Errorf("it says %s%s", text, said)
	}
}

// An item that is in the files twice is refused before anything is written: a view whose row key comes from attributes
// would have two rows of it.
func TestRepeatedItems(t *testing.T) {
	w := newItemsWorld(t, "")
	repeated := []byte(`{"PK":{"S":"3"},"Name":{"S":"x"}}` + "\n")
	w.put("items.jsonl", append(itemLines(2000), repeated...))
	w.failed("an item twice in a file", "two items have the key 3, one in "+w.in("items.jsonl")+", the other in "+w.in("items.jsonl"))
	w.put("items.jsonl", itemLines(2000))
	w.put("more.jsonl", repeated)
	w.args = append(w.args, "--items", w.in("more.jsonl"))
	w.failed("an item in two files", "two items have the key 3, one in "+w.in("items.jsonl")+", the other in "+w.in("more.jsonl")+": remove the one")
	w.put("more.jsonl", []byte(`{"PK":{"S":"x"}}`+"\n"))
	w.completed("rows", 2001)

	w = newItemsWorld(t, "sensitive: [PK]\nhmac_key: ${KEY:-0123456789abcdef0123456789abcdef}\n")
	w.put("items.jsonl", append(itemLines(5), repeated...))
	w.failed("a sensitive key", "two items have the key masked-")
}
