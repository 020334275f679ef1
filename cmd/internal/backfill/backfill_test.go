package backfill_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/backfill"
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/cmd/internal/query"
	"github.com/tablewake/tablewake/cmd/internal/replay"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
)

var program = clitest.Program{backfill.New, replay.New, query.New}

const threeViews = `version: 1
name: shop
source: {table: shop}
state: {table: state}
sinks:
  a: {view: {table: rows, key: {PK: 'A#{@key}'}}}
  b: {view: {table: rows, key: {PK: 'B#{@key}'}}}
  c: {view: {table: rows, key: {PK: 'C#{@key}'}}}
`

// files writes the configuration, items, and a history that is cut.
func files(t *testing.T) (dir, cfg, items string) {
	t.Helper()
	dir = t.TempDir()
	cfg, items = filepath.Join(dir, "tablewake.yaml"), filepath.Join(dir, "items.jsonl")
	for path, text := range map[string]string{cfg: threeViews, items: `{"PK":{"S":"x"}}` + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, cfg, items
}

// changeBirths sets the stages of sinks as a killed process left them.
func changeBirths(t *testing.T, dir string, change func(*state.Birth)) {
	t.Helper()
	cfg, err := config.Parse("tablewake.yaml", []byte(threeViews), nil)
	if err != nil {
		t.Fatal(err)
	}
	stores, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stores.Close()
	if _, err := sinks.Assemble(t.Context(), cfg, stores); err != nil {
		t.Fatal(err)
	}
	kept, err := stores.State(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range kept.Births(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		next := b
		change(&next)
		if next != b {
			if done, err := kept.SetBirth(t.Context(), b, next); err != nil || !done {
				t.Fatal(done, err)
			}
		}
	}
}

// A process that was killed while it stored the stages, at the begin or at the end, is repeated by the same command.
func TestKilledBetweenTheBirths(t *testing.T) {
	for name, change := range map[string]func(*state.Birth){
		"at the begin": func(b *state.Birth) {
			if b.Sink == "a" {
				b.Stage, b.Run = state.Filling, "r"
			}
		},
		"between two that wait": func(b *state.Birth) {
			b.Stage = state.Waiting
			if b.Sink == "a" {
				b.Stage, b.Run = state.Filling, "r"
			}
		},
	} {
		dir, cfg, items := files(t)
		out, nothing := filepath.Join(dir, "out"), filepath.Join(dir, "nothing.jsonl")
		if err := os.WriteFile(nothing, []byte("[]"), 0o600); err != nil {
			t.Fatal(err)
		}
		program.Run(t, cli.ExitOK, "replay", "-c", cfg, "--local", out, nothing)
		changeBirths(t, out, change)
		args := []string{"backfill", "-c", cfg, "--local", out, "--keys", "PK", "--items", items}
		if strings.Contains(name, "wait") {
			history := filepath.Join(dir, "stream.jsonl")
			if err := os.WriteFile(history, []byte(clitest.Order("x", "1")), 0o600); err != nil {
				t.Fatal(err)
			}
			args = []string{"backfill", "-c", cfg, "--local", out, "--archive", history}
		}
		text, said := program.Run(t, cli.ExitOK, args...)
		if !strings.Contains(text, "a, b, c: live\n") {
			t.Errorf("%s: the same command says %s%s", name, text, said)
		}
	}
	dir, cfg, items := files(t)
	out := filepath.Join(dir, "out")
	program.Run(t, cli.ExitOK, "backfill", "-c", cfg, "--local", out, "--keys", "PK", "--items", items)
	changeBirths(t, out, func(b *state.Birth) {
		if b.Sink != "a" {
			b.Stage, b.ReadUntil = state.Settling, time.Now().UTC().Truncate(time.Second)
		}
	})
	if text, said := program.Run(t, cli.ExitOK, "backfill", "-c", cfg, "--local", out, "--keys", "PK", "--items", items); !strings.Contains(text, "a, b, c: live\n") {
		t.Errorf("at the end: the same command says %s%s", text, said)
	}
}

// A history that is cut fills nothing to the end; mended, the same command does.
func TestCutHistory(t *testing.T) {
	dir, cfg, _ := files(t)
	out, path := filepath.Join(dir, "out"), filepath.Join(dir, "stream.jsonl.gz")
	var whole bytes.Buffer
	w := gzip.NewWriter(&whole)
	for range 50 {
		if _, err := w.Write([]byte(clitest.Order("x", "1") + clitest.Order("y", "2"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	args := []string{"backfill", "-c", cfg, "--local", out, "--archive", path}
	if err := os.WriteFile(path, whole.Bytes()[:whole.Len()-20], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, said := program.Run(t, cli.ExitFailure, args...); !strings.Contains(said, "the history is not complete") {
		t.Errorf("of a history that is cut it says %s", said)
	}
	if err := os.WriteFile(path, whole.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, _ := program.Run(t, cli.ExitOK, args...); !strings.Contains(text, "a, b, c: live\n") {
		t.Errorf("of the whole history it says %s", text)
	}
}
