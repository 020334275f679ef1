package adopt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/sinks/state"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
)

// purge keeps the tombstones that a backfill needs until its sink is live. Without a tombstone, the backfill would
// bring a removed document back.
func TestPurge_WhileASinkIsFilled(t *testing.T) {
	file, name, tables := clitest.OnServers(t)
	stream := filepath.Join(t.TempDir(), "stream.jsonl")
	if err := os.WriteFile(stream, []byte(clitest.Order("a", "1")), 0o644); err != nil {
		t.Fatal(err)
	}
	program.Run(t, cli.ExitOK, "replay", "-c", file, "--live", "--create", stream)
	db, err := statedynamo.New(statedynamo.Options{Client: tables, Table: name + "-state", Pipeline: name})
	if err != nil {
		t.Fatal(err)
	}
	s := db.State(name)
	long := time.Now().Add(-60 * 24 * time.Hour).UTC().Truncate(time.Second)
	if _, err := s.AddBackfill(t.Context(), state.Backfill{Run: "run-1", Sinks: "docs", Source: "export", From: long, Start: long.Add(time.Hour), Parts: 1}); err != nil {
		t.Fatal(err)
	}
	var docs state.Birth
	for b, err := range s.Births(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Sink == "docs" {
			docs = b
		}
	}
	set := func(run string, stage state.Stage) {
		t.Helper()
		now := docs
		now.Stage, now.Run, now.Floor = stage, run, long.Add(-time.Minute)
		if done, err := s.SetBirth(t.Context(), docs, now); err != nil || !done {
			t.Fatal(done, err)
		}
		docs = now
	}
	for _, stage := range []state.Stage{state.Filling, state.Settling} {
		for run, since := range map[string]time.Time{"run-1": long, "run-2": long.Add(-time.Minute)} {
			set(run, stage)
			_, said := program.Run(t, cli.ExitFailure, "purge", "-c", file)
			for _, want := range []string{"backfill " + run, "sink docs", string(stage), since.Format(time.RFC3339), "`tablewake backfill`"} {
				if !strings.Contains(said, want) {
					t.Errorf("purge says %s, want %q in it", said, want)
				}
			}
		}
	}
	set("run-1", state.Live)
	program.Run(t, cli.ExitOK, "purge", "-c", file)
}
