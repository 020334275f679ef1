package view

import (
	"github.com/tablewake/tablewake/sinks/state"
)

// maxPartBytes bounds the rows of one transaction. DynamoDB's own limit is 4 MB (API reference, TransactWriteItems).
const maxPartBytes = 3 << 20

// share returns what the contribution of the item has for the row.
func (o *ElementRowOp) share() state.Share {
	return state.Share{Group: o.Row, Values: []string{o.digest}}
}

// compareWithContribution decides what the op changes, given the contribution of its item. idle means that no change that
// this write covers has rows, before or after.
func (o *ItemRowsOp) compareWithContribution(have *state.Contribution, idle bool) guardOutcome {
	return compareWithStored(o.Version, len(o.Rows) > 0, o.changeErr, have.Version, len(have.Shares) > 0, have.Void, idle)
}

// nextPart returns the next transaction that makes the item's rows those of the op, given its contribution, and whether it
// is the last one. New and changed rows come first: a reader between two parts sees an element twice rather than not at all.
// A transaction has at most this many actions, one of which is that of the contribution; 0: any number.
func (o *ItemRowsOp) nextPart(have *state.Contribution, actions int) (w state.ItemRowsWrite, last bool) {
	p := partBuilder{w: state.ItemRowsWrite{Source: o.Source, Was: *have}, left: actions - 1, bytes: maxPartBytes, unlimited: actions == 0}
	p.begin(have.Shares)
	for _, r := range o.Rows {
		p.put(r)
	}
	wanted := make(map[state.Row]bool, len(o.Rows))
	for _, r := range o.Rows {
		wanted[r.Row] = true
	}
	for _, s := range have.Shares {
		if !wanted[s.Group] {
			p.remove(s.Group)
		}
	}
	p.w.Now = state.Contribution{Version: o.Version, Void: o.changeErr != nil}
	if p.full {
		p.w.Now.Void, p.w.Now.Shares = true, p.stored()
		return p.w, false
	}
	p.w.Now.Shares = o.Shares()
	return p.w, true
}

// WholeWrite returns the write that makes the item's rows those of the op as if it fitted into one transaction, for estimates
// of what it costs.
func (o *ItemRowsOp) WholeWrite(have state.Contribution) state.ItemRowsWrite {
	w, _ := o.nextPart(&have, 0)
	return w
}

// partBuilder makes one transaction, as far as it has room.
type partBuilder struct {
	w         state.ItemRowsWrite
	left      int // actions
	bytes     int
	unlimited bool
	full      bool // something is left for the next transaction

	shares []state.Share // of the rows that are stored after it; one without a Group is gone
	index  map[state.Row]int
}

func (p *partBuilder) begin(stored []state.Share) {
	p.shares, p.index = append([]state.Share(nil), stored...), make(map[state.Row]int, len(stored))
	for i, s := range stored {
		p.index[s.Group] = i
	}
}

// takes reports whether there is room for an action, and takes it.
func (p *partBuilder) takes(size int) bool {
	if p.full || p.unlimited {
		return !p.full
	}
	first := len(p.w.Puts)+len(p.w.Deletes) == 0
	if p.left < 1 || p.bytes < size && !first {
		p.full = true
		return false
	}
	p.left, p.bytes = p.left-1, p.bytes-size
	return true
}

// put puts a row, unless it is stored as it is.
func (p *partBuilder) put(r *ElementRowOp) {
	i, stored := p.index[r.Row]
	if stored && p.shares[i].Equal(r.share()) || !p.takes(r.size) {
		return
	}
	p.w.Puts = append(p.w.Puts, state.RowPut{Row: r.Row, Attributes: r.Attributes})
	if stored {
		p.shares[i] = r.share()
	} else {
		p.shares = append(p.shares, r.share())
	}
}

func (p *partBuilder) remove(row state.Row) {
	if p.takes(len(row)) {
		p.w.Deletes = append(p.w.Deletes, row)
		p.shares[p.index[row]] = state.Share{}
	}
}

// stored returns the shares of the rows that are stored after the transaction.
func (p *partBuilder) stored() []state.Share {
	var shares []state.Share
	for _, s := range p.shares {
		if s.Group != "" {
			shares = append(shares, s)
		}
	}
	return shares
}
