package view

import (
	"math"

	"github.com/tablewake/tablewake/sinks/state"
)

// maxPartBytes is the maximum size of the rows in one transaction. DynamoDB's own limit is 4 MB (API reference,
// TransactWriteItems).
const maxPartBytes = 3 << 20

// rowShare returns the share for the row in the contribution of the item.
func (o *ElementRowOp) rowShare() state.Share {
	return state.Share{Group: o.Row, Values: []string{o.digest}}
}

// compareWithContribution decides the effect of the op. It compares the op with the stored contribution of its item.
// idle means that the pending changes of the item in this Write have no rows, and that their old images had none.
func (o *ItemRowsOp) compareWithContribution(stored *state.Contribution, idle bool) guardOutcome {
	hasStoredRows := len(stored.Shares) > 0
	writtenInPart := stored.Void && hasStoredRows // the same version continues the write
	return guardComparison{
		version: o.Version, idle: idle,
		storedVersion: stored.Version, hasStoredRows: hasStoredRows, isStoredVoid: stored.Void,
		replacesSameVersion: writtenInPart || stored.Void && o.changeErr == nil,
	}.outcome()
}

// nextPart returns the next transaction of the op. It changes the stored rows of the item to the rows of the op, as far
// as one transaction can. stored is the item's contribution. last is true if no other transaction has to follow.
// maxActions is the maximum number of actions in a transaction; 0 if there is no maximum. One action writes the
// contribution.
//
// New and changed rows come before removed rows. So a reader between two transactions may see an element twice, but
// always sees it.
func (o *ItemRowsOp) nextPart(stored *state.Contribution, maxActions int) (write state.ItemRowsWrite, last bool) {
	p := partBuilder{w: state.ItemRowsWrite{Source: o.Source, Expected: *stored}, actionsLeft: maxActions - 1,
		bytesLeft: maxPartBytes}
	if maxActions == 0 {
		p.actionsLeft, p.bytesLeft = math.MaxInt, math.MaxInt
	}
	p.setStored(stored.Shares)

	requested := make(map[state.Row]bool, len(o.Rows))
	for _, r := range o.Rows {
		p.put(r)
		requested[r.Row] = true
	}
	for _, s := range stored.Shares {
		if !requested[s.Group] {
			p.remove(s.Group)
		}
	}

	if p.full {
		p.w.Next = state.Contribution{Version: o.Version, Void: true, Shares: p.storedShares()}
		return p.w, false
	}
	p.w.Next = state.Contribution{Version: o.Version, Void: o.changeErr != nil, Shares: o.Shares()}
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
	full        bool // the limits are reached, so the remaining actions follow in the next transaction

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

// reserve reserves room for one more action of size bytes. If the action does not fit into the transaction, reserve
// marks the transaction as full and returns false. A first action of any size fits.
func (p *partBuilder) reserve(size int) bool {
	if p.full {
		return false
	}
	isFirst := len(p.w.Puts)+len(p.w.Deletes) == 0
	hasBytes := isFirst || size <= p.bytesLeft
	if p.actionsLeft < 1 || !hasBytes {
		p.full = true
		return false
	}
	p.actionsLeft--
	p.bytesLeft -= size
	return true
}

// put adds a put of the row r, unless the stored row is equal to r, or the transaction is full.
func (p *partBuilder) put(r *ElementRowOp) {
	share := r.rowShare()
	i, isStored := p.index[r.Row]
	if isStored && p.shares[i].Equal(share) {
		return
	}
	if !p.reserve(r.size) {
		return
	}

	p.w.Puts = append(p.w.Puts, state.RowPut{Row: r.Row, Attributes: r.Attributes})
	if isStored {
		p.shares[i] = share
	} else {
		p.shares = append(p.shares, share)
	}
}

// remove adds a delete of a row, unless the transaction is full.
func (p *partBuilder) remove(row state.Row) {
	if !p.reserve(len(row)) {
		return
	}
	p.w.Deletes = append(p.w.Deletes, row)
	p.shares[p.index[row]] = state.Share{}
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
