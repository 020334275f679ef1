package view

import (
	"github.com/tablewake/tablewake/pipeline"
)

// batch writes each row once, by its highest version among the changes of one
// Write. What the others say is covered by that write if it succeeds. If it fails
// for good, the next lower version takes its place, as if the failed change had not
// been in the batch; if it may be tried again, all of the row's changes wait
// for it, so that none is lost when it fails for good later.
type batch struct {
	claims []claim
	rows   []row
	turn   []int // rows in the mutations that next returned
	ms     []Mutation
}

// claim is one op's claim on a row.
type claim struct {
	op       *Op
	delivery int
	next     int // the row's next claim, in the order of delivery; -1: none
	phase    phase
	err      error
}

type phase uint8

const (
	pending phase = iota
	held          // the store holds it
	covered       // a later change of the batch wrote the row
	superseded
	failed
)

type row struct {
	first, last int // claims
	best        int // claim that next returned
	settled     bool
}

func gather(ds []pipeline.Delivery) *batch {
	b := &batch{claims: make([]claim, 0, len(ds)+len(ds)/8)}
	index := make(map[string]int, len(ds))
	for i := range ds {
		for _, o := range ds[i].Ops {
			op, ok := o.(*Op)
			if !ok {
				continue
			}
			at := len(b.claims)
			b.claims = append(b.claims, claim{op: op, delivery: i, next: -1})
			r, seen := index[op.row]
			if !seen {
				index[op.row] = len(b.rows)
				b.rows = append(b.rows, row{first: at, last: at})
				continue
			}
			b.claims[b.rows[r].last].next = at
			b.rows[r].last = at
		}
	}
	return b
}

// next returns one mutation for each row that is not settled; none when all are.
func (b *batch) next() []Mutation {
	b.turn, b.ms = b.turn[:0], b.ms[:0]
	for r := range b.rows {
		row := &b.rows[r]
		if row.settled {
			continue
		}
		row.best = -1
		for i := row.first; i >= 0; i = b.claims[i].next {
			if b.claims[i].phase != pending {
				continue
			}
			if row.best < 0 || b.version(i).Compare(b.version(row.best)) > 0 {
				row.best = i
			}
		}
		if row.best < 0 {
			row.settled = true
			continue
		}
		b.turn = append(b.turn, r)
		b.ms = append(b.ms, b.claims[row.best].op.Mutation)
	}
	return b.ms
}

// settle takes the results of the mutations that next returned.
func (b *batch) settle(rs []Result) {
	for i, res := range rs {
		row := &b.rows[b.turn[i]]
		if res.Err != nil {
			if _, again := pipeline.Retryable(res.Err); !again && !pipeline.IsFatal(res.Err) {
				b.claims[row.best].phase, b.claims[row.best].err = failed, res.Err
				continue
			}
		}
		row.settled = true
		best := b.version(row.best)
		for j := row.first; j >= 0; j = b.claims[j].next {
			c := &b.claims[j]
			switch {
			case c.phase != pending:
			case res.Err != nil:
				c.phase, c.err = failed, res.Err
			case res.Superseded:
				c.phase = superseded
			case b.version(j).Compare(best) == 0:
				c.phase = held
			case j < row.best:
				c.phase = covered
			default:
				c.phase = superseded
			}
		}
	}
}

func (b *batch) version(claim int) pipeline.Version { return b.claims[claim].op.Mutation.Version }

// finish sets the outcome of each delivery, and names those that failed.
func (b *batch) finish(ds []pipeline.Delivery) error {
	var e pipeline.BatchError
	for i := 0; i < len(b.claims); {
		d := b.claims[i].delivery
		best := superseded
		for ; i < len(b.claims) && b.claims[i].delivery == d; i++ {
			c := &b.claims[i]
			if c.phase == failed {
				e.Add(d, c.err)
			}
			best = min(best, c.phase)
		}
		switch best {
		case held:
			ds[d].Outcome = pipeline.Written
		case covered:
			ds[d].Outcome = pipeline.Coalesced
		default:
			ds[d].Outcome = pipeline.Superseded
		}
	}
	return e.OrNil()
}
