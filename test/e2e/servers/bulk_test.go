package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/test/e2e/world"
)

const numbered = `
version: 1
name: '${NAME}'
source: {table: shop}
connections:
  os: {opensearch: '${OS_URL}', auth: none}
sinks:
  items:
    search: {connection: os, index: '${INDEX}', mode: %s, mapping: mapping.json, batch: {count: 100, linger: 1s}}
dead_letters: {dir: '${DEAD}'}
`

// A bulk with a poison document, a mapping error, a stale document and an oversize id delivers all documents that can
// be delivered.
func TestABulkDeliversAllThatItCan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mapping.json"), []byte(`{"properties": {"n": {"type": "integer"}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	const secret = "no-number-7319"
	for _, mode := range []string{"exact", "fast"} {
		t.Run(mode, func(t *testing.T) {
			w := world.New(t, world.Running(t))
			cfg := w.Config(t, dir, fmt.Sprintf(numbered, mode), w.To)
			stale := world.Record(1, "INSERT", "stale", "", `"n":{"N":"1"}`)
			world.Pass(t, w.Worker(t, cfg, w.To), [][]byte{world.Record(2, "MODIFY", "stale", `"n":{"N":"1"}`, `"n":{"N":"2"}`)})

			oversize := strings.Repeat("k", 2000)
			records := [][]byte{
				stale,
				world.Record(50, "INSERT", "mapping", "", `"n":{"S":"`+secret+`"}`),
				world.Record(51, "INSERT", oversize, "", `"n":{"N":"51"}`),
				world.Record(52, "INSERT", "poison", "", `"n":{"N":"52"},"a..b":{"S":"`+secret+`"}`), // no field can have this name
			}
			for i := range 40 {
				records = append(records, world.Record(100+i, "INSERT", fmt.Sprint("good", i), "", fmt.Sprintf(`"n":{"N":"%d"}`, i)))
			}
			l := world.Pass(t, w.Worker(t, cfg, w.To), records)
			if s := l.Sinks["items"]; s.Written != 41 || s.Superseded != 1 || s.DeadLettered != 2 {
				t.Errorf("%+v; want 41 written, 1 superseded, 2 in dead letters", s)
			}
			got := world.NewState()
			w.ReadIndex(t, got)
			if len(got[world.Documents]) != 42 {
				t.Errorf("%d documents, want 42", len(got[world.Documents]))
			}
			for i := range 40 {
				if doc := got[world.Documents][fmt.Sprint("good", i)]; !strings.Contains(doc, fmt.Sprintf(`"n":%d`, i)) {
					t.Errorf("good%d: %q", i, doc)
				}
			}
			if doc := got[world.Documents]["stale"]; !strings.Contains(doc, `"n":2`) {
				t.Errorf("stale: %q", doc)
			}
			w.ReadLetters(t, got, cfg)
			if len(got[world.Letters]) != 2 {
				t.Errorf("letters %v", got[world.Letters])
			}
			for name, why := range got[world.Letters] {
				if strings.Contains(why, secret) {
					t.Errorf("%s shows a value: %s", name, why)
				}
				if strings.Contains(name, " mapping ") && !strings.Contains(why, "n") {
					t.Errorf("%s does not name the field: %s", name, why)
				}
			}
		})
	}
}
