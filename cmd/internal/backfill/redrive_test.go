package backfill_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
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
