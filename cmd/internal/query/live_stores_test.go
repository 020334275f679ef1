package query_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
)

// The real stores are queried like a folder: rows by sort key and by pages, groups, documents, archives and dead
// letters.
func TestQuery_Live(t *testing.T) {
	file, name, _ := clitest.OnServers(t)
	stream := filepath.Join(t.TempDir(), "stream.jsonl")
	var records strings.Builder
	for i, key := range []string{"a", "b", "c", "d"} {
		records.WriteString(clitest.Order(key, string(rune('1'+i))))
	}
	if err := os.WriteFile(stream, []byte(records.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	program.Run(t, cli.ExitOK, "replay", "-c", file, "--live", "--create", stream)
	for _, tt := range []struct {
		line string
		want []string // parts of the lines, in order
	}{
		{"view --pk STATUS#paid", []string{"a", "b", "c", "d"}},
		{"view " + name + "-rows --pk STATUS#paid --reverse -n 2", []string{"d", "c"}},
		{"view --pk STATUS#paid --between b,c", []string{"b", "c"}},
		{"view --pk STATUS#paid --between ,b --reverse", []string{"b", "a"}},
		{"view --pk STATUS#paid --begins-with c", []string{"c"}},
		{"view --pk PAID", []string{"n=4"}},
		{"view", []string{"PAID", "a", "b", "c", "d"}},
		{"search " + name + " Status:paid -n 3", []string{"paid", "paid", "paid"}},
		{"search " + name, []string{"paid", "paid", "paid", "paid"}},
		{"archive -n 2", []string{"INSERT", "INSERT"}},
		{"archive --prefix other/", nil},
		{"dead", nil},
	} {
		out, _ := program.Run(t, cli.ExitOK, append([]string{"query"}, append(strings.Fields(tt.line), "-c", file, "--live")...)...)
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if out == "" {
			lines = nil
		}
		if len(lines) != len(tt.want) {
			t.Errorf("query %s shows %d lines, want %d:\n%s", tt.line, len(lines), len(tt.want), out)
			continue
		}
		for i, want := range tt.want {
			if !strings.Contains(lines[i], want) {
				t.Errorf("query %s: line %d is %q, want %q in it", tt.line, i, lines[i], want)
			}
		}
	}
	_, said := program.Run(t, cli.ExitOK, "query", "view", "--pk", "STATUS#paid", "-n", "2", "-c", file, "--live")
	_, next, found := strings.Cut(said, "--after ")
	if !found {
		t.Fatalf("there is no cursor: %s", said)
	}
	if out, _ := program.Run(t, cli.ExitOK, "query", "view", "--pk", "STATUS#paid", "--after", strings.Fields(next)[0], "-c", file, "--live"); strings.Count(out, "\n") != 2 {
		t.Errorf("behind the cursor there is\n%s", out)
	}
	if _, said := program.Run(t, cli.ExitFailure, "query", "search", "nosuch", "-c", file, "--live"); !strings.Contains(said, "there are "+name) {
		t.Errorf("of an unknown index it says %s", said)
	}
	if _, said := program.Run(t, cli.ExitFailure, "query", "events", "-c", file, "--live"); !strings.Contains(said, "no notify sink with a queue") {
		t.Errorf("without queues it says %s", said)
	}
}
