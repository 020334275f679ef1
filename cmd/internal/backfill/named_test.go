package backfill_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// If an archive and a view are filled together, an interrupted backfill continues both. Readers of the archive see each
// item once.
func TestNamedArchive_GoesOn(t *testing.T) {
	const file = `version: 1
name: shop
source: {table: shop}
state: {table: state}
sinks:
  rows: {view: {table: rows, key: {PK: 'A#{@key}'}}}
  log: {archive: {bucket: log, batch: {count: 1000}}}
`
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	put := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(in(name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var whole bytes.Buffer
	w := gzip.NewWriter(&whole)
	for i := range 20_000 {
		fmt.Fprintf(w, `{"PK":{"S":"%d"},"R":{"S":"%x"}}`+"\n", i, sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	put("all.yaml", []byte(file))
	rows, _, _ := strings.Cut(file, "  log:")
	put("rows.yaml", []byte(rows))
	put("items.jsonl.gz", whole.Bytes()[:whole.Len()/2])
	args := []string{"backfill", "-c", in("all.yaml"), "--local", in("out"), "--keys", "PK", "--items", in("items.jsonl.gz")}
	if _, said := program.Run(t, cli.ExitFailure, append(args, "--sink", "log,rows")...); !strings.Contains(said, "copy the file") {
		t.Fatalf("of the cut file it says %s", said)
	}
	put("items.jsonl.gz", whole.Bytes())
	if text, said := program.Run(t, cli.ExitOK, args...); !strings.Contains(text, "log, rows: live\n") {
		t.Fatalf("the same run continues without names: %s%s", text, said)
	}
	text, _ := program.Run(t, cli.ExitOK, "replay", "-c", in("rows.yaml"), "--local", in("again"), in("out/archive/log"), "-o", "json")
	if !strings.Contains(text, `"records":20000,`) {
		t.Errorf("a replay of the archive reads %s", text)
	}
	for _, folder := range []string{"out", "again"} {
		rows, _ := program.Run(t, cli.ExitOK, "query", "view", "rows", "--local", in(folder))
		if n := strings.Count(rows, "\n"); n != 20_000 {
			t.Errorf("%s: %d rows, want 20,000", folder, n)
		}
	}
}
