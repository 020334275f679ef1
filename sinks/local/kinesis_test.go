package local_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/handlers"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks/archive"
	archivedir "github.com/tablewake/tablewake/sinks/archive/dir"
)

const ofKinesis = `
version: 1
name: shop
source: {table: shop, kinesis: 'arn:aws:kinesis:eu-central-1:123456789012:stream/s'}
detect:
  paid: {attribute: Status, to: paid}
sinks:
  told: {notify: {events: [paid]}}
  records: {archive: {bucket: records}}
  plain: {archive: {bucket: plain, images: plain_json}}
  columns: {archive: {bucket: columns, format: parquet}}
  items: {archive: {bucket: items, layout: per_item, key: '{PK}/{@version}.json'}}
`

// kinesisRecord returns the Kinesis record of the n-th change of a table with the given sequence number.
func kinesisRecord(n, item, moment, sequence int) string {
	old, status := "", []string{"new", "paid"}[n%2]
	if n%2 == 1 {
		old = fmt.Sprintf(`"OldImage":{"PK":{"S":"k%d"},"Status":{"S":"new"}},`, item)
	}
	data := fmt.Sprintf(`{"eventID":"change-%d","eventName":%q,"tableName":"shop","dynamodb":{"ApproximateCreationDateTime":%d,"Keys":{"PK":{"S":"k%d"}},%s"NewImage":{"PK":{"S":"k%d"},"Status":{"S":%q},"N":{"N":"%d"}}}}`,
		n, []string{"INSERT", "MODIFY"}[n%2], 1764000000000000+moment, item, old, item, status, n)
	return fmt.Sprintf(`{"eventID":"shardId-000000000000:%d","eventSource":"aws:kinesis","eventSourceARN":"arn:aws:kinesis:eu-central-1:123456789012:stream/s","kinesis":{"sequenceNumber":"%d","data":%q}}`,
		sequence, sequence, base64.StdEncoding.EncodeToString([]byte(data)))
}

// Fact 33: Kinesis can contain copies of a change with different sequence numbers. Whatever copies are delivered, and
// by whatever source, the ids of the events and the content of the archives are the same as without copies.
func TestFact33_CopiesAreOneChange(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		var once, again []string
		n := 1 + r.IntN(25)
		type change struct{ n, item, moment int }
		var made []change
		sequence := 1000
		next := func() int { sequence += 1 + r.IntN(3); return sequence }
		moment := 0
		for i := range n {
			moment += r.IntN(2)
			c := change{i, r.IntN(3), moment}
			made = append(made, c)
			record := kinesisRecord(c.n, c.item, c.moment, next())
			once, again = append(once, record), append(again, record)
			for range r.IntN(3) {
				c := made[r.IntN(len(made))]
				again = append(again, kinesisRecord(c.n, c.item, c.moment, next()))
			}
		}
		want := kinesisContents(t, func(p *pipeline.Pipeline) { replayed(t, p, once) })
		for name, deliver := range map[string]func(*pipeline.Pipeline){
			"replay": func(p *pipeline.Pipeline) { replayed(t, p, again) },
			"handlers": func(p *pipeline.Pipeline) {
				for batch := range slices.Chunk(again, 1+r.IntN(10)) {
					if _, err := handlers.Kinesis(p).Invoke(t.Context(), []byte(`{"Records":[`+strings.Join(batch, ",")+`]}`)); err != nil {
						t.Fatal(err)
					}
				}
			},
		} {
			if diff := gocmp.Diff(want, kinesisContents(t, deliver)); diff != "" {
				t.Fatalf("seed %d by %s, with copies (-without +with):\n%s", seed, name, diff)
			}
		}
	}
}

func replayed(t *testing.T, p *pipeline.Pipeline, records []string) {
	src, err := replay.Open(replay.Options{Paths: []string{"-"}, Stdin: strings.NewReader("[" + strings.Join(records, ",") + "]"), Decoder: record.DecoderOptions{Table: "shop"}})
	if err == nil {
		err = errors.Join(p.Run(t.Context(), src, nil), src.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// kinesisContents runs deliver with a new pipeline. It returns the ids of the events and the entries of the archives,
// by the name of their place.
func kinesisContents(t *testing.T, deliver func(*pipeline.Pipeline)) map[string][]string {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	p, stores, err := assembled(t, dir, ofKinesis)
	if err != nil {
		t.Fatal(err)
	}
	deliver(p)
	found := map[string][]string{}
	b, err := os.ReadFile(stores.Dir().Events("told"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var event struct{ ID string }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		found["events"] = append(found["events"], event.ID)
	}
	for _, bucket := range []string{"records", "plain", "columns", "items"} {
		store, err := archivedir.New(archivedir.Options{Dir: stores.Dir().Archive(bucket)})
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range archive.Read(t.Context(), store, archive.ReadOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			line := string(e.Line)
			if bucket == "items" { // an object has the copy of its change that was written first
				line = fmt.Sprint(e.Key, e.Version.Epoch(), e.Change.EventID)
			}
			found[bucket] = append(found[bucket], line)
		}
	}
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(found["events"])
	slices.Sort(found["items"])
	return found
}
