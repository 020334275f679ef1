package servers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/test/e2e/world"
	"github.com/tablewake/tablewake/test/server"
)

// A node that refuses too much at once (429 for an item, 429 for a request, 413) has everything in the end.
func TestATightNodeHasAllInTheEnd(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small documents": 500, "large documents": 20_000} {
		t.Run(name, func(t *testing.T) {
			to := world.Running(t)
			to.OpenSearch = server.TightOpenSearch().Endpoint(t)
			w := world.New(t, to)
			cfg := w.Config(t, world.Fixture, tight, w.To)
			var records [][]byte
			total := 400_000
			if testing.Short() {
				total = 100_000
			}
			for i := range total / size {
				records = append(records, world.Record(i, "INSERT", fmt.Sprint("item", i), "", fmt.Sprintf(`"Name":{"S":"%s"}`, strings.Repeat("x", size))))
			}
			l := world.Pass(t, w.Worker(t, cfg, w.To), records)
			if s := l.Sinks["items"]; s.Written != int64(len(records)) {
				t.Errorf("%+v", s)
			}
			got := world.NewState()
			w.ReadIndex(t, got)
			if len(got[world.Documents]) != len(records) {
				t.Errorf("%d documents of %d", len(got[world.Documents]), len(records))
			}
		})
	}
}

const tight = `
version: 1
name: '${NAME}'
source: {table: shop}
connections:
  os: {opensearch: '${OS_URL}', auth: none}
sinks:
  items:
    search: {connection: os, index: '${INDEX}', concurrency: 8}
dead_letters: {dir: '${DEAD}'}
`
