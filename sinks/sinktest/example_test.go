package sinktest_test

import (
	"context"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// table is a store: the newest version of each item, also of items that are gone.
type table struct {
	mu   sync.Mutex
	rows map[item.Key]row
}

type row struct {
	version record.Version
	item    []byte // DynamoDB JSON; nil: a tombstone
}

// copySink copies the items into a table. It is the sink under test.
type copySink struct {
	table  *table
	faults *sinktest.Faults
}

func (s copySink) Write(_ context.Context, ds []pipeline.Delivery) error {
	var failed pipeline.BatchError
	for i := range ds {
		failed.Add(i, s.faults.Call(1, func(int) error { s.table.put(ds[i].Change); return nil }))
	}
	return failed.OrNil()
}

// put writes a change unless a newer one is there.
func (t *table) put(c *record.Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Version.Compare(t.rows[c.Key].version) < 0 {
		return
	}
	r := row{version: c.Version}
	if !c.Removed() {
		r.item = c.New.AppendDynamoDBJSON(nil)
	}
	t.rows[c.Key] = r
}

// state returns the items of the table by their keys.
func (t *table) state() (map[string]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[string]string)
	for _, r := range t.rows {
		if r.item == nil {
			continue
		}
		it := make(sinktest.Item)
		if err := it.Decode(r.item); err != nil {
			return nil, err
		}
		all[keyOf(it)] = sinktest.Canonical(it)
	}
	return all, nil
}

func keyOf(it sinktest.Item) string {
	return sinktest.Canonical(it["PK"]) + sinktest.Canonical(it["SK"])
}

// testCopySink is what a TestConformance of the sink does. A store in a folder is opened there; this one is in memory.
func testCopySink(t *testing.T) {
	var tables sync.Map // by folder
	sinktest.Run(t, sinktest.Suite{
		Open: func(dir string) (sinktest.Store, error) {
			opened, _ := tables.LoadOrStore(dir, &table{rows: make(map[item.Key]row)})
			tab := opened.(*table)
			return sinktest.Store{
				Sink:  func(f *sinktest.Faults) (pipeline.Sink, error) { return copySink{tab, f}, nil },
				State: tab.state,
			}, nil
		},
		Model: func(s *sinktest.Stream) map[string]string {
			all := make(map[string]string)
			for _, it := range s.Items() {
				all[keyOf(it)] = sinktest.Canonical(it)
			}
			return all
		},
	})
}

// A test of a store calls Run: Open opens the store, State reads it back, and Model returns what one clean pass over the
// stream leaves. All that the sink does to the store goes through Faults.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestConformance(t *testing.T)
		testCopySink(t)
	}
}
