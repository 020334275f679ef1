package backfill_test

import (
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/audit"
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/test/exportfile"
)

// births matches the birth in a document, which differs from folder to folder.
var births = regexp.MustCompile(`"birth":"[0-9a-z]+"`)

// A line of the source that cannot be decoded is a dead letter, and stays one while it cannot be decoded. After that, a
// redrive delivers the line only to the sinks of the backfill. These sinks then hold what a clean backfill leaves.
func TestRedriveOfUndecodableLines(t *testing.T) {
	const strict = `version: 1
name: shop
source: {table: shop}
state: {table: state}
sinks:
  rows: {view: {table: rows, key: {PK: 'A#{@key}'}, attributes: {total: '{Total}'}}}
  sums: {aggregate: {table: sums, group: {PK: 'SUM'}, values: {n: count, total: {sum: Total}}, on_ttl_delete: retract}}
  mails: {view: {table: mails, key: {PK: 'M#{Mail}', SK: '-'}, attributes: {owner: '{@key}'}, on_collision: keep_first}}
  docs: {search: {index: docs}}
  log: {archive: {bucket: changes}}
dead_letters: {dir: dead}
`
	lines := `{"Item":{"PK":{"S":"a"},"Total":{"N":"1"},"Mail":{"S":"x"},"Tags":{"M":{}}}}
{"Item":{"PK":{"S":"b"},"Total":{"N":"2"},"Mail":{"S":"y"},"Tags":{}}}
{"PK":{"S":"c"},"Total":{"N":"4"},"Mail":{"S":"z"},"Tags":{}}
`
	broken := `{"Item":{"PK":{"S":"d"},"Total":{"N":"8"` + "\n"
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	lenient := strings.Replace(strict, "source: {table: shop}", "source: {table: shop, emulator: dynamodb-local}", 1)
	for name, text := range map[string]string{"strict.yaml": strict, "lenient.yaml": lenient, "items.jsonl": lines + broken, "whole.jsonl": lines} {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program.Run(t, cli.ExitOK, "backfill", "-c", in("lenient.yaml"), "--local", in("clean"), "--keys", "PK", "--items", in("whole.jsonl"))
	result, _ := program.Run(t, cli.ExitDeadLetters, "backfill", "-c", in("strict.yaml"), "--local", in("out"), "--keys", "PK", "--items", in("items.jsonl"))
	for _, command := range []string{"tablewake query dead --local " + in("out"), "tablewake redrive -c " + in("strict.yaml") + " --local " + in("out")} {
		if !strings.Contains(result, "`"+command+"`") {
			t.Errorf("without %s the backfill says\n%s", command, result)
		}
	}
	if list, _ := program.Run(t, cli.ExitOK, "redrive", "-c", in("strict.yaml"), "--local", in("out"), "--list"); strings.Count(list, "rows,sums,mails,docs") != 3 {
		t.Errorf("the letters do not name the sinks of the backfill:\n%s", list)
	}
	text, _ := program.Run(t, cli.ExitDeadLetters, "redrive", "-c", in("strict.yaml"), "--local", in("out"))
	if !strings.Contains(text, "3 still cannot be decoded") || !strings.Contains(text, "a line of the backfill's source ") {
		t.Errorf("the same program says\n%s", text)
	}
	text, _ = program.Run(t, cli.ExitDeadLetters, "redrive", "-c", in("lenient.yaml"), "--local", in("out"))
	if !strings.Contains(text, "2 could not be decoded before and can now") || !strings.Contains(text, "1 still cannot be decoded") {
		t.Errorf("a program that decodes them says\n%s", text)
	}
	for _, what := range [][]string{{"view", "rows"}, {"view", "sums"}, {"view", "mails"}, {"search", "docs"}} {
		args := func(folder string) []string { return []string{"query", what[0], what[1], "--local", in(folder)} }
		want, _ := program.Run(t, cli.ExitOK, args("clean")...)
		got, _ := program.Run(t, cli.ExitOK, args("out")...)
		if births.ReplaceAllString(got, "") != births.ReplaceAllString(want, "") || strings.Count(want, "\n") == 0 {
			t.Errorf("%s has\n%s, want\n%s", what[1], got, want)
		}
	}
	err := filepath.WalkDir(filepath.Join(in("out"), "archive"), func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(path, ".jsonl") {
			t.Errorf("the redrive wrote the archive, which the backfill did not fill: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	program.Run(t, cli.ExitOK, "redrive", "-c", in("lenient.yaml"), "--local", in("out"), "--class", "undecodable", "--discard")
	program.Run(t, cli.ExitOK, "redrive", "-c", in("lenient.yaml"), "--local", in("out"))
}

// The item of a line that is wrong gets into the sinks by an audit, once its dead letter is discarded. No redrive can
// deliver the line.
func TestAuditBringsTheItemOfAWrongLine(t *testing.T) {
	w := newItemsWorld(t, "")
	w.put("items.jsonl", append(itemLines(5), []byte(`{"PK":{"S":"5"},"Total":{"N":"x"}}`+"\n")...))
	program.Run(t, cli.ExitDeadLetters, w.args...)
	local := []string{"-c", w.in("tablewake.yaml"), "--local", w.in("out")}
	with := func(command string, more ...string) []string { return slices.Concat([]string{command}, local, more) }
	if text, _ := program.Run(t, cli.ExitDeadLetters, with("redrive")...); !strings.Contains(text, "`tablewake guide backfill` says how") {
		t.Errorf("of the line redrive says %s", text)
	}
	program.Run(t, cli.ExitOK, with("redrive", "--class", "undecodable", "--discard")...)

	lines := slices.Collect(func(yield func([]byte) bool) {
		for i := range 6 {
			if !yield(fmt.Appendf(nil, `{"PK":{"S":"%d"}}`, i)) {
				return
			}
		}
	})
	e := exportfile.Export{Table: "arn:aws:dynamodb:eu-west-1:123456789012:table/shop", TableID: "t", Bucket: "b", ID: "01695097218000-d6299cbd",
		Time: "2026-11-21T09:53:00.000Z", End: "2026-11-21T09:58:12.730Z", Files: []iter.Seq[[]byte]{slices.Values(lines)}}
	if err := e.Write(w.in("table")); err != nil {
		t.Fatal(err)
	}
	auditor, report := clitest.Program{audit.New}, w.in("audit.jsonl")
	auditor.Run(t, cli.ExitDifferences, with("audit", "--export", w.in("table"), "--keys", "PK", "--sink", "rows", "--report", report)...)
	auditor.Run(t, cli.ExitOK, with("audit", "--repair", report, "--export", w.in("table"), "--keys", "PK")...)
	rows, _ := program.Run(t, cli.ExitOK, "query", "view", "rows", "--local", w.in("out"))
	if !strings.Contains(rows, "A#5") || strings.Count(rows, "\n") != 6 {
		t.Errorf("after the repair the view has\n%s", rows)
	}
}
