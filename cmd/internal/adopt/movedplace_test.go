package adopt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
)

// movable returns a configuration with the table of a view, the start of its rows' keys, and the template of index
// names.
func movable(table, prefix, index string) string {
	return fmt.Sprintf(`version: 1
name: shop
source: {table: shop}
sinks:
  orders: {view: {table: %s, key: {PK: '%s', SK: '{@key}'}}}
  docs: {search: {index: '%s', create: on_demand}}
dead_letters: {dir: dead}
`, table, prefix, index)
}

// If the file names another place for a sink, the sink was moved, and its state is not reported as lost. A sink that
// holds nothing starts at the new place. adopt accepts another template of index names, but not another table.
func TestAdopt_MovedPlace(t *testing.T) {
	const flawed = "{Status|date:2006}"
	for name, test := range map[string]struct {
		was, is string // the file when the sinks wrote, and the file now
		wrote   int    // exit code of a replay under was
		takes   int    // exit code of a replay under is
		adopts  int    // exit code of adopt after that
		says    string
	}{
		"a template of indexes is fixed": {
			movable("rows", "S#{Status}", "docs-{Status|index_name}-"+flawed), movable("rows", "S#{Status}", "docs-{Status|index_name}"),
			cli.ExitDeadLetters, cli.ExitOK, cli.ExitOK, "nothing to adopt",
		},
		"a template of indexes is another": {
			movable("rows", "S#{Status}", "docs-{Status|index_name}"), movable("rows", "S#{Status}", "docs-all-{Status|index_name}"),
			cli.ExitOK, cli.ExitFailure, cli.ExitOK, "accepted: docs",
		},
		"a sink that holds nothing": {
			movable("rows", flawed, "docs"), movable("others", "S#{Status}", "docs"),
			cli.ExitDeadLetters, cli.ExitOK, cli.ExitOK, "nothing to adopt",
		},
		"another table": {
			movable("rows", "S#{Status}", "docs"), movable("others", "S#{Status}", "docs"),
			cli.ExitOK, cli.ExitFailure, cli.ExitFailure, "what it wrote is in another place, table rows",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, stream, out := filepath.Join(dir, "shop.yaml"), filepath.Join(dir, "stream.jsonl"), filepath.Join(dir, "out")
			write := func(name, text string) {
				t.Helper()
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			replay := []string{"replay", "-c", file, "--local", out, stream}
			adopt := []string{"adopt", "-c", file, "--local", out, "--yes"}
			write(stream, clitest.Order("a", "1"))
			write(file, test.was)
			program.Run(t, test.wrote, replay...)
			write(file, test.is)
			_, said := program.Run(t, test.takes, replay...)
			if strings.Contains(said, "the state was lost") || test.takes == cli.ExitFailure && !strings.Contains(said, "was written under other settings") {
				t.Errorf("a replay says %s", said)
			}
			text, said := program.Run(t, test.adopts, adopt...)
			if !strings.Contains(text+said, test.says) {
				t.Errorf("adopt says %s%s", text, said)
			}
			if test.adopts != cli.ExitOK {
				return
			}
			program.Run(t, cli.ExitOK, replay...)
			if text, said := program.Run(t, cli.ExitOK, adopt...); !strings.Contains(text, "nothing to adopt") {
				t.Errorf("adopt says in the end %s%s", text, said)
			}
		})
	}
}
