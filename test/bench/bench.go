package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

// options are the flags of the command.
type options struct {
	only           []string
	rounds         int
	short, servers bool
	check          float64
	out, input     string
}

// bench has what the rows need.
type bench struct {
	short   bool
	span    time.Duration // minimum processor time of a round that runs in this process
	input   *shape        // records of -input; nil: none
	file    string        // path of -input
	servers *servers
	readers readers
}

// usual returns the usual records, or the records of -input instead.
func (b *bench) usual() *shape {
	if b.input != nil {
		return b.input
	}
	return usual()
}

// run measures the requested rows.
func run(ctx context.Context, o options) error {
	b := &bench{short: o.short, span: 400 * time.Millisecond, servers: &servers{}}
	defer b.servers.close()
	defer b.readers.close()
	if o.short {
		o.rounds, b.span = min(o.rounds, 3), 100*time.Millisecond
	}
	b.file = o.input
	if o.input != "" {
		var err error
		if b.input, err = readInput(o.input); err != nil {
			return err
		}
	}
	chosen, err := choose(rows(), o)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(chosen, func(r row) bool { return r.servers }) {
		if err := b.servers.start(ctx); err != nil {
			return err
		}
	}
	report := newReport(o.rounds)
	if report.Records, err = sizes(b); err != nil {
		return err
	}
	report.head(os.Stdout)
	var failed []error
	for _, r := range chosen {
		result, err := measure(ctx, b, r, o.rounds)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Printf("%-*s  %v\n", nameWidth, r.name(), err)
			failed = append(failed, fmt.Errorf("%s: %w", r.name(), err))
			continue
		}
		result.line(os.Stdout)
		report.Rows = append(report.Rows, result)
		if o.check > 0 {
			failed = append(failed, result.hold(r.share(o.check)))
		}
	}
	report.notes(os.Stdout)
	if o.out != "" {
		failed = append(failed, report.write(o.out))
	}
	return errors.Join(failed...)
}

// choose returns the rows that the flags request.
func choose(all []row, o options) ([]row, error) {
	var chosen []row
	for _, r := range all {
		asked := slices.Contains(o.only, r.id)
		if len(o.only) == 0 {
			asked = r.fits(o)
		}
		if asked {
			chosen = append(chosen, r)
		}
	}
	for _, id := range o.only {
		if !slices.ContainsFunc(all, func(r row) bool { return r.id == id }) {
			var ids []string
			for _, r := range all {
				if !slices.Contains(ids, r.id) {
					ids = append(ids, r.id)
				}
			}
			return nil, fmt.Errorf("there is no row %q: there are %q", id, ids)
		}
	}
	return chosen, nil
}

// measure runs both sides of a row in turns. The side that goes first alternates.
func measure(ctx context.Context, b *bench, r row, rounds int) (out result, err error) {
	cores := cmp.Or(r.cores, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores)) // -1 changes nothing
	progress(r.name(), "making ready")
	defer progress("", "")
	c, err := r.open(ctx, b)
	if err != nil {
		return out, err
	}
	if c.close != nil {
		defer func() { err = errors.Join(err, c.close()) }()
	}
	out = newResult(r, c)
	if b.input != nil && r.input {
		out.Work += "; with " + b.input.note
	}
	if out.OursAllocs, err = count(ctx, c.ours); err != nil {
		return out, err
	}
	if out.PeerAllocs, err = count(ctx, c.peer); err != nil {
		return out, err
	}
	if r.rounds > 0 {
		rounds = min(rounds, r.rounds)
	}
	var ours, peer []float64
	for i := range rounds {
		progress(r.name(), fmt.Sprintf("round %d of %d", i+1, rounds))
		turns := []struct {
			side
			took *[]float64
		}{{c.ours, &ours}, {c.peer, &peer}}
		if i%2 == 1 {
			slices.Reverse(turns)
		}
		for _, t := range turns {
			runtime.GC() // the garbage of the other side must not be collected in the time of this side
			s, err := t.run(ctx)
			if err != nil {
				return out, err
			}
			*t.took = append(*t.took, r.of.of(s))
		}
	}
	out.Rounds = rounds
	out.Ours, out.Peer = spreadOf(ours), spreadOf(peer)
	out.Ratio = out.Ours.Median / out.Peer.Median
	return out, nil
}

func count(ctx context.Context, s side) (*float64, error) {
	if s.allocs == nil {
		return nil, nil
	}
	n, err := s.allocs(ctx)
	return &n, err
}

// progress shows on a terminal what is measured now.
func progress(name, what string) {
	if i, err := os.Stderr.Stat(); err != nil || i.Mode()&os.ModeCharDevice == 0 {
		return
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	if name != "" {
		fmt.Fprintf(os.Stderr, "%s: %s ", name, what)
	}
}
