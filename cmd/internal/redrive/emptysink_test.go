package redrive_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
)

// If all changes of a sink are dead letters, the sink takes fixed settings by itself. After the letters are redriven,
// the sink holds what a clean pass leaves.
func TestRedrive_SinkThatHoldsNothing(t *testing.T) {
	for _, test := range []struct{ sink, good, flawed string }{
		{"orders", "table: rows, when: 'item.N == 1'", "table: rows, when: 'item.Mail > 1'"},
		{"kept", "table: in-place, when: 'item.N == 1'", "table: in-place, when: 'item.Mail > 1'"},
		{"mails", "mails: {view: {", "mails: {view: {when: 'item.Mail > 1', "},
		{"paid", "n: {sum: N}", "n: {sum: Mail}"},
		{"docs", "index: docs, when: 'item.N == 1'", "index: docs, when: 'item.Mail > 1'"},
	} {
		t.Run(test.sink, func(t *testing.T) {
			f := replayFlawed(t, test.good, test.flawed, strings.NewReplacer(`"Total":{"S":`, `"Total":{"N":`))
			report, said := program.Run(t, cli.ExitOK, "redrive", "-c", f.file, "--local", f.out)
			if strings.Count(said, "the sink holds nothing") != 1 || !strings.Contains(said, "sink="+test.sink) {
				t.Errorf("under other settings redrive says %s", said)
			}
			t.Logf("%s", report)
			if _, said := program.Run(t, cli.ExitOK, "redrive", "-c", f.file, "--local", f.out); strings.Contains(said, "holds nothing") {
				t.Errorf("the settings are taken, and redrive says %s", said)
			}
			f.compare(t)
			if _, said := program.Run(t, cli.ExitFailure, "replay", "-c", f.flawed, "--local", f.out, f.stream); !strings.Contains(said, "`tablewake adopt -c "+f.flawed+" --local "+f.out+" --sink "+test.sink+"`") {
				t.Errorf("under the former settings a replay says %s", said)
			}
		})
	}
}

// An archive takes other settings until it has an object. A setting that separates old from new, such as tombstones, is
// never changed in the middle.
func TestReplay_SettingsOfAnArchive(t *testing.T) {
	dir := t.TempDir()
	file, stream, out := filepath.Join(dir, "shop.yaml"), filepath.Join(dir, "stream.jsonl"), filepath.Join(dir, "out")
	if err := os.WriteFile(stream, []byte(clitest.Order("a", "1")), 0o644); err != nil {
		t.Fatal(err)
	}
	replay := func(code int, status, tombstones string) (said string) {
		t.Helper()
		text := `version: 1
name: shop
source: {table: shop}
sinks:
  log: {archive: {prefix: changes/, when: 'new.Status == "` + status + `"'}}
  none: {view: {table: rows, when: 'item.Status == "none"', tombstones: ` + tombstones + `, key: {PK: '{Status}', SK: '{@key}'}}}
`
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, said = program.Run(t, code, "replay", "-c", file, "--local", out, stream)
		return said
	}
	replay(cli.ExitOK, "open", "apart")
	if said := replay(cli.ExitOK, "paid", "apart"); !strings.Contains(said, "sink=log") {
		t.Errorf("of an archive that holds nothing it says %s", said)
	}
	if said := replay(cli.ExitFailure, "open", "apart"); !strings.Contains(said, "sinks.log: what it holds") {
		t.Errorf("of an archive that has an object it says %s", said)
	}
	if said := replay(cli.ExitFailure, "paid", "in_place"); !strings.Contains(said, "sinks.none: what it holds") {
		t.Errorf("of other tombstones it says %s", said)
	}
}

// A letter that the store refuses again stays, because no newer version of its item has overtaken it.
func TestRedrive_RefusedLetterStays(t *testing.T) {
	dir := t.TempDir()
	file, holder, later, out := filepath.Join(dir, "shop.yaml"), filepath.Join(dir, "holder.jsonl"), filepath.Join(dir, "later.jsonl"), filepath.Join(dir, "out")
	for name, text := range map[string]string{holder: clitest.Order("a", "1"), later: clitest.Order("b", "2"), file: `version: 1
name: shop
source: {table: shop}
sinks:
  first: {view: {table: rows, key: {PK: 'S#{Status}', SK: FIRST}, on_collision: dead_letter}}
`} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The changes are replayed one after the other. If b came first, a would take over the row, and there would be no
	// letter.
	program.Run(t, cli.ExitOK, "replay", "-c", file, "--local", out, holder)
	program.Run(t, cli.ExitDeadLetters, "replay", "-c", file, "--local", out, later)
	for range 2 {
		if text, _ := program.Run(t, cli.ExitDeadLetters, "redrive", "-c", file, "--local", out); !strings.Contains(text, "stays: ") || strings.Contains(text, "superseded") {
			t.Errorf("redrive says %s", text)
		}
	}
}

// A letter that still fails is removed once its sink has a newer version of the item.
func TestRedrive_OvertakenLetterGoes(t *testing.T) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "shop.yaml"), filepath.Join(dir, "out")
	if err := os.WriteFile(file, []byte(`version: 1
name: shop
source: {table: shop}
sinks:
  orders: {view: {table: rows, when: 'item.N > 0', key: {PK: ORDER, SK: '{@key}'}}}
  mails: {view: {table: rows, when: 'item.N > 0', key: {PK: 'N#{N}', SK: MAIL}, on_collision: last}}
  sum: {aggregate: {table: rows, when: 'item.N > 0', group: {PK: SUM, SK: '-'}, values: {n: count}, on_ttl_delete: retract}}
  docs: {search: {index: docs, when: 'item.N > 0'}}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	streams := make([]string, 2)
	for i, n := range []string{`"S":"x"`, `"N":"5"`} {
		streams[i] = filepath.Join(dir, string(rune('a'+i))+".jsonl")
		record := strings.NewReplacer(`"Status":{"S":"paid"}`, `"N":{`+n+`}`, "INSERT", "MODIFY", `"NewImage"`, `"OldImage":{"PK":{"S":"a"},"N":{"N":"1"}},"NewImage"`).Replace(clitest.Order("a", string(rune('1'+i))))
		if err := os.WriteFile(streams[i], []byte(record), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program.Run(t, cli.ExitDeadLetters, "replay", "-c", file, "--local", out, streams[0])
	if text, _ := program.Run(t, cli.ExitDeadLetters, "redrive", "-c", file, "--local", out); strings.Contains(text, "superseded") {
		t.Errorf("before the newer version redrive says %s", text)
	}
	program.Run(t, cli.ExitOK, "replay", "-c", file, "--local", out, streams[1])
	if text, _ := program.Run(t, cli.ExitOK, "redrive", "-c", file, "--local", out); !strings.Contains(text, "4 superseded: the sink has a newer version of their items") {
		t.Errorf("redrive says %s", text)
	}
	if text, _ := program.Run(t, cli.ExitOK, "query", "dead", "--local", out); text != "" {
		t.Errorf("there stay %s", text)
	}
}
