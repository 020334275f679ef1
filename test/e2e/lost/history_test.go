package lost

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/test/e2e/world"
)

// every has a sink of each kind whose output can be lost.
const every = `version: 1
name: ${NAME}
source: {table: shop}
state: {table: "${STATE}"}
connections: {os: {opensearch: "${OS_URL}", auth: none}}
sinks:
  by_status:
    view: {table: "${VIEWS}", key: {PK: 'STATUS#{Status}', SK: '{@key}'}, attributes: {n: '{N}'}}
  by_mail:
    view: {table: "${VIEWS}", key: {PK: 'MAIL#{Mail}', SK: mail}, attributes: {n: '{N}'}, on_collision: last}
  sums:
    aggregate:
      table: "${VIEWS}"
      group: {PK: 'SUM#{Status}', SK: sum}
      values: {n: count, total: {sum: N}, least: {min: N}}
      on_ttl_delete: retract
  docs:
    search: {connection: os, index: "${INDEX}"}
  docs_by_status:
    search: {connection: os, index: "${INDEX}-{Status|index_name}", create: on_demand, max_indexes: 20}
  log:
    archive: {bucket: "${BUCKET}", prefix: changes/}
`

// history returns changes of a few items that are inserted, changed, moved and removed. No two items have the same mail
// address.
func history(rng *rand.Rand, n int) [][]byte {
	attributes := make(map[string]string)
	var records [][]byte
	for i := 1; i <= n; i++ {
		pk := fmt.Sprintf("item%d", rng.IntN(20))
		old := attributes[pk]
		switch {
		case old != "" && rng.IntN(5) == 0:
			records = append(records, world.Record(i, "REMOVE", pk, old, ""))
			delete(attributes, pk)
			continue
		case old == "":
			attributes[pk] = image(rng, pk)
			records = append(records, world.Record(i, "INSERT", pk, "", attributes[pk]))
		default:
			attributes[pk] = image(rng, pk)
			records = append(records, world.Record(i, "MODIFY", pk, old, attributes[pk]))
		}
	}
	return records
}

func image(rng *rand.Rand, pk string) string {
	return fmt.Sprintf(`"Status":{"S":%q},"Mail":{"S":"%s-%d"},"N":{"N":"%d"}`, []string{"paid", "sent"}[rng.IntN(2)], pk, rng.IntN(2), rng.IntN(100))
}

// pass runs records through a pipeline over the stores. It returns the error that an operator would see.
func pass(t *testing.T, cfg *config.Config, stores sinks.Stores, records [][]byte) error {
	t.Helper()
	p, err := sinks.Assemble(t.Context(), cfg, stores, sinks.Finite())
	if err != nil {
		return err
	}
	return run(t, p, records)
}

func run(t *testing.T, p *pipeline.Pipeline, records [][]byte) error {
	t.Helper()
	input := bytes.Join(records, []byte("\n"))
	if len(records) == 0 {
		input = []byte("[]") // an input without any content counts as cut
	}
	src, err := replay.Open(replay.Options{
		Paths: []string{"-"}, Stdin: bytes.NewReader(input),
		Decoder: record.DecoderOptions{Table: "shop", EpochZero: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	return p.Run(t.Context(), src, nil)
}

// refused checks a refusal. It must be fatal, and name the command that helps.
func refused(t *testing.T, loss string, err error) {
	t.Helper()
	if _, lost := errors.AsType[*state.LostError](err); !lost || !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "`tablewake adopt") {
		t.Fatalf("%s: refused otherwise: %v", loss, err)
	}
	if loss == "nothing (for the test)" {
		t.Fatalf("refused: %v", err)
	}
	t.Logf("refused: %v", err)
}

// same compares the rows, the documents and the archived lines that readers find.
func same(t *testing.T, want, got world.State) {
	t.Helper()
	for _, part := range []string{world.Rows, world.Documents, world.Lines} {
		if diff := cmp.Diff(want[part], got[part]); diff != "" {
			t.Errorf("the %s are not those of a clean pass (-want +got):\n%s", part, diff)
		}
	}
}
