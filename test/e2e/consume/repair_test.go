package consume

import (
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/test/e2e/shop"
)

// mirrored writes to a table of DynamoDB Local and to a streamserver. The streamserver serves the stream, because it
// can lose records.
type mirrored struct {
	table  *dynamoTable
	stream streamTable
}

func (m mirrored) Put(item string) (w streamtest.Written, err error) {
	if w, err = m.table.Put(item); err == nil {
		w, err = m.stream.Put(item)
	}
	return w, err
}

func (m mirrored) Delete(key string) (w streamtest.Written, err error) {
	if w, err = m.table.Delete(key); err == nil {
		w, err = m.stream.Delete(key)
	}
	return w, err
}

func (m mirrored) Expire(key string) (w streamtest.Written, err error) {
	if w, err = m.table.Expire(key); err == nil {
		w, err = m.stream.Expire(key)
	}
	return w, err
}

// gapStatus has the gaps in the output of status.
type gapStatus struct {
	Gaps []struct {
		Repair struct {
			Stage, Owner, How                  string
			Items, Differences, Repaired, Left int64
		}
	}
	Problems []struct{ Kind, Text string }
}

// gaps returns the gaps and problems of `status`. It waits for an answer, because the tables of an overloaded machine
// may not answer at once.
func (w *world) gaps(t *testing.T) (s gapStatus) {
	t.Helper()
	until(t, "status answers", func() bool { s = gapStatus{}; return w.readGaps(t, &s) == nil })
	return s
}

func (w *world) readGaps(t *testing.T, s *gapStatus) error {
	t.Helper()
	_, out := w.run(t, "status", "-o", "json")
	_, text, _ := strings.Cut(out, "\n{") // the JSON follows the messages of standard error
	return json.NewDecoder(strings.NewReader("{" + text)).Decode(s)
}

// The stream loses changes of all kinds before they are read. A consumer reads on after the gap. Meanwhile it repairs a
// view whose rows stay, a view whose rows move, an aggregate and an index, while the table is written. The consumer
// dies during the repair, and another consumer finishes the repair.
func TestRepair_TakenOver(t *testing.T) {
	const items = 200
	table := "repair-source-" + strings.ToLower(rand.Text()[:8])
	s := startStream(t, "-table", table, "-shards", "2")
	w := newWorld(t, table, s.endpoint, ", on_gap: repair")
	index := w.addIndex(t)
	w.only(t, "orders", "by_status", "per_customer", "documents")
	w.createTable(t, table, nil)
	source := &source{Shop: shop.New(mirrored{&dynamoTable{ctx: t.Context(), client: w.client, name: table}, streamTable{t.Context(), s}}, items)}
	source.fill(t, items)
	task := w.start(t, "task-1", w.dynamo)
	w.converge(t, func() []item { return s.items(t) })
	index.holds(t, source)
	w.healthy(t)
	task.stop(t)

	for i := range items { // the changes that the stream loses: modified, removed and new items
		switch pk := shop.PK(i); i % 5 {
		case 0, 1:
			source.must(t, source.Put(pk))
		case 2:
			source.must(t, source.Remove(pk, false))
		case 3:
			source.must(t, source.Put(shop.PK(items+i)))
		}
	}
	s.do(t, "POST", "/admin/trim", map[string]any{"records": 1_000_000}, nil)
	for i := range 20 { // the changes that the stream keeps
		source.must(t, source.Put(shop.PK(10*i+4)))
	}

	first := w.start(t, "task-1", w.dynamo, "--repair-rcu", "1")
	first.says(t, "records were lost: the sinks are compared with the table, and repaired")
	until(t, "a gap of two is being repaired", func() bool { // both are, unless the consumer found the second much later
		gaps := w.gaps(t).Gaps
		return len(gaps) == 2 && (gaps[0].Repair.Stage == "repairing" || gaps[1].Repair.Stage == "repairing")
	})
	if st := w.gaps(t); len(st.Problems) == 0 {
		t.Errorf("status has no problem while gaps are repaired: %+v", st)
	}
	if rows, err := w.rows(t.Context()); err != nil || cmp.Equal(model(s.items(t)), rows) {
		t.Fatalf("the sinks hold what the table says before they are repaired, %v", err)
	}
	first.kill(t)

	source.write(t, items, 5)
	second := w.start(t, "task-2", w.dynamo)
	untilWithin(t, 5*patience, "the gaps are repaired", func() bool {
		time.Sleep(time.Second)
		for _, g := range w.gaps(t).Gaps {
			if g.Repair.Stage != "repaired" {
				return false
			}
		}
		return true
	})
	source.stop()
	second.says(t, "an entry was repaired")
	w.converge(t, func() []item { return s.items(t) })
	index.holds(t, source)
	w.healthy(t)
	for _, g := range w.gaps(t).Gaps {
		if r := g.Repair; r.How != "audit" || r.Differences == 0 || r.Repaired == 0 || r.Left != 0 || r.Owner != "" {
			t.Errorf("what was done: %+v", r)
		}
	}
	second.stop(t)
}
