package upgrade

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/test/e2e/world"
)

// names are the names in every recording. They are fixed, because stored rows and documents contain them.
var names = world.Names{
	Pipeline: "upgrade", Table: "upgrade-views", State: "upgrade-state",
	Index: "upgrade-docs", Bucket: "upgrade-archive", Queue: "upgrade-told",
}

// leaseTable is the lease table of every recording.
const leaseTable = "upgrade-leases"

// everySink is a configuration with a sink of each kind and form that stores something. Stored entries are kept for ten
// years, so that a recording does not age.
const everySink = `version: 1
name: ${NAME}
source: {table: shop}
state: {table: "${STATE}", guard_retention: 87600h}
connections: {os: {opensearch: "${OS_URL}", auth: none}}
entities:
  Item: {key: {PK: 'item{Id}'}, unique: Id, attributes: {Status: S, Mail: S, N: N, Parts: [{sku: S}]}}
sinks:
  by_status: {view: {of: Item, table: "${VIEWS}", shards: 3, key: {PK: 'STATUS#{Status}#{@shard}', SK: '{Id}'}, attributes: {n: '{N}'}}}
  all: {view: {of: Item, table: "${VIEWS}", key: {PK: 'ITEM#{Id}', SK: '{N|sortable}'}, attributes: all, tombstones: in_place}}
  by_mail: {view: {table: "${VIEWS}", key: {PK: 'MAIL#{Mail}', SK: mail}, attributes: {n: '{N}'}, on_collision: last}}
  parts: {view: {of: Item, table: "${VIEWS}", for_each: {path: Parts, by: sku}, key: {PK: 'SKU#{each.sku}', SK: '{Id}#{@each}'}, attributes: {n: '{N}'}}}
  sums:
    aggregate:
      table: "${VIEWS}"
      shards: 2
      group: {PK: 'SUM#{Status}', SK: sum}
      values: {n: count, total: {sum: N}, least: {min: N}, most: {max: N}, mails: {distinct: Mail}}
      on_ttl_delete: retract
  docs: {search: {connection: os, index: "${INDEX}"}}
  docs_by_status: {search: {connection: os, index: "${INDEX}-{Status|index_name}", create: on_demand, max_indexes: 20}}
  fast: {search: {connection: os, index: "${INDEX}-fast", mode: fast}}
  log: {archive: {bucket: "${BUCKET}", prefix: changes/}}
  newest: {archive: {bucket: "${BUCKET}", layout: per_item, key: 'archive/{@entity}/{PK}.json', names: raw, images: plain_json}}
dead_letters: {bucket: "${BUCKET}-dead"}
`

// history returns changes of a few items that are inserted, changed, moved and removed. Some of the items claim the
// same mail address.
func history(n int) []byte {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	attributes := make(map[string]string)
	var lines bytes.Buffer
	for i := 1; i <= n; i++ {
		pk := fmt.Sprintf("item%d", rng.IntN(20))
		old := attributes[pk]
		op, image := "MODIFY", fmt.Sprintf(`"Status":{"S":%q},"Mail":{"S":"m%d"},"N":{"N":"%d.5"},"Parts":{"L":[{"M":{"sku":{"S":"a%d"}}},{"M":{"sku":{"S":"b"}}}]}`,
			[]string{"paid", "sent"}[rng.IntN(2)], rng.IntN(15), rng.IntN(100)-50, rng.IntN(3))
		switch {
		case old != "" && rng.IntN(5) == 0:
			op, image = "REMOVE", ""
		case old == "":
			op = "INSERT"
		}
		lines.Write(world.Record(i, op, pk, old, image))
		lines.WriteByte('\n')
		attributes[pk] = image
	}
	return lines.Bytes()
}

// recording is a folder of testdata.
type recording struct {
	dir     string
	text    string   // the configuration
	records [][]byte // all changes
}

// path returns the path of a file of the recording.
func (r *recording) path(name string) string { return filepath.Join(r.dir, name) }

// written returns the changes that the recorded stores have.
func (r *recording) written() [][]byte { return r.records[:len(r.records)*2/3] }

// open reads a recording.
func open(t *testing.T, dir string) *recording {
	t.Helper()
	r := &recording{dir: dir}
	text, err := os.ReadFile(r.path("tablewake.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(r.path("stream.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	r.text, r.records = string(text), bytes.Split(bytes.TrimSpace(lines), []byte("\n"))
	return r
}

// pass runs records through a pipeline over the stores. It returns the error that an operator would see.
func pass(t *testing.T, cfg *config.Config, stores sinks.Stores, records [][]byte) error {
	t.Helper()
	p, err := sinks.Assemble(t.Context(), cfg, stores, sinks.Finite())
	if err != nil {
		return err
	}
	src, err := replay.Open(replay.Options{
		Paths: []string{"-"}, Stdin: bytes.NewReader(bytes.Join(records, []byte("\n"))),
		Decoder: record.DecoderOptions{Table: "shop", EpochZero: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if err := p.Run(t.Context(), src, nil); err != nil {
		return err
	}
	return p.Ledger().Check()
}

// same compares the contents that readers find, without events and dead letters.
func same(t *testing.T, got, want world.State) {
	t.Helper()
	for _, s := range []world.State{got, want} {
		s[world.Events], s[world.Letters] = nil, nil
	}
	world.Same(t, got, want)
}

const stream = "arn:aws:dynamodb:eu-central-1:000000000000:table/shop/stream/2026-03-01T00:00:00.000"

// recordedLeases returns the leases in each recorded lease table: a lease of a shard that ended, one of a shard that is
// read, and one of a shard without a reader.
func recordedLeases() []leases.Lease {
	return []leases.Lease{
		{Shard: "shardId-00000001772323200000-00000001", Stream: stream, Checkpoint: leases.Checkpoint{Kind: leases.ShardEnd}, Children: []string{"shardId-00000001772337600000-00000002"}},
		{Shard: "shardId-00000001772337600000-00000002", Stream: stream, Checkpoint: leases.After("000000000000000000040"), Owner: "consumer-1", Parents: []string{"shardId-00000001772323200000-00000001"}, Time: world.At},
		{Shard: "shardId-00000001772337600000-00000003", Stream: stream, Checkpoint: leases.Checkpoint{Kind: leases.TrimHorizon}, Stopped: "gap"},
	}
}

// recordedGap returns the gap in each recorded table of gaps.
func recordedGap() record.Gap {
	return record.Gap{
		StreamARN: stream, Shard: "shardId-00000001772337600000-00000003", After: "000000000000000000007", Before: "000000000000000000009",
		From: world.At, To: world.At.Add(time.Hour),
	}
}
