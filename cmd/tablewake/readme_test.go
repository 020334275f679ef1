package main

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

// The README is short. Its first two commands are those that .ci/readme prints.
func TestReadme(t *testing.T) {
	readme := documents(t)[0]
	if n := strings.Count(readme.text, "\n"); n > 200 {
		t.Errorf("the README has %d lines, and 200 are enough", n)
	}
	var commands []string
	for _, b := range readme.blocks {
		if b.kind == "sh" {
			commands = append(commands, b.text)
		}
	}
	for i, want := range []string{"go run ./cmd/tablewake replay ", "go run ./test/servers -- go test "} {
		if i >= len(commands) || !strings.HasPrefix(commands[i], want) || strings.Count(commands[i], "\n") != 1 {
			t.Errorf("block %d of `sh` is not the one command %q", i+1, want)
		}
	}
}

// rowsOf returns the answer to a query of two columns as sqlite3 prints it.
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
