package view

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// lane is the changes of one item in a Write, in order. They are stepped through
// in memory, each as if it had come alone, and what they come to is one write.
type lane struct {
	key   pipeline.Key
	ds    []int // deliveries that are not settled
	alone bool  // one change at a time, in a write of its own: a write with others failed

	// Of the write that is under way:
	was   state.Contribution
	now   state.Contribution
	spans []span
	turn  []verdict // of the first deliveries of ds
}

// span is what an item counted for and what that became. A lane has one, and
// one more for each time that it expired and left behind what it counted for.
type span struct{ from, to state.Contribution }

// verdict is what one change of a lane comes to.
type verdict uint8

const (
	stepped   verdict = iota // it replaces the contribution
	repeated                 // the contribution is of it already
	outdated                 // the contribution is of a newer one
	pointless                // the item counts for nothing, and did before
	behind                   // what the item counted for when it expired is in dead letters
)

// advance steps through the lane's changes from what was read of the item. A
// change that is newer than the contribution means:
//
//	counted for   counts for       comes to
//	nothing       nothing          no effect, unless an older change may be still to come
//	nothing       something        that comes in, under this version ([state.Contribution.Since])
//	something     something        the difference, share by share
//	something     nothing          all is taken out
//	something     expired, kept    all stays in the groups; the contribution is emptied
//	something     can't be counted all is taken out, and the contribution is void
//	void          expired, kept    the change fails: what is to be kept must come before it
//
// A void contribution is replaced by its own version too, once it can be counted.
func (l *lane) advance(ds []pipeline.Delivery, was state.Contribution) {
	l.was, l.now, l.spans, l.turn = was, was, l.spans[:0], l.turn[:0]
	from := was
	for _, i := range l.ds {
		op := groupOp(&ds[i])
		shares := plannedShares(&ds[i])
		v := stepped
		switch newer := ds[i].Change.Version.Compare(l.now.Version); {
		case newer < 0:
			v = outdated
		case newer == 0 && (!l.now.Void || op.flaw != nil):
			v = repeated
		case newer > 0 && l.now.Void && op.Reason == ReasonExpired:
			v = behind
		case newer > 0 && len(shares) == 0 && len(l.now.Shares) == 0 && !op.earlier && !l.now.Void:
			v = pointless
		default:
			before := l.now
			l.now = state.Contribution{Version: ds[i].Change.Version, Shares: shares, Void: op.flaw != nil}
			switch {
			case op.Reason == ReasonExpired:
				l.spans = append(l.spans, span{from, before})
				from = l.now
			case len(shares) > 0 && len(before.Shares) > 0:
				l.now.Since = before.Since
			case len(shares) > 0:
				l.now.Since = l.now.Version
			}
		}
		l.turn = append(l.turn, v)
		if l.alone {
			break
		}
	}
	l.spans = append(l.spans, span{from, l.now})
}

// writes tells whether there is anything to write.
func (l *lane) writes() bool { return l.now.Version != l.was.Version || l.now.Void != l.was.Void }

// write is the contribution's.
func (l *lane) write() state.ContributionWrite {
	return state.ContributionWrite{Source: l.key, Was: l.was.Version, WasVoid: l.was.Void, Now: l.now}
}

// settle sets the outcomes of the turn, whose write is done, and ends it.
func (l *lane) settle(ds []pipeline.Delivery, failed *pipeline.BatchError) {
	for n, v := range l.turn {
		d := &ds[l.ds[n]]
		failed.Add(l.ds[n], groupOp(d).flaw)
		switch v {
		case behind:
			failed.Add(l.ds[n], errKeepsVoid)
		case outdated:
			d.Outcome = pipeline.Superseded
		case pointless:
			d.Outcome, d.Reason = pipeline.NoEffect, groupOp(d).Reason
		case stepped:
			d.Outcome = pipeline.Coalesced
			if d.Change.Version == l.now.Version {
				d.Outcome = pipeline.Written
			}
		default:
			d.Outcome = pipeline.Written
		}
	}
	l.ds = l.ds[len(l.turn):]
}

// fail fails the turn, or all that is left of the lane, and ends it.
func (l *lane) fail(failed *pipeline.BatchError, err error) {
	if !state.IsPermanent(err) {
		l.turn = append(l.turn, make([]verdict, len(l.ds)-len(l.turn))...)
	}
	for n := range l.turn {
		failed.Add(l.ds[n], err)
	}
	l.ds = l.ds[len(l.turn):]
}

// errKeepsVoid is of an expired item whose last change can't be counted.
var errKeepsVoid = errs.New("the item expired, and what it counted for is to be kept: the change that says it can't be counted, and is in dead letters: redrive both, in this order")

// groupOp is the first op of a planned delivery.
func groupOp(d *pipeline.Delivery) *GroupOp { return d.Ops[0].(*GroupOp) }

// plannedShares is what the item counts for by its planned ops.
func plannedShares(d *pipeline.Delivery) []state.Share {
	if groupOp(d).Share.Group == "" {
		return nil
	}
	shares := make([]state.Share, len(d.Ops))
	for i, op := range d.Ops {
		shares[i] = op.(*GroupOp).Share
	}
	return shares
}
