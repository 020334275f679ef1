package backfill_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/audit"
	"github.com/tablewake/tablewake/cmd/internal/backfill"
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/cmd/internal/plan"
	"github.com/tablewake/tablewake/cmd/internal/query"
	"github.com/tablewake/tablewake/cmd/internal/redrive"
	"github.com/tablewake/tablewake/cmd/internal/replay"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
)

var program = clitest.Program{backfill.New, audit.New, plan.New, replay.New, query.New, redrive.New}

const threeViews = `version: 1
name: shop
source: {table: shop}
state: {table: state}
sinks:
  a: {view: {table: rows, key: {PK: 'A#{@key}'}}}
  b: {view: {table: rows, key: {PK: 'B#{@key}'}}}
  c: {view: {table: rows, key: {PK: 'C#{@key}'}}}
`

// files writes the configuration threeViews and a file with one item into a new folder.
func files(t *testing.T) (dir, cfg, items string) {
	t.Helper()
	dir = t.TempDir()
	cfg, items = filepath.Join(dir, "tablewake.yaml"), filepath.Join(dir, "items.jsonl")
	for path, text := range map[string]string{cfg: threeViews, items: `{"PK":{"S":"x"}}` + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, cfg, items
}

// changeBirths sets the stored stages of the sinks as a killed process leaves them.
func changeBirths(t *testing.T, dir string, change func(*state.Birth)) {
	t.Helper()
	cfg, err := config.Parse("tablewake.yaml", []byte(threeViews), nil)
	if err != nil {
		t.Fatal(err)
	}
	stores, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stores.Close()
	if _, err := sinks.Assemble(t.Context(), cfg, stores); err != nil {
		t.Fatal(err)
	}
	kept, err := stores.State(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range kept.Births(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		next := b
		change(&next)
		if next != b {
			if done, err := kept.SetBirth(t.Context(), b, next); err != nil || !done {
				t.Fatal(done, err)
			}
		}
	}
}

// If a process was killed while it stored the stages, at the start or at the end, the same command completes the
// backfill.
func TestKilledBetweenTheBirths(t *testing.T) {
	for name, change := range map[string]func(*state.Birth){
		"at the begin": func(b *state.Birth) {
			if b.Sink == "a" {
				b.Stage, b.Run = state.Filling, "r"
			}
		},
		"between two that wait": func(b *state.Birth) {
			b.Stage = state.Waiting
			if b.Sink == "a" {
				b.Stage, b.Run = state.Filling, "r"
			}
		},
	} {
		dir, cfg, items := files(t)
		out, nothing := filepath.Join(dir, "out"), filepath.Join(dir, "nothing.jsonl")
		if err := os.WriteFile(nothing, []byte("[]"), 0o600); err != nil {
			t.Fatal(err)
		}
		program.Run(t, cli.ExitOK, "replay", "-c", cfg, "--local", out, nothing)
		changeBirths(t, out, change)
		args := []string{"backfill", "-c", cfg, "--local", out, "--keys", "PK", "--items", items}
		if strings.Contains(name, "wait") {
			history := filepath.Join(dir, "stream.jsonl")
			if err := os.WriteFile(history, []byte(clitest.Order("x", "1")), 0o600); err != nil {
				t.Fatal(err)
			}
			args = []string{"backfill", "-c", cfg, "--local", out, "--archive", history}
		}
		text, said := program.Run(t, cli.ExitOK, args...)
		if !strings.Contains(text, "a, b, c: live\n") {
			t.Errorf("%s: the same command says %s%s", name, text, said)
		}
	}
	dir, cfg, items := files(t)
	out := filepath.Join(dir, "out")
	program.Run(t, cli.ExitOK, "backfill", "-c", cfg, "--local", out, "--keys", "PK", "--items", items)
	changeBirths(t, out, func(b *state.Birth) {
		if b.Sink != "a" {
			b.Stage, b.ReadUntil = state.Settling, time.Now().UTC().Truncate(time.Second)
		}
	})
	if text, said := program.Run(t, cli.ExitOK, "backfill", "-c", cfg, "--local", out, "--keys", "PK", "--items", items); !strings.Contains(text, "a, b, c: live\n") {
		t.Errorf("at the end: the same command says %s%s", text, said)
	}
}

// A backfill does not complete with a history that is cut. Once the history is whole, the same command completes it.
func TestCutHistory(t *testing.T) {
	dir, cfg, _ := files(t)
	out, path := filepath.Join(dir, "out"), filepath.Join(dir, "stream.jsonl.gz")
	var whole bytes.Buffer
	w := gzip.NewWriter(&whole)
	for range 50 {
		if _, err := w.Write([]byte(clitest.Order("x", "1") + clitest.Order("y", "2"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	args := []string{"backfill", "-c", cfg, "--local", out, "--archive", path}
	if err := os.WriteFile(path, whole.Bytes()[:whole.Len()-20], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, said := program.Run(t, cli.ExitFailure, args...); !strings.Contains(said, "the archive is not complete") {
		t.Errorf("of a history that is cut it says %s", said)
	}
	if err := os.WriteFile(path, whole.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, _ := program.Run(t, cli.ExitOK, args...); !strings.Contains(text, "a, b, c: live\n") {
		t.Errorf("of the whole history it says %s", text)
	}
}

// If the settings of an empty sink change, the sink waits again, because the former settings left out changes. A
// backfill then fills the sink, even with an item that was in the sink under the former settings and left a tombstone.
func TestEmptySinkWaitsAgain(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := func(name, when string) {
		t.Helper()
		write(name, `version: 1
name: shop
source: {table: shop}
state: {table: state}
sinks:
  all: {view: {table: rows, key: {PK: 'A#{@key}'}}}
  paid: {view: {table: rows, key: {PK: 'P#{@key}'}, `+when+`}}
  in_place: {view: {table: rows, key: {PK: 'I#{@key}'}, tombstones: in_place, `+when+`}}
`)
	}
	file("old.yaml", `when: 'item.Status == "open"'`)
	file("new.yaml", `when: 'item.Status == "paid"'`)
	// Item a was in the sinks and left them. Item b was never in a sink.
	modify := strings.NewReplacer("INSERT", "MODIFY", `"NewImage"`, `"OldImage":{"PK":{"S":"a"},"Status":{"S":"open"}},"NewImage"`)
	history := strings.Replace(clitest.Order("a", "1"), "paid", "open", 1) + modify.Replace(clitest.Order("a", "2")) + clitest.Order("b", "3")
	write("stream.jsonl", history)
	write("items.jsonl", `{"PK":{"S":"a"},"Status":{"S":"paid"}}`+"\n"+`{"PK":{"S":"b"},"Status":{"S":"paid"}}`+"\n")
	write("first.jsonl", strings.SplitAfter(history, "\n")[0])
	write("rest.jsonl", strings.Join(strings.SplitAfter(history, "\n")[1:], ""))
	write("nothing.jsonl", "[]")
	program.Run(t, cli.ExitOK, "replay", "-c", in("old.yaml"), "--local", in("out"), in("first.jsonl"))
	program.Run(t, cli.ExitOK, "replay", "-c", in("old.yaml"), "--local", in("out"), in("rest.jsonl"))

	// A start refuses a sink with tombstones in place: they have the former birth, and would refuse the items of a
	// backfill.
	text, _ := program.Run(t, cli.ExitPlanned, "plan", "-c", in("new.yaml"), "--local", in("out"))
	for _, want := range []string{"~ paid (table rows)\n", "it holds nothing: at its next start it takes the settings, and waits", "a start is refused: take the settings back"} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q plan says %s", want, text)
		}
	}
	if _, said := program.Run(t, cli.ExitFailure, "replay", "-c", in("new.yaml"), "--local", in("out"), in("nothing.jsonl")); !strings.Contains(said, "sinks.in_place: what it holds") || strings.Contains(said, "sinks.paid") {
		t.Errorf("a start says %s", said)
	}

	write("new.yaml", strings.Replace(readFile(t, in("new.yaml")), "  in_place: {", "  in_another_place: {", 1))
	text, _ = program.Run(t, cli.ExitOK, "backfill", "-c", in("new.yaml"), "--local", in("out"), "--dry-run", "--sink", "paid", "--archive", in("stream.jsonl"))
	if !strings.Contains(text, "fill paid (table rows), which is waiting") {
		t.Errorf("a dry run says %s", text)
	}
	for range 2 { // the second start finds nothing to change
		_, said := program.Run(t, cli.ExitOK, "replay", "-c", in("new.yaml"), "--local", in("out"), in("stream.jsonl"))
		if !strings.Contains(said, "it waits, and writes nothing until it is filled") {
			t.Errorf("a start says %s", said)
		}
	}
	if text, _ := program.Run(t, cli.ExitOK, "query", "view", "rows", "--local", in("out")); strings.Contains(text, "P#") {
		t.Errorf("while it waits it holds %s", text)
	}
	prepared, _ := program.Run(t, cli.ExitOK, "backfill", "-c", in("new.yaml"), "--local", in("out"), "--sink", "paid", "--prepare", "-o", "json")
	var floor struct{ Earliest string }
	if err := json.Unmarshal([]byte(prepared), &floor); err != nil {
		t.Fatal(err)
	}
	program.Run(t, cli.ExitOK, "backfill", "-c", in("new.yaml"), "--local", in("out"), "--sink", "paid", "--keys", "PK", "--items", in("items.jsonl"), "--shown-at", floor.Earliest)
	if text, _ := program.Run(t, cli.ExitOK, "query", "view", "rows", "--local", in("out")); !strings.Contains(text, "P#a") || !strings.Contains(text, "P#b") {
		t.Errorf("filled it holds %s", text)
	}

	const older = "../../../test/fixtures/shop/export"
	_, said := program.Run(t, cli.ExitUsage, "audit", "-c", in("new.yaml"), "--local", in("out"), "--sink", "paid", "--keys", "PK", "--export", older, "--report", in("report.jsonl"))
	if !strings.Contains(said, "and a backfill has filled the sink paid with items as of "+floor.Earliest+" or later: name an export that was made after that, or also the records with all changes since the export") {
		t.Errorf("an audit with an older export says %s", said)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A dry run reports each reason why the run would be refused, and which items the selection reads. It ends as the
// refused run would.
func TestDryRunSaysWhatIsRefused(t *testing.T) {
	dir, cfg, items := files(t)
	out, stream := filepath.Join(dir, "out"), filepath.Join(dir, "stream.jsonl")
	if err := os.WriteFile(stream, []byte(clitest.Order("x", "1")), 0o600); err != nil {
		t.Fatal(err)
	}
	program.Run(t, cli.ExitOK, "replay", "-c", cfg, "--local", out, stream)
	added := strings.Replace(threeViews, "'C#{@key}'", "'X#{@key}'", 1) + "  d: {view: {table: rows, key: {PK: 'D#{@key}'}, when: 'item.Total > 5'}}\n"
	if err := os.WriteFile(cfg, []byte(added), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"backfill", "-c", cfg, "--local", out, "--sink", "d", "--keys", "PK", "--items", items, "--key-prefix", "x", "--shown-at", "2126-01-01T00:00:00Z"}
	text, said := program.Run(t, cli.ExitFailure, append(args, "--dry-run")...)
	for _, want := range []string{
		"fill d (table rows), which is waiting\n", `key prefix "PK"="x"`,
		"this is refused: the sink c was written under other settings",
		"this is refused: d: a sink waits, and this source is older than its floor: set the floor with --prepare",
		"and repeat the command, with --shown-at TIME for --items;",
		"this is refused: the source shows the table as of 2126-01-01T00:00:00Z, which is in the future",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q it says %s", want, text)
		}
	}
	if strings.Count(said, "the sink d may take items that") != 1 {
		t.Errorf("of the narrowing it says %s", said)
	}
}

// A plan and a dry run create no table for a sink that never ran.
func TestPlansCreateNothing(t *testing.T) {
	dir, cfg, items := files(t)
	out := filepath.Join(dir, "out")
	program.Run(t, cli.ExitOK, "backfill", "-c", cfg, "--local", out, "--keys", "PK", "--items", items)
	added := threeViews + "  d: {view: {table: more, key: {PK: 'D#{@key}'}}}\n"
	if err := os.WriteFile(cfg, []byte(added), 0o600); err != nil {
		t.Fatal(err)
	}
	program.Run(t, cli.ExitPlanned, "plan", "-c", cfg, "--local", out)
	program.Run(t, cli.ExitOK, "backfill", "-c", cfg, "--local", out, "--sink", "d", "--archive", items, "--dry-run")
	if _, said := program.Run(t, cli.ExitFailure, "query", "view", "more", "--local", out); !strings.Contains(said, "no view table \"more\"") {
		t.Errorf("of the table it says %s", said)
	}
}

// If two items have the same key, --keys does not name the whole key of the table.
func TestKeysThatAreNoKey(t *testing.T) {
	dir, cfg, items := files(t)
	if err := os.WriteFile(items, []byte(`{"PK":{"S":"x"},"SK":{"S":"1"}}`+"\n"+`{"PK":{"S":"x"},"SK":{"S":"2"}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"backfill", "-c", cfg, "--local", filepath.Join(dir, "out"), "--items", items, "--keys"}
	if _, said := program.Run(t, cli.ExitFailure, append(args, "PK")...); !strings.Contains(said, "if this is only a part of the table's key, name all key attributes") {
		t.Errorf("of a part of the key it says %s", said)
	}
	if text, _ := program.Run(t, cli.ExitOK, append(args, "PK,SK", "--sink", "a,b,c")...); !strings.Contains(text, "a, b, c: live\n") {
		t.Errorf("with the key it says %s", text)
	}
}
