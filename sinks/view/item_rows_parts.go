package view

import (
	"github.com/tablewake/tablewake/sinks/state"
)

// maxPartBytes is the maximum size of the rows in one transaction. DynamoDB's own limit is 4 MB (API reference,
// TransactWriteItems).
const maxPartBytes = 3 << 20

// rowShare returns the share for the row in the contribution of the item.
func (o *ElementRowOp) rowShare() state.Share {
	return state.Share{Group: o.Row, Values: []string{o.digest}}
}

// compareWithContribution decides the effect of the op by the stored contribution of its item. idle means that the
// pending changes of the item in this Write have no rows, and that their old images had none.
func (o *ItemRowsOp) compareWithContribution(stored *state.Contribution, idle bool) guardOutcome {
	// A void contribution with shares belongs to a change that is written in part: the same version continues it.
	hasRows := len(stored.Shares) > 0
	replaces := stored.Void && (hasRows || o.changeErr == nil)
	return compareWithStored(o.Version, len(o.Rows) > 0, replaces, stored.Version, hasRows, stored.Void, idle)
}

// nextPart returns the next transaction that changes the stored rows of the item towards those of the op. stored is the
// item's contribution. last is true if no other transaction has to follow. maxActions is the maximum number of actions
// in a transaction; 0 if there is no maximum. One action writes the contribution.
//
// New and changed rows come before removed rows. So a reader between two transactions may see an element twice, but
// always sees it.
func (o *ItemRowsOp) nextPart(stored *state.Contribution, maxActions int) (write state.ItemRowsWrite, last bool) {
	p := partBuilder{w: state.ItemRowsWrite{Source: o.Source, Expected: *stored}, actionsLeft: maxActions - 1,
		bytesLeft: maxPartBytes, unlimited: maxActions == 0}
	p.setStored(stored.Shares)
	for _, r := range o.Rows {
		p.put(r)
	}
	wanted := make(map[state.Row]bool, len(o.Rows))
	for _, r := range o.Rows {
		wanted[r.Row] = true
	}
	for _, s := range stored.Shares {
		if !wanted[s.Group] {
			p.remove(s.Group)
		}
	}
	p.w.Next = state.Contribution{Version: o.Version, Void: o.changeErr != nil}
	if p.full {
		p.w.Next.Void, p.w.Next.Shares = true, p.storedShares()
		return p.w, false
	}
	p.w.Next.Shares = o.Shares()
	return p.w, true
}

// WholeWrite returns the write of all rows that the op changes, as if it fitted into one transaction. stored is the
// item's contribution. WholeWrite is for estimates of the cost of the op.
func (o *ItemRowsOp) WholeWrite(stored state.Contribution) state.ItemRowsWrite {
	write, _ := o.nextPart(&stored, 0)
	return write
}

// partBuilder builds one transaction, up to its limits.
type partBuilder struct {
	w           state.ItemRowsWrite
	actionsLeft int
	bytesLeft   int
	unlimited   bool
	full        bool // the limits are reached: other actions follow in the next transaction

	shares []state.Share     // shares of the rows that are stored after the transaction; zero for a removed row
	index  map[state.Row]int // index in shares
}

// setStored sets the shares of the rows that are stored before the transaction.
func (p *partBuilder) setStored(stored []state.Share) {
	p.shares, p.index = append([]state.Share(nil), stored...), make(map[state.Row]int, len(stored))
	for i, s := range stored {
		p.index[s.Group] = i
	}
}

// reserve reserves an action and its size in bytes. It returns false if they do not fit into the transaction. The first
// action always fits.
func (p *partBuilder) reserve(size int) bool {
	if p.full || p.unlimited {
		return !p.full
	}
	isFirst := len(p.w.Puts)+len(p.w.Deletes) == 0
	if p.actionsLeft < 1 || p.bytesLeft < size && !isFirst {
		p.full = true
		return false
	}
	p.actionsLeft, p.bytesLeft = p.actionsLeft-1, p.bytesLeft-size
	return true
}

// put adds a put of a row, unless the stored row is equal or the transaction is full.
func (p *partBuilder) put(r *ElementRowOp) {
	i, stored := p.index[r.Row]
	if stored && p.shares[i].Equal(r.rowShare()) || !p.reserve(r.size) {
		return
	}
	p.w.Puts = append(p.w.Puts, state.RowPut{Row: r.Row, Attributes: r.Attributes})
	if stored {
		p.shares[i] = r.rowShare()
	} else {
		p.shares = append(p.shares, r.rowShare())
	}
}

// remove adds a delete of a row, unless the transaction is full.
func (p *partBuilder) remove(row state.Row) {
	if p.reserve(len(row)) {
		p.w.Deletes = append(p.w.Deletes, row)
		p.shares[p.index[row]] = state.Share{}
	}
}

// storedShares returns the shares of the rows that are stored after the transaction.
func (p *partBuilder) storedShares() []state.Share {
	var shares []state.Share
	for _, s := range p.shares {
		if s.Group != "" {
			shares = append(shares, s)
		}
	}
	return shares
}
