package sinktest_test

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// flaw is what is wrong with a sink.
type flaw string

const (
	sound             flaw = "sound"
	noGuard           flaw = "no guard"                  // writes whatever comes
	noTombstones      flaw = "no tombstones"             // forgets the version of a deleted row
	textVersions      flaw = "text versions"             // compares sequence numbers as text
	secondVersions    flaw = "second versions"           // compares seconds, and a counter of its own
	swallowsErrors    flaw = "swallows errors"           // takes a failed write for done
	firstOfBatch      flaw = "first of a batch"          // of a batch's changes of a key writes the first alone
	ignoresTTL        flaw = "ignores TTL"               // keeps what the TTL process deleted
	ignoresUnknown    flaw = "ignores unknown"           // skips operations that it does not know
	writesAtFlush     flaw = "writes at flush"           // acknowledges what it holds in memory
	remembersTooEarly flaw = "remembers before it wrote" // skips what it tried to write before
	losesOldState     flaw = "loses old state"           // starts empty when it is opened
	keepsPlans        flaw = "keeps plans"               // stores what it planned without a copy
)

// disk is what survives a crash.
type disk struct {
	mu   sync.Mutex
	docs map[item.Key]doc
}

type doc struct {
	version record.Version
	text    string // sequence number
	second  int64
	counter int
	item    sinktest.Item // nil: a tombstone
	plan    []byte        // where the flaw has it: the item
}

// plan is what the sink makes of a change ahead of Write.
type plan struct{ item []byte }

func (*plan) String() string { return "put" }

// mapSink keeps the current items of type Order in a map.
type mapSink struct {
	flaw    flaw
	disk    *disk
	faults  *sinktest.Faults
	counter int
	pending []*record.Change
	tried   map[string]bool // key and version
}

var (
	_ pipeline.Planner    = (*mapSink)(nil)
	_ pipeline.KeyOrderer = (*mapSink)(nil)
	_ pipeline.Flusher    = (*mapSink)(nil)
)

func (s *mapSink) KeepsKeyOrder() bool { return true }

// Plan makes what the sink is to keep.
func (s *mapSink) Plan(d *pipeline.Delivery) error {
	op := pipeline.Alloc[plan](d)
	if !d.Change.Removed() {
		op.item = d.Bytes(d.Change.New.AppendDynamoDBJSON(nil))
	}
	d.Ops = append(d.Ops, op)
	return nil
}

func (s *mapSink) Write(_ context.Context, ds []pipeline.Delivery) error {
	var failed pipeline.BatchError
	seen := make(map[item.Key]bool)
	for i := range ds {
		if c := ds[i].Change; s.flaw != firstOfBatch || !seen[c.Key] {
			seen[c.Key] = true
			failed.Add(i, s.deliver(c))
		}
		if s.flaw == keepsPlans && failed.Failed[i] == nil {
			s.keep(&ds[i])
		}
	}
	return failed.OrNil()
}

func (s *mapSink) keep(d *pipeline.Delivery) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if there := s.disk.docs[d.Change.Key]; there.version == d.Change.Version {
		there.plan = d.Ops[0].(*plan).item
		s.disk.docs[d.Change.Key] = there
	}
}

func (s *mapSink) deliver(c *record.Change) error {
	switch {
	case s.flaw == ignoresTTL && c.TTLDelete(), s.flaw == ignoresUnknown && c.Op == record.Unknown:
		return nil
	case s.flaw == writesAtFlush:
		s.pending = append(s.pending, c)
		return nil
	case s.flaw == remembersTooEarly:
		this := string(c.Key) + c.Version.String()
		if s.tried[this] {
			return nil
		}
		s.tried[this] = true
	}
	err := s.faults.Call(1, func(int) error { s.write(c); return nil })
	if s.flaw == swallowsErrors && !errors.Is(err, sinktest.ErrCrash) {
		return nil
	}
	return err
}

func (s *mapSink) Flush(context.Context) error {
	for _, c := range s.pending {
		s.write(c)
	}
	s.pending = nil
	return nil
}

func (s *mapSink) write(c *record.Change) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	s.counter++
	d := doc{version: c.Version, text: c.Sequence, second: c.Time.Unix(), counter: s.counter}
	if !c.Removed() {
		d.item = make(sinktest.Item)
		if err := d.item.Decode(c.New.AppendDynamoDBJSON(nil)); err != nil {
			panic(err) // the decoder took it
		}
	}
	if old, ok := s.disk.docs[c.Key]; ok && s.older(d, old) {
		return
	}
	if s.flaw == noTombstones && d.item == nil {
		delete(s.disk.docs, c.Key)
		return
	}
	s.disk.docs[c.Key] = d
}

func (s *mapSink) older(d, than doc) bool {
	switch s.flaw {
	case noGuard:
		return false
	case textVersions:
		return d.text < than.text
	case secondVersions:
		return cmp.Or(cmp.Compare(d.second, than.second), cmp.Compare(d.counter, than.counter)) < 0
	default:
		return d.version.Compare(than.version) < 0
	}
}

// suite is the suite for a sink with a flaw.
func suite(f flaw) sinktest.Suite {
	var disks sync.Map
	return sinktest.Suite{
		Stream: sinktest.StreamOptions{Snapshots: true},
		Model: func(s *sinktest.Stream) map[string]string {
			orders := make(map[string]string)
			for _, item := range s.Items() {
				if item.Text("Type") == "Order" {
					orders[sinktest.Canonical(item["PK"])+sinktest.Canonical(item["SK"])] = sinktest.Canonical(item)
				}
			}
			return orders
		},
		Open: func(dir string) (sinktest.Store, error) {
			found, _ := disks.LoadOrStore(dir, &disk{docs: make(map[item.Key]doc)})
			d := found.(*disk)
			if f == losesOldState {
				d = &disk{docs: make(map[item.Key]doc)}
			}
			return sinktest.Store{
				Sink: func(faults *sinktest.Faults) (pipeline.Sink, error) {
					return &mapSink{flaw: f, disk: d, faults: faults, tried: make(map[string]bool)}, nil
				},
				State: func() (map[string]string, error) {
					d.mu.Lock()
					defer d.mu.Unlock()
					orders := make(map[string]string)
					for _, doc := range d.docs {
						if doc.plan != nil {
							doc.item = make(sinktest.Item)
							if err := doc.item.Decode(doc.plan); err != nil {
								return nil, err
							}
						}
						if doc.item.Text("Type") == "Order" {
							orders[sinktest.Canonical(doc.item["PK"])+sinktest.Canonical(doc.item["SK"])] = sinktest.Canonical(doc.item)
						}
					}
					return orders, nil
				},
			}, nil
		},
	}
}
