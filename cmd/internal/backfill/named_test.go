package backfill_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// If an archive and a view are filled together, an interrupted backfill continues both, also without their names.
// Readers of the archive see each item once.
func TestNamedArchive_GoesOn(t *testing.T) {
	const n = 4000
	w := newItemsWorld(t, "  log: {archive: {bucket: log, batch: {count: 200}}}\n")
	w.put("items.jsonl", itemLines(n))
	unnamed := w.args
	w.args = slices.Concat(unnamed, []string{"--sink", "log,rows"})
	w.interrupt()
	w.args = unnamed
	w.completed("log, rows", n)
	view := newItemsWorld(t, "")
	text, _ := program.Run(t, cli.ExitOK, "replay", "-c", view.in("tablewake.yaml"), "--local", view.in("again"), w.in("out/archive/log"), "-o", "json")
	if !strings.Contains(text, `"records":4000,`) {
		t.Errorf("a replay of the archive reads %s", text)
	}
	rows, _ := program.Run(t, cli.ExitOK, "query", "view", "rows", "--local", view.in("again"))
	if got := strings.Count(rows, "\n"); got != n {
		t.Errorf("%d rows, want %d", got, n)
	}
}
