package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// No command prints a sequence that a terminal would obey, whatever keys, values, file names and arguments hold.
func TestPrintable_AllCommands(t *testing.T) {
	const evil = "\x1b]0;owned\x07\u009b31m\u202e"
	dir := t.TempDir()
	file, input := filepath.Join(dir, "tablewake.yaml"), filepath.Join(dir, "stream.jsonl")
	config := "version: 1\nname: shop\nsource: {table: shop}\nsinks:\n" +
		"  orders: {view: {table: rows, key: {PK: '{Status}', SK: '{@key}'}, attributes: {note: '{Note}'}}}\n" +
		"  found: {search: {index: products, fields: {include: [Note]}}}\n  log: {archive: {bucket: b, prefix: p/}}\n"
	text := strings.NewReplacer("\x1b", `\u001b`, "\x07", `\u0007`).Replace(evil)
	record := fmt.Sprintf(`{"eventID":"1","eventName":"INSERT","eventSource":"aws:dynamodb","dynamodb":{"ApproximateCreationDateTime":1767323045,"SequenceNumber":"100","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"k%[1]s"}},"NewImage":{"PK":{"S":"k%[1]s"},"Status":{"S":"s%[1]s"},"Note":{"S":"n%[1]s"}}}}`, text)
	for path, body := range map[string]string{file: config, input: record + "\n" + strings.Replace(record, `"PK":{"S"`, `"PK`+text+`":{"X"`, 2) + "\n"} {
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out")
	shown := 0
	for _, args := range [][]string{
		{"replay", "-c", file, "--local", out, input}, {"explain", "-c", file, input}, {"explain", "-c", file, "-o", "json", input},
		{"query", "view", "rows", "--local", out}, {"query", "view", "rows", "--local", out, "-o", "json"}, {"query", "search", "products", "--local", out},
		{"query", "dead", "--local", out}, {"query", "dead", "--local", out, "-o", "json"}, {"query", "--local", out},
		{"redrive", "-c", file, "--local", out, "--list"}, {"redrive", "-c", file, "--local", out}, {"cost", "-c", file, input},
		{"validate", "-c", file}, {"validate", "-c", evil}, {"status", "-c", file, "--local", out}, {"why", "-c", file, "--local", out, evil},
		{"test", "-c", evil}, {"leases", "list", "-c", file, "--local", out}, {"record", "--table", evil, "--out", evil + "/no/such"}, {evil}, {"replay", "--" + evil},
	} {
		var both bytes.Buffer
		program.Main(args, cli.Streams{Out: &both, Err: &both})
		if strings.ContainsAny(both.String(), "\x1b\x07\u009b\u202e") {
			t.Errorf("%q shows %q", args, both.String())
		}
		if strings.Contains(both.String(), `\u001b`) || strings.Contains(both.String(), `\x1b`) {
			shown++
		}
	}
	if shown < 4 {
		t.Errorf("only %d commands had anything to escape", shown)
	}
}
