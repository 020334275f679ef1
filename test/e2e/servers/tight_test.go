package servers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/test/server"
)

// A node that refuses what is too much at once (429 for an item, 429 for a request, 413)
// has everything in the end.
func TestATightNodeHasAllInTheEnd(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small documents": 500, "large documents": 20_000} {
		t.Run(name, func(t *testing.T) {
			to := running(t)
			to.openSearch = server.TightOpenSearch().Endpoint(t)
			w := newWorld(t, to)
			cfg := w.config(t, fixture, tight, w.to)
			var records [][]byte
			total := 400_000
			if testing.Short() {
				total = 100_000
			}
			for i := range total / size {
				records = append(records, record(i, "INSERT", fmt.Sprint("item", i), "", fmt.Sprintf(`"Name":{"S":"%s"}`, strings.Repeat("x", size))))
			}
			l := pass(t, w.worker(t, cfg, w.to), records)
			if s := l.Sinks["items"]; s.Written != int64(len(records)) {
				t.Errorf("%+v", s)
			}
			got := newState()
			w.readIndex(t, got)
			if len(got[documents]) != len(records) {
				t.Errorf("%d documents of %d", len(got[documents]), len(records))
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
