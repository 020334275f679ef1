package redrive_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/local"
)

const autoShop = `version: 1
name: shop
source: {table: shop}
sinks:
  orders: {view: {table: orders, key: {PK: '{@key}'}, attributes: {status: '{Status}'}}}
dead_letters: {dir: dead, redrive: auto}
`

// The next run whose sinks are well delivers the dead letters of an outage. Changes that a sink refuses permanently
// stay for a person to look at.
func TestAutoRedrive(t *testing.T) {
	dir := t.TempDir()
	file, stream, out := filepath.Join(dir, "shop.yaml"), filepath.Join(dir, "stream.jsonl"), filepath.Join(dir, "out")
	for name, text := range map[string]string{file: autoShop, stream: clitest.Order("a", "1")} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command := func(want int, args ...string) string {
		t.Helper()
		out, _ := program.Run(t, want, args...)
		return out
	}
	command(cli.ExitOK, "replay", "-c", file, "--local", out, stream)

	stores, err := local.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	letters, err := stores.DeadLetters(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	version := func(sequence string) record.Version {
		page, err := record.NewDecoder(record.DecoderOptions{}).Decode([]byte(clitest.Order("a", sequence)))
		if err != nil || len(page.Changes) != 1 {
			t.Fatal(err)
		}
		return page.Changes[0].Version
	}
	letter := func(key, sequence, class string) pipeline.DeadLetter {
		return pipeline.DeadLetter{
			Pipeline: "shop", Sink: "orders", Key: item.Key(key), Version: version(sequence), Sequence: sequence, Table: "shop",
			Class: class, Error: "the server was away", Raw: []byte(strings.TrimSpace(clitest.Order(key, sequence))), Time: time.Unix(1767323045, 0),
		}
	}
	if err := letters.Put(t.Context(), []pipeline.DeadLetter{letter("b", "2", "held"), letter("c", "3", "write")}); err != nil {
		t.Fatal(err)
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}

	command(cli.ExitOK, "replay", "-c", file, "--local", out, stream)
	if rows := command(cli.ExitOK, "query", "view", "--local", out); !strings.Contains(rows, "b") || strings.Contains(rows, "c ") {
		t.Errorf("the rows are\n%swant b, which an outage kept back, and not c, which was refused", rows)
	}
	if dead := command(cli.ExitOK, "query", "dead", "--local", out); strings.Count(dead, "\n") != 1 || !strings.Contains(dead, "orders  c  write") {
		t.Errorf("dead letters are\n%swant that of c alone", dead)
	}
}
