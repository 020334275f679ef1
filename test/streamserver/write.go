package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// writes counts the writes.
type writes struct{ records, number atomic.Int64 }

// load describes a number of writes.
type load struct {
	Records int     // number of records to make
	Keys    int     // number of items that the writes are about. Default: 100
	Seed    uint64  // Default: 1
	Rate    float64 // records a second. Default: as fast as possible
	Deletes float64 // share of the writes that are deletes. Default: 0
	Bytes   int     // size of the attribute Text. Default: 100
	Prefix  string  // start of the items' PK. Default: item
}

func (a *admin) write(l load) (any, error) {
	if l.Records < 1 || l.Deletes < 0 || l.Deletes > 0.9 || l.Rate < 0 {
		return nil, errors.New("records must be above 0, deletes from 0 to 0.9, rate not below 0")
	}
	l.Keys, l.Seed = cmp.Or(l.Keys, 100), cmp.Or(l.Seed, 1)
	l.Bytes, l.Prefix = cmp.Or(l.Bytes, 100), cmp.Or(l.Prefix, "item")
	r := rand.New(rand.NewPCG(l.Seed, 0))
	text := strings.Repeat("x", l.Bytes)
	if l.Rate == 0 {
		for range l.Records {
			if err := a.writeOne(r, l, text); err != nil {
				return nil, err
			}
		}
		return map[string]int{"written": l.Records}, nil
	}
	a.start(func(ctx context.Context) error { return a.writeAtRate(ctx, r, l, text) })
	return nil, nil
}

// writeAtRate makes the records of l at its rate, until ctx ends.
func (a *admin) writeAtRate(ctx context.Context, r *rand.Rand, l load, text string) error {
	began, done := time.Now(), 0
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for done < l.Records {
		due := min(l.Records, int(time.Since(began).Seconds()*l.Rate))
		for ; done < due && ctx.Err() == nil; done++ {
			if err := a.writeOne(r, l, text); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// writeOne makes one record.
func (a *admin) writeOne(r *rand.Rand, l load, text string) error {
	for {
		key := fmt.Sprintf(`"PK":{"S":"%s#%06d"},"SK":{"S":"order"}`, l.Prefix, r.IntN(l.Keys))
		var w streamtest.Written
		var err error
		if r.Float64() < l.Deletes {
			w, err = a.table.Delete("{" + key + "}")
			if err == nil && w.Event == "" && a.table.Stream() != nil {
				continue // the item did not exist
			}
		} else {
			w, err = a.table.Put(fmt.Sprintf(`{%s,"Type":{"S":"Order"},"Status":{"S":%q},"Customer":{"S":"c%d"},"Total":{"N":"%d.%02d"},"Write":{"N":"%d"},"At":{"N":"%d"},"Text":{"S":"%s"}}`,
				key, []string{"open", "paid", "shipped", "returned"}[r.IntN(4)], r.IntN(20), r.IntN(1000), r.IntN(100), a.writes.number.Add(1), time.Now().UnixNano(), text))
		}
		if w.Event != "" {
			a.writes.records.Add(1)
		}
		return err
	}
}

type one struct {
	Item   json.RawMessage
	Expire bool
}

func (a *admin) put(in one) (any, error) {
	w, err := a.table.Put(string(in.Item))
	return a.wrote(w), err
}

func (a *admin) remove(in one) (any, error) {
	do := a.table.Delete
	if in.Expire {
		do = a.table.Expire
	}
	w, err := do(string(in.Item))
	return a.wrote(w), err
}

func (a *admin) wrote(w streamtest.Written) map[string]string {
	if w.Event != "" {
		a.writes.records.Add(1)
	}
	return map[string]string{"shard": w.Shard, "sequence": w.Sequence, "event": w.Event}
}
