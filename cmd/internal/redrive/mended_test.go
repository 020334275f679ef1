package redrive_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// births matches the birth in a document, which differs from folder to folder.
var births = regexp.MustCompile(`"birth":"[0-9a-z]+"`)

const fixed = `version: 1
name: shop
source: {table: shop}
sinks:
  orders: {view: {table: rows, when: 'item.N == 1', key: {PK: 'S#{Status}', SK: '{@key}'}, attributes: {total: 'T{Total}'}}}
  kept: {view: {table: in-place, when: 'item.N == 1', key: {PK: 'S#{Status}', SK: '{@key}T{Total}'}, tombstones: in_place}}
  mails: {view: {table: rows, key: {PK: 'MAIL#{Mail}', SK: 'T{Total}'}, attributes: {owner: '{@key}'}, on_collision: last}}
  paid: {aggregate: {table: rows, group: {PK: 'SUM#{Total}', SK: '-'}, values: {orders: count, n: {sum: N}}, on_ttl_delete: retract}}
  docs: {search: {index: docs, when: 'item.N == 1', fields: {include: [Mail], rename: {Mail: name}}}}
dead_letters: {dir: dead}
`

// A change that fails under flawed settings is a dead letter. After the settings are fixed and accepted, and the
// letters are redriven, every sink holds what a clean pass leaves.
func TestAdopt_MendedSettings(t *testing.T) {
	for _, test := range []struct{ sink, good, flawed string }{
		{"orders", "table: rows, when: 'item.N == 1'", "table: rows, when: 'item.Total > -1 && item.N == 1'"},
		{"kept", "table: in-place, when: 'item.N == 1'", "table: in-place, when: 'item.Total > -1 && item.N == 1'"},
		{"mails", "mails: {view: {", "mails: {view: {when: 'item.Total > -1', "},
		{"paid", "paid: {aggregate: {", "paid: {aggregate: {when: 'item.Total > -1', "},
		{"docs", "index: docs, when: 'item.N == 1'", "index: docs, when: 'item.Total > -1 && item.N == 1'"},
	} {
		t.Run(test.sink+" "+test.flawed, func(t *testing.T) {
			f := replayFlawed(t, test.good, test.flawed, strings.NewReplacer())
			if _, said := program.Run(t, cli.ExitFailure, "redrive", "-c", f.file, "--local", f.out); !strings.Contains(said, "`tablewake adopt -c "+f.file+" --local "+f.out+" --sink "+test.sink+"`") {
				t.Fatalf("under other settings redrive says %s", said)
			}
			if text, _ := program.Run(t, cli.ExitOK, "adopt", "-c", f.file, "--local", f.out, "--yes"); !strings.Contains(text, "accepted: "+test.sink) {
				t.Fatalf("adopt says %s", text)
			}
			program.Run(t, cli.ExitOK, "redrive", "-c", f.file, "--local", f.out)
			f.compare(t)
		})
	}
}

// flawedRun is a folder whose configuration is corrected, with the output of two replays of its stream.
type flawedRun struct {
	file, flawed, stream string
	clean, out           string // output under fixed and under flawed settings
}

// replayFlawed replays a random stream, changed by edit, under fixed settings and under flawed settings.
func replayFlawed(t *testing.T, good, flawed string, edit *strings.Replacer) flawedRun {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	text := strings.Replace(fixed, good, flawed, 1)
	if text == fixed {
		t.Fatalf("%q is not in the file", good)
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	f := flawedRun{in("shop.yaml"), in("flawed.yaml"), in("stream.jsonl"), in("clean"), in("out")}
	for name, text := range map[string]string{f.file: fixed, f.flawed: text, f.stream: edit.Replace(spoilt(rand.New(rand.NewPCG(seed, 0))))} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program.Run(t, cli.ExitOK, "replay", "-c", f.file, "--local", f.clean, f.stream)
	program.Run(t, cli.ExitDeadLetters, "replay", "-c", f.flawed, "--local", f.out, f.stream)
	return f
}

// compare checks that both replays left the same data.
func (f flawedRun) compare(t *testing.T) {
	t.Helper()
	for _, query := range [][]string{{"view", "rows"}, {"view", "in-place"}, {"search", "docs", "-n", "100"}} {
		want, _ := program.Run(t, cli.ExitOK, append([]string{"query", "-o", "json", "--local", f.clean}, query...)...)
		got, _ := program.Run(t, cli.ExitOK, append([]string{"query", "-o", "json", "--local", f.out}, query...)...)
		if births.ReplaceAllString(got, "") != births.ReplaceAllString(want, "") {
			t.Errorf("%s holds\n%s\nand after a clean pass\n%s", query, got, want)
		}
	}
}

// spoilt returns a stream of items that are created, changed and removed. Some attributes have several types.
func spoilt(rng *rand.Rand) string {
	var b strings.Builder
	images := make(map[string]string)
	for i := range 60 {
		key := fmt.Sprint("k", rng.IntN(8))
		old := images[key]
		now := fmt.Sprintf(`{"PK":{"S":%q},"N":{"N":"%d"},"Status":{"S":%q},"Mail":{"S":"m%d"},"Total":{"N":"%d"}}`,
			key, rng.IntN(4)/3+1-rng.IntN(2), []string{"open", "2026-01-02", "paid"}[rng.IntN(3)], rng.IntN(4), rng.IntN(30))
		if rng.IntN(3) == 0 {
			now = strings.Replace(now, `"Total":{"N":`, `"Total":{"S":`, 1)
		}
		name := "INSERT"
		switch {
		case old != "" && rng.IntN(4) == 0:
			name, now = "REMOVE", ""
		case old != "":
			name = "MODIFY"
		}
		fmt.Fprintf(&b, `{"eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678","eventName":%q,`+
			`"dynamodb":{"ApproximateCreationDateTime":%d,"SequenceNumber":"%d","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":%q}}`, name, 1795254780+i, 100+i, key)
		if old != "" {
			b.WriteString(`,"OldImage":` + old)
		}
		if now != "" {
			b.WriteString(`,"NewImage":` + now)
		}
		b.WriteString("}}\n")
		images[key] = now
	}
	// Every sink stores the last change, because a sink that holds something does not use changed settings before they are
	// accepted.
	b.WriteString(`{"eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678","eventName":"INSERT",` +
		`"dynamodb":{"ApproximateCreationDateTime":1795254900,"SequenceNumber":"900","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"last"}},` +
		`"NewImage":{"PK":{"S":"last"},"N":{"N":"1"},"Status":{"S":"open"},"Mail":{"S":"last"},"Total":{"N":"7"}}}}` + "\n")
	return b.String()
}
