package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// What the README shows of its first command is what the command does.
func TestReadme(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	_, text, found := strings.Cut(string(readme), "```sh\ngo run ./cmd/tablewake ")
	command, text, ends := strings.Cut(text, "\n")
	if !found || !ends {
		t.Fatal("the README has no first command")
	}
	if got := tablewake(t, command, out); !strings.Contains(got, "source: read 1,966 = routed 1,966\n") {
		t.Errorf("the first command printed\n%s", got)
	}
	_, text, found = strings.Cut(text, "```console\n")
	console, _, ends := strings.Cut(text, "\n```")
	if !found || !ends {
		t.Fatal("the README shows no console")
	}
	shown := strings.Split("\n"+console, "\n$ ")[1:]
	if len(shown) < 4 {
		t.Fatalf("the README shows %d commands", len(shown))
	}
	elided := regexp.MustCompile(`"_tw":\{[^}]*\}`)
	for _, s := range shown {
		command, want, _ := strings.Cut(s, "\n")
		var got string
		if line, ok := strings.CutPrefix(command, "tablewake "); ok {
			got = elided.ReplaceAllString(tablewake(t, line, out), `"_tw":{...}`)
		} else if line, ok := strings.CutPrefix(command, "sqlite3 out/views.db "); ok {
			got = rowsOf(t, filepath.Join(out, "views.db"), strings.Trim(line, "'"))
		} else {
			t.Errorf("who runs %q?", command)
		}
		if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
			t.Errorf("%s (-README +command):\n%s", command, diff)
		}
	}
}

// tablewake runs a command line, with out for its folder, and returns what it printed, at its end where
// there is more.
func tablewake(t *testing.T, line, out string) string {
	t.Helper()
	args := strings.Fields(line)
	for i, a := range args {
		args[i] = strings.Trim(a, "'")
		if a == "out" {
			args[i] = out
		}
	}
	var stdout, stderr bytes.Buffer
	if code := program.Main(args, cli.Streams{Out: &stdout, Err: &stderr}); code != cli.ExitOK || stderr.Len() > 0 && !strings.HasPrefix(stderr.String(), "there are more: ") {
		t.Fatalf("tablewake %s: exit code %d\n%s", line, code, stderr.String())
	}
	return stdout.String() + stderr.String()
}

// rowsOf is the answer to a query of two columns as sqlite3 prints it.
func rowsOf(t *testing.T, path, text string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s|%d\n", name, n)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The README's backfill and the stream after it end as the stream alone.
func TestReadme_Backfill(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(readme), "```console\n$ tablewake backfill ")
	console, _, ends := strings.Cut(text, "\n```")
	if !found || !ends {
		t.Fatal("the README shows no backfill")
	}
	filled, streamed := filepath.Join(t.TempDir(), "out2"), filepath.Join(t.TempDir(), "out")
	for _, shown := range strings.Split("tablewake backfill "+console, "\n$ ") {
		command, want, _ := strings.Cut(shown, "\n")
		line := strings.Replace(strings.TrimPrefix(command, "tablewake "), "--local out2", "--local out", 1)
		if got := tablewake(t, line, filled); !strings.HasSuffix(strings.TrimSpace(got), strings.TrimSpace(want)) {
			t.Errorf("%s printed\n%s\nwant, at the end,\n%s", command, got, want)
		}
		tablewake(t, "replay -c test/fixtures/shop/tablewake.yaml --local out test/fixtures/shop/stream.jsonl", streamed)
	}
	const query = "query view shop-views --local out -n 0"
	if diff := cmp.Diff(tablewake(t, query, streamed), tablewake(t, query, filled)); diff != "" {
		t.Errorf("rows (-stream alone +backfill and stream):\n%s", diff)
	}
}
