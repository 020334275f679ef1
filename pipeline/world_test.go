package pipeline

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// change makes the n-th change of a key.
func change(key string, n int) record.Change {
	sequence := strconv.Itoa(n)
	return record.Change{
		Op: record.Modify, Key: item.Key(key), Sequence: sequence, Version: versionOf(sequence),
		Time: time.Unix(1_700_000_000+int64(n), 0).UTC(),
		Raw:  []byte(`{"key":` + strconv.Quote(key) + `,"n":` + sequence + `}`),
	}
}

// nth returns the number that change gave to c.
func nth(c *record.Change) int {
	n, _ := strconv.Atoi(c.Sequence)
	return n
}

// pageOf makes a page with one change for each key. counts holds the last number of each key.
func pageOf(counts map[string]int, partition string, pos int, keys ...string) *Page {
	p := &Page{Partition: partition, Position: Position(strconv.Itoa(pos))}
	for i, k := range keys {
		counts[k]++
		c := change(k, counts[k])
		c.Index = int32(i)
		p.Changes = append(p.Changes, c)
		p.Bytes += len(c.Raw)
	}
	return p
}

// pages returns a source of pages that ends with err (nil: io.EOF).
func pages(err error, ps ...*Page) Source {
	return SourceFunc(func(context.Context) (*Page, error) {
		if len(ps) == 0 {
			if err == nil {
				return nil, io.EOF
			}
			return nil, err
		}
		p := ps[0]
		ps = ps[1:]
		return p, nil
	})
}

// endless returns a source of pages that does not end after the last page, but waits until it is stopped.
func endless(ps ...*Page) Source {
	return SourceFunc(func(ctx context.Context) (*Page, error) {
		if len(ps) == 0 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		p := ps[0]
		ps = ps[1:]
		return p, nil
	})
}

// recorder is a sink that keeps its changes as key and number, in one slice for each Write that worked.
type recorder struct {
	keepsOrder bool
	fail       func(ctx context.Context, ds []Delivery) error // nil: works

	mu      sync.Mutex
	batches [][]string
}

var (
	_ Sink       = (*recorder)(nil)
	_ KeyOrderer = (*recorder)(nil)
)

func (r *recorder) KeepsKeyOrder() bool { return r.keepsOrder }

func (r *recorder) Write(ctx context.Context, ds []Delivery) error {
	var err error
	if r.fail != nil {
		err = r.fail(ctx, ds)
	}
	partial, ok := errors.AsType[*BatchError](err)
	if err != nil && !ok {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var got []string
	for i := range ds {
		if ok && partial.Failed[i] != nil {
			continue
		}
		got = append(got, string(ds[i].Change.Key)+ds[i].Change.Sequence)
	}
	if len(got) > 0 {
		r.batches = append(r.batches, got)
	}
	return err
}

// all returns all written changes, in order.
func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.batches...)
}

// graveyard is a dead letter store in memory.
type graveyard struct {
	fail func() error // nil: works

	mu      sync.Mutex
	letters []DeadLetter
}

var _ DeadLetters = (*graveyard)(nil)

func (g *graveyard) Put(_ context.Context, letters []DeadLetter) error {
	if g.fail != nil {
		if err := g.fail(); err != nil {
			return err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.letters = append(g.letters, letters...)
	return nil
}

// commits is a Committer that keeps the committed positions.
type commits struct {
	mu   sync.Mutex
	last map[string][]Position
}

var _ Committer = (*commits)(nil)

func (c *commits) Commit(_ context.Context, partition string, p Position) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[string][]Position{}
	}
	c.last[partition] = append(c.last[partition], p)
	return nil
}

// at returns the last committed position of a partition.
func (c *commits) at(partition string) Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.last[partition]); n > 0 {
		return c.last[partition][n-1]
	}
	return ""
}

// versionOf returns the version of a sequence number in a stream with epoch zero.
func versionOf(sequence string) record.Version {
	const zeros = "00000000000000000000000000000000000000000000000000"
	v, err := record.ParseVersion(zeros[len(sequence):] + sequence)
	if err != nil {
		panic(err)
	}
	return v
}
