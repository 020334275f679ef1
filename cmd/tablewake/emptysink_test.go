package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A sink all of whose changes are dead letters takes mended settings by itself, and holds what a clean pass
// leaves once the letters are redriven.
func TestRedrive_SinkThatHoldsNothing(t *testing.T) {
	for _, test := range []struct{ sink, good, flawed string }{
		{"orders", "table: rows, when: 'item.N == 1'", "table: rows, when: 'item.Mail > 1'"},
		{"kept", "table: in-place, when: 'item.N == 1'", "table: in-place, when: 'item.Mail > 1'"},
		{"mails", "mails: {view: {", "mails: {view: {when: 'item.Mail > 1', "},
		{"paid", "n: {sum: N}", "n: {sum: Mail}"},
		{"docs", "index: docs, when: 'item.N == 1'", "index: docs, when: 'item.Mail > 1'"},
	} {
		t.Run(test.sink, func(t *testing.T) {
			dir := t.TempDir()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			file, flawed, stream := filepath.Join(dir, "shop.yaml"), filepath.Join(dir, "flawed.yaml"), filepath.Join(dir, "stream.jsonl")
			text := strings.Replace(mended, test.good, test.flawed, 1)
			if text == mended {
				t.Fatalf("%q is not in the file", test.good)
			}
			lines := strings.ReplaceAll(spoilt(rand.New(rand.NewPCG(seed, 0))), `"Total":{"S":`, `"Total":{"N":`)
			for name, text := range map[string]string{file: mended, flawed: text, stream: lines} {
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			clean, out := filepath.Join(dir, "clean"), filepath.Join(dir, "out")
			command(t, exitOK, "replay", "-c", file, "--local", clean, stream)
			command(t, exitDeadLetters, "replay", "-c", flawed, "--local", out, stream)
			report, said := command(t, exitOK, "redrive", "-c", file, "--local", out)
			if strings.Count(said, "the sink holds nothing") != 1 || !strings.Contains(said, "sink="+test.sink) {
				t.Errorf("under other settings redrive says %s", said)
			}
			t.Logf("%s", report)
			if _, said := command(t, exitOK, "redrive", "-c", file, "--local", out); strings.Contains(said, "holds nothing") {
				t.Errorf("the settings are taken, and redrive says %s", said)
			}
			for _, query := range [][]string{{"view", "rows"}, {"view", "in-place"}, {"search", "docs", "-n", "100"}} {
				want, _ := command(t, exitOK, append([]string{"query", "-o", "json", "--local", clean}, query...)...)
				got, _ := command(t, exitOK, append([]string{"query", "-o", "json", "--local", out}, query...)...)
				if births.ReplaceAllString(got, "") != births.ReplaceAllString(want, "") {
					t.Errorf("%s holds\n%s\nand after a clean pass\n%s", query, got, want)
				}
			}
			if _, said := command(t, exitFailure, "replay", "-c", flawed, "--local", out, stream); !strings.Contains(said, "`tablewake adopt --sink "+test.sink+"`") {
				t.Errorf("under the former settings a replay says %s", said)
			}
		})
	}
}
