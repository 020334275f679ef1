package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tablewake/tablewake/shardreader/streamtest"
)

type splitting struct {
	Shard    string
	Children int      // Default: 2
	Every    duration // Default: once
	Times    *int     // Default: 1; 0 means without end
	Seed     uint64   // Default: 1
}

func (a *admin) split(in splitting) (any, error) {
	in.Children = cmp.Or(in.Children, 2)
	if in.Children < 1 || in.Every < 0 || in.Every > 0 && in.Shard != "" {
		return nil, errors.New("children must be above 0, and every goes without a shard")
	}
	r := rand.New(rand.NewPCG(cmp.Or(in.Seed, 1), 1))
	if in.Every == 0 {
		children, err := a.splitOne(in.Shard, in.Children, r)
		return map[string][]string{"children": children}, err
	}
	a.start(func(ctx context.Context) error {
		tick := time.NewTicker(time.Duration(in.Every))
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil
			}
			if _, err := a.splitOne("", in.Children, r); err != nil {
				return err
			}
			if in.Times == nil || n == *in.Times {
				return nil
			}
		}
	})
	return nil, nil
}

// splitOne splits the shard, or a random open shard if shard is "".
func (a *admin) splitOne(shard string, children int, r *rand.Rand) ([]string, error) {
	a.reshaping.Lock()
	defer a.reshaping.Unlock()
	st, err := a.stream()
	if err != nil {
		return nil, err
	}
	if shard == "" {
		open := st.Open()
		shard = open[r.IntN(len(open))]
	}
	return st.Split(shard, children), nil
}

func (a *admin) stream() (*streamtest.Stream, error) {
	if st := a.table.Stream(); st != nil {
		return st, nil
	}
	return nil, errors.New("no stream is enabled")
}

type trimming struct {
	Shard   string
	Records int
	Ended   bool
	Before  time.Time
}

func (a *admin) trim(in trimming) (any, error) {
	a.reshaping.Lock()
	defer a.reshaping.Unlock()
	st, err := a.stream()
	if err != nil {
		return nil, err
	}
	switch {
	case in.Ended:
		st.DropEnded()
		return nil, nil
	case !in.Before.IsZero():
		st.TrimBefore(in.Before)
		return nil, nil
	}
	shards := []string{in.Shard}
	if in.Shard == "" {
		shards = st.Shards()
	}
	for _, shard := range shards {
		st.Trim(shard, in.Records)
	}
	return nil, nil
}

func (a *admin) disable(struct{}) (any, error) {
	a.reshaping.Lock()
	defer a.reshaping.Unlock()
	st, err := a.stream()
	if err == nil {
		st.Disable()
	}
	return nil, err
}

func (a *admin) enable(in struct{ Shards int }) (any, error) {
	a.reshaping.Lock()
	defer a.reshaping.Unlock()
	old, err := a.stream()
	if err == nil {
		old.Disable()
	}
	st := a.server.Enable(a.table.Name(), streamtest.StreamOptions{Shards: in.Shards})
	return map[string]string{"stream": st.ARN()}, nil
}

type failing struct {
	Op, Fault string
	Times     int // Default: 1
	Delay     duration
}

func (a *admin) fail(in failing) (any, error) {
	f, err := fault(in.Fault, in.Delay)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(ops, in.Op) {
		return nil, fmt.Errorf("op must be one of %q", ops)
	}
	a.server.Fail(in.Op, slices.Repeat([]streamtest.Fault{f}, max(in.Times, 1))...)
	return nil, nil
}

var ops = []string{"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"}

func fault(name string, delay duration) (streamtest.Fault, error) {
	f, ok := streamtest.Faults()[name]
	if !ok && (name != "" || delay == 0) {
		return f, fmt.Errorf("there is no fault %q", name)
	}
	if delay > 0 {
		f.Delay = time.Duration(delay)
	}
	return f, nil
}

type chaos struct {
	Probability float64
	Seed        uint64
	Faults      []string
	Ops         []string // Default: all
	Delay       duration
}

func (a *admin) chaos(in chaos) (any, error) {
	if in.Probability == 0 {
		a.server.FailWhen(nil)
		return nil, nil
	}
	var faults []streamtest.Fault
	for _, name := range in.Faults {
		f, err := fault(name, in.Delay)
		if err != nil {
			return nil, err
		}
		faults = append(faults, f)
	}
	choose := streamtest.Sometimes(in.Seed, in.Probability, faults...)
	a.server.FailWhen(func(c streamtest.Call) streamtest.Fault {
		if len(in.Ops) > 0 && !slices.Contains(in.Ops, c.Op) {
			return streamtest.Fault{}
		}
		return choose(c)
	})
	return nil, nil
}
