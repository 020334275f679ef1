package lambda

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/world"
	"github.com/tablewake/tablewake/test/server"
)

// items is a configuration. It writes each item to a row and to the log, and items of the type Product to the index.
const items = `
version: 1
name: '${NAME}'
source: {table: shop}
state: {table: '${STATE}'}
connections: {os: {opensearch: '${OS_URL}', auth: none}}
sinks:
  rows: {view: {table: '${VIEWS}', key: {PK: '{@key}', SK: row}, attributes: {n: '{n}'}}}
  products: {search: {connection: os, index: '${INDEX}', when: 'item.Type == "Product"', fields: {include: [n]}}}
  history: {archive: {bucket: '${BUCKET}', prefix: changes/}}
dead_letters: {bucket: '${BUCKET}', prefix: dead/}
`

// function is a deployed function with the stores that it works on.
type function struct {
	*server.Function
	*world.World
	text string // its configuration
}

// deployment says how a function is deployed. The zero value suits most tests.
type deployment struct {
	program string          // default: the bootstrap
	to      world.Endpoints // default: the endpoints of the world
	timeout time.Duration
	env     []string
	without bool // the tables of the function are not made
}

// deploy makes the tables of a configuration, and puts a function with this configuration into the emulator.
func deploy(t *testing.T, w *world.World, text string, d deployment) *function {
	t.Helper()
	if d.program == "" {
		d.program = bootstrap
	}
	if d.to == (world.Endpoints{}) {
		d.to = w.To
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tablewake.yaml"), []byte(text))
	mapping, err := os.ReadFile(world.Fixture + "products.mapping.json")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "products.mapping.json"), mapping)
	if !d.without {
		w.Worker(t, w.Config(t, dir, text, w.To), w.To)
	}
	f := server.StartFunctionFor(t, server.FunctionOptions{Bootstrap: d.program, Root: dir, Timeout: d.timeout, Env: append(w.Environment(d.to), d.env...)})
	t.Cleanup(func() {
		if t.Failed() {
			text := f.Log()
			t.Logf("log of the function:\n%s", text[max(0, len(text)-6000):])
		}
	})
	return &function{Function: f, World: w, text: text}
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// read returns the contents of the stores.
func (f *function) read(t *testing.T) world.State {
	t.Helper()
	return f.Read(t, f.Config(t, world.Fixture, f.text, f.To))
}

// answers invokes the function and checks its answer.
func (f *function) answers(t *testing.T, event []byte, want string) {
	t.Helper()
	got, err := f.Invoke(t.Context(), event)
	if err != nil {
		t.Fatalf("the function failed: %v", err)
	}
	if string(got) != want {
		t.Fatalf("the function answered %s, want %s", got, want)
	}
}

// fails invokes the function, which must fail with this kind of error and this reason.
func (f *function) fails(t *testing.T, event []byte, kind, why string) {
	t.Helper()
	got, err := f.Invoke(t.Context(), event)
	failed, ok := errors.AsType[*server.FunctionError](err)
	if !ok {
		t.Fatalf("the function answered %s, %v, want it to fail", got, err)
	}
	if failed.Type != kind || !strings.Contains(failed.Message, why) {
		t.Fatalf("the function failed with %v, want %s: ... %s ...", failed, kind, why)
	}
}

// holds checks which items have rows and documents, and the number of archived lines and of dead letters.
func (f *function) holds(t *testing.T, rows, documents string, lines, letters int) {
	t.Helper()
	s := f.read(t)
	if got := keys(s[world.Rows]); got != rows {
		t.Errorf("rows are of %q, want %q", got, rows)
	}
	if got := keys(s[world.Documents]); got != documents {
		t.Errorf("documents are of %q, want %q", got, documents)
	}
	if len(s[world.Lines]) != lines {
		t.Errorf("%d lines are archived, want %d", len(s[world.Lines]), lines)
	}
	if len(s[world.Letters]) != letters {
		t.Errorf("%d letters, want %d: %v", len(s[world.Letters]), letters, s[world.Letters])
	}
}

// keys returns the items of a part of a state in order: "a b c".
func keys(part map[string]string) string {
	var all []string
	for name := range part {
		if _, rest, ok := strings.Cut(name, `"PK": S {"Value":"`); ok {
			name, _, _ = strings.Cut(rest, `"`)
		}
		all = append(all, name)
	}
	return sorted(all)
}

const succeeded = `{"batchItemFailures":[]}`

// failedFrom returns the answer that makes the n-th record and all later records come again.
func failedFrom(n int) string {
	return fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":"%021d"}]}`, n)
}

// event returns an event with these records.
func event(records ...[]byte) []byte {
	return fmt.Appendf(nil, `{"Records":[%s]}`, bytes.Join(records, []byte(",")))
}

// product returns the n-th record, which inserts an item for the index. order returns the n-th record, which inserts an
// item that is not for the index.
func product(n int, pk string) []byte { return made(n, pk, "Product") }
func order(n int, pk string) []byte   { return made(n, pk, "Order") }

func made(n int, pk, kind string) []byte {
	return world.RecordAt(time.Now(), n, "INSERT", pk, "", fmt.Sprintf(`"Type":{"S":%q},"n":{"N":"%d"}`, kind, n))
}
