package sinktest_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// Flaws of a sink that keeps what it knows of an item.
const (
	trustsOldImages  flaw = "trusts old images" // takes away what the old image shows, not what it knows
	ignoresStrangers flaw = "ignores strangers" // waits for the insert of an item that it has not seen
	forgetsWaiting   flaw = "forgets waiting"   // drops an item that comes before its row is free
	forgetsItems     flaw = "forgets items"     // keeps no version of an item
	firstCome        flaw = "first come"        // lets the item that came first have the row, whatever its key
)

var errTaken = pipeline.Permanent(errors.New("another order holds the status"))

// hall is the state that survives a crash: who is at which status, the owner first.
type hall struct {
	mu    sync.Mutex
	known map[item.Key]guest
	seats map[string][]item.Key
}

type guest struct {
	version record.Version
	status  string
	item    string
}

// seatSink shows one Order for each status: that of the smallest key.
type seatSink struct {
	flaw   flaw
	hall   *hall
	faults *sinktest.Faults
}

var (
	_ pipeline.Sink       = (*seatSink)(nil)
	_ pipeline.KeyOrderer = (*seatSink)(nil)
)

func (s *seatSink) KeepsKeyOrder() bool { return true }

func (s *seatSink) Write(_ context.Context, ds []pipeline.Delivery) error {
	var failed pipeline.BatchError
	for i := range ds {
		var taken error
		err := s.faults.Call(1, func(int) error { taken = s.write(ds[i].Change); return nil })
		if err == nil {
			err = taken
		}
		failed.Add(i, err)
	}
	return failed.OrNil()
}

func (s *seatSink) write(c *record.Change) error {
	s.hall.mu.Lock()
	defer s.hall.mu.Unlock()
	was, known := s.hall.known[c.Key]
	now := guest{version: c.Version}
	now.status, now.item = order(c.New)
	switch {
	case s.flaw != forgetsItems && known && was.version.Compare(now.version) > 0:
		return nil
	case s.flaw == ignoresStrangers && !known && c.Op == record.Modify:
		return nil
	case s.flaw == trustsOldImages:
		was.status, _ = order(c.Old)
	}
	if was.status != now.status {
		s.hall.seats[was.status] = slices.DeleteFunc(s.hall.seats[was.status], func(k item.Key) bool { return k == c.Key })
	}
	s.hall.known[c.Key] = now
	seat := s.hall.seats[now.status]
	if now.status == "" {
		return nil
	}
	if s.flaw == forgetsWaiting && len(seat) > 0 && seat[0] != c.Key {
		return errTaken
	}
	if !slices.Contains(seat, c.Key) {
		seat = append(seat, c.Key)
		if s.flaw != firstCome {
			slices.Sort(seat)
		}
		s.hall.seats[now.status] = seat
	}
	if seat[0] != c.Key {
		return errTaken
	}
	return nil
}

// order is the status of an image that is an Order, and the image as text.
func order(image item.Image) (status, text string) {
	if !image.Exists() {
		return "", ""
	}
	item := make(sinktest.Item)
	if err := item.Decode(image.AppendDynamoDBJSON(nil)); err != nil {
		panic(err) // the decoder took it
	}
	if item.Text("Type") != "Order" {
		return "", ""
	}
	return item.Text("Status"), sinktest.Canonical(item)
}

// seatSuite is the suite for such a sink with a flaw.
func seatSuite(f flaw) sinktest.Suite {
	var halls sync.Map
	return sinktest.Suite{
		ByState: true,
		Refused: func(err error) bool { return errors.Is(err, errTaken) },
		Stream:  sinktest.StreamOptions{Snapshots: true},
		Model: func(s *sinktest.Stream) map[string]string {
			last := make(map[item.Key]*record.Change)
			for _, c := range s.Changes {
				last[c.Key] = c
			}
			orders := make(map[string]string)
			for _, key := range slices.Backward(slices.Sorted(maps.Keys(last))) {
				if status, item := order(last[key].New); status != "" {
					orders[status] = item // of the smallest key in the end
				}
			}
			return orders
		},
		Open: func(dir string) (sinktest.Store, error) {
			found, _ := halls.LoadOrStore(dir, &hall{known: make(map[item.Key]guest), seats: make(map[string][]item.Key)})
			h := found.(*hall)
			return sinktest.Store{
				Sink: func(faults *sinktest.Faults) (pipeline.Sink, error) {
					return &seatSink{flaw: f, hall: h, faults: faults}, nil
				},
				State: func() (map[string]string, error) {
					h.mu.Lock()
					defer h.mu.Unlock()
					orders := make(map[string]string)
					for status, seat := range h.seats {
						if len(seat) > 0 {
							orders[status] = h.known[seat[0]].item
						}
					}
					return orders, nil
				},
			}, nil
		},
	}
}
