package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
)

const (
	flightItem    = 400_000 // bytes of an item; DynamoDB takes at most this size
	flightRecords = 16
)

// flightRows compare the memory of the largest items while they are written with the bytes of the items.
func flightRows() []row {
	return []row{{
		id:   "flight",
		work: "memory of items of 400 KB with both images, while a view, documents and an archive of them are being written",
		peer: "the bytes of the records",
		of:   memory, most: 3, rounds: 3,
		open: openFlight,
	}}
}

// heavy returns items of 400 KB, whose text is in attributes of some KB each.
func heavy() *shape {
	return &shape{name: "heavy", of: func(i int) savedRecord {
		key := fmt.Sprintf(`"PK":{"S":"DOCUMENT#%06d"}`, i)
		image := func(status string) string {
			var b strings.Builder
			fmt.Fprintf(&b, `{%s,"Type":{"S":"Document"},"Status":{"S":"%s"},"Version":{"N":"%d"}`, key, status, i)
			for part := 0; b.Len() < flightItem; part++ {
				fmt.Fprintf(&b, `,"Part%03d":{"S":"%s"}`, part, strings.Repeat("All work and no play makes Jack a dull boy. ", 40))
			}
			return b.String() + "}"
		}
		return savedRecord{Event: "MODIFY", Keys: "{" + key + "}", Old: image("draft"), New: image("completed")}
	}}
}

func openFlight(ctx context.Context, _ *bench) (*contest, error) {
	records := 0
	var bodies [][]byte
	bytes := int64(0)
	for records < flightRecords {
		body, n := heavy().page(records)
		bodies, records, bytes = append(bodies, body), records+n, bytes+int64(len(body))
	}
	w, err := newWhole(ctx, heavy(), bodies)
	if err != nil {
		return nil, err
	}
	w.fresh = true
	ours := func(ctx context.Context) (sample, error) {
		held, err := w.held(ctx, int64(records))
		return sample{records: records, bytes: held}, err
	}
	theirs := func(context.Context) (sample, error) { return sample{records: records, bytes: bytes}, nil }
	return &contest{ours: side{run: ours}, peer: side{run: theirs}}, nil
}

// held returns the bytes of memory that n records take while all stores hold them.
func (w *whole) held(ctx context.Context, records int64) (int64, error) {
	read := w.pipeline.Ledger().Source.Read
	before := alive()
	w.counts.hold()
	ended := make(chan error, 1)
	go func() {
		_, err := w.run(ctx)
		ended <- err
	}()
	for w.pipeline.Ledger().Source.Read-read < records {
		select {
		case err := <-ended:
			return 0, errors.Join(errors.New("the run ended before its records were held"), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	held := alive() - before
	w.counts.letGo()
	return held, <-ended
}

// alive returns the size of the heap after a collection.
func alive() int64 {
	runtime.GC()
	runtime.GC() // the second collection frees what pools kept over the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
