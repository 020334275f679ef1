package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// turns returns a row whose sides take given times, and note the order in which they run.
func turns(ours, peer []time.Duration, order *strings.Builder) row {
	of := func(who string, took []time.Duration) side {
		next := 0
		return side{run: func(context.Context) (sample, error) {
			order.WriteString(who)
			next++
			return sample{records: 1000, processor: took[next-1]}, nil
		}}
	}
	return row{id: "turns", of: rate, least: 2, open: func(context.Context, *bench) (*contest, error) {
		return &contest{ours: of("o", ours), peer: of("p", peer)}, nil
	}}
}

func TestMeasureTakesTurns(t *testing.T) {
	const ms = time.Millisecond
	var order strings.Builder
	r, err := measure(t.Context(), &bench{}, turns([]time.Duration{10 * ms, 20 * ms, 50 * ms}, []time.Duration{100 * ms, 40 * ms, 80 * ms}, &order), 3)
	if err != nil {
		t.Fatal(err)
	}
	if order.String() != "oppoop" {
		t.Errorf("the order was %s, want oppoop: the first alternates", order.String())
	}
	if r.Ours != (spread{20_000, 50_000, 100_000}) || r.Peer != (spread{10_000, 12_500, 25_000}) || r.Ratio != 4 {
		t.Errorf("%v against %v, ratio %v", r.Ours, r.Peer, r.Ratio)
	}
	if r.Rounds != 3 || r.Least != 2 {
		t.Errorf("%d rounds, budget %v", r.Rounds, r.Least)
	}
}

func TestMeasureOfFewRounds(t *testing.T) {
	var order strings.Builder
	r := turns([]time.Duration{1, 1}, []time.Duration{1, 1}, &order)
	r.rounds = 2
	if got, err := measure(t.Context(), &bench{}, r, 7); err != nil || got.Rounds != 2 {
		t.Errorf("%d rounds, %v", got.Rounds, err)
	}
}

// A side that is fast because it does not do the work causes an error.
func TestAgree(t *testing.T) {
	b := &bench{span: time.Millisecond}
	gives := func(n int) func(context.Context) (int, error) {
		return func(context.Context) (int, error) { return n, nil }
	}
	if _, err := agree(t.Context(), b, 10, gives(5), gives(6)); err == nil {
		t.Error("sides that find different things agree")
	}
	if _, err := agree(t.Context(), b, 10, gives(0), gives(0)); err == nil {
		t.Error("sides that find nothing agree")
	}
	if _, err := agree(t.Context(), b, 10, gives(5), func(context.Context) (int, error) { return 5, errors.New("broken") }); err == nil {
		t.Error("a side that fails agrees")
	}
	calls := 0
	c, err := agree(t.Context(), b, 10, func(context.Context) (int, error) {
		if calls++; calls > 3 {
			return 4, nil
		}
		return 5, nil
	}, gives(5))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := c.peer.run(t.Context()); err != nil || s.records == 0 || s.records%10 != 0 || s.processor < b.span || s.wall <= 0 {
		t.Errorf("a round was %+v, %v", s, err)
	}
	if _, err := c.ours.run(t.Context()); err == nil {
		t.Error("a side that finds less in a later round passes")
	}
}

func TestAllocsAreExact(t *testing.T) {
	var keep [][]byte
	got, err := allocsOf(t.Context(), func(context.Context) (int, error) {
		keep = keep[:0]
		for range 30 {
			keep = append(keep, make([]byte, 100))
		}
		return 10, nil
	})
	if err != nil || got < 3 || got > 3.1 { // the runtime may allocate once or twice
		t.Errorf("%v allocations a record, %v, want 3", got, err)
	}
}

func TestChoose(t *testing.T) {
	all := []row{{id: "a", least: 1}, {id: "a", variant: "large"}, {id: "b", allocs: new(0.0), input: true}, {id: "c", least: 1, servers: true}}
	for _, c := range []struct {
		o    options
		want string
	}{
		{options{}, "a; a, large; b"},
		{options{short: true}, "a; b"},
		{options{input: "file"}, "b"},
		{options{servers: true}, "a; a, large; b; c"},
		{options{only: []string{"a"}, short: true}, "a; a, large"},
		{options{only: []string{"c", "b"}}, "b; c"},
	} {
		rows, err := choose(all, c.o)
		var names []string
		for _, r := range rows {
			names = append(names, r.name())
		}
		if got := strings.Join(names, "; "); err != nil || got != c.want {
			t.Errorf("%+v chooses %s, %v, want %s", c.o, got, err, c.want)
		}
	}
	if _, err := choose(all, options{only: []string{"d"}}); err == nil {
		t.Error("a row that is not there is chosen")
	}
}
