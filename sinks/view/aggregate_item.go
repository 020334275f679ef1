package view

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// itemChanges are the changes of one item in a Write, in order. They are applied in memory, one after the other, and
// their result is one write.
type itemChanges struct {
	key   item.Key
	ds    []int // deliveries that are not settled
	alone bool  // each change has a write of its own, because a write with others failed

	// The write in flight.
	was      state.Contribution
	now      state.Contribution
	spans    []contributionChange
	verdicts []verdict // of the first deliveries of ds
}

// contributionChange is what an item counted for, and what it counts for after it. A write has one, and one more for
// each time that the item expired while its count is kept.
type contributionChange struct{ from, to state.Contribution }

// verdict is the effect of one change on the contribution.
type verdict uint8

const (
	stepped   verdict = iota // it replaces the contribution
	repeated                 // the contribution has its version already
	outdated                 // the contribution has a newer version
	pointless                // the item counted for nothing, and still does
	behind                   // an earlier change, whose count is to be kept, is in dead letters
)

// advance applies the changes to the contribution that was read. A change that is newer than the contribution means:
//
//	counted for   counts for       effect
//	nothing       nothing          none, unless an older change may still come
//	nothing       something        it is added, under this version ([state.Contribution.Since])
//	something     something        the difference, share by share
//	something     nothing          all is removed
//	something     expired, kept    all stays in the groups; the contribution is emptied
//	something     can't be counted all is removed, and the contribution is void
//	void          expired, kept    the change fails: the change whose count is kept must come before it
//
// A void contribution is also replaced by its own version, once that can be counted.
func (c *itemChanges) advance(ds []pipeline.Delivery, was state.Contribution) {
	c.was, c.now, c.spans, c.verdicts = was, was, c.spans[:0], c.verdicts[:0]
	from := was
	for _, i := range c.ds {
		op := groupOp(&ds[i])
		shares := plannedShares(&ds[i])
		v := stepped
		switch newer := ds[i].Change.Version.Compare(c.now.Version); {
		case newer < 0:
			v = outdated
		case newer == 0 && (!c.now.Void || op.flaw != nil):
			v = repeated
		case newer > 0 && c.now.Void && op.Reason == ReasonExpired:
			v = behind
		case newer > 0 && len(shares) == 0 && len(c.now.Shares) == 0 && !op.earlier && !c.now.Void:
			v = pointless
		default:
			before := c.now
			c.now = state.Contribution{Version: ds[i].Change.Version, Shares: shares, Void: op.flaw != nil}
			switch {
			case op.Reason == ReasonExpired:
				c.spans = append(c.spans, contributionChange{from, before})
				from = c.now
			case len(shares) > 0 && len(before.Shares) > 0:
				c.now.Since = before.Since
			case len(shares) > 0:
				c.now.Since = c.now.Version
			}
		}
		c.verdicts = append(c.verdicts, v)
		if c.alone {
			break
		}
	}
	c.spans = append(c.spans, contributionChange{from, c.now})
}

// writes reports whether there is anything to write.
func (c *itemChanges) writes() bool {
	return c.now.Version != c.was.Version || c.now.Void != c.was.Void
}

// write is the write of the contribution.
func (c *itemChanges) write() state.ContributionWrite {
	return state.ContributionWrite{Source: c.key, Was: c.was.Version, WasVoid: c.was.Void, Now: c.now}
}

// settle sets the outcomes of the deliveries whose write succeeded, and removes them.
func (c *itemChanges) settle(ds []pipeline.Delivery, failed *pipeline.BatchError) {
	for n, v := range c.verdicts {
		d := &ds[c.ds[n]]
		failed.Add(c.ds[n], groupOp(d).flaw)
		switch v {
		case behind:
			failed.Add(c.ds[n], errKeepsVoid)
		case outdated:
			d.Outcome = pipeline.Superseded
		case pointless:
			d.Outcome, d.Reason = pipeline.NoEffect, groupOp(d).Reason
		case stepped:
			d.Outcome = pipeline.Coalesced
			if d.Change.Version == c.now.Version {
				d.Outcome = pipeline.Written
			}
		default:
			d.Outcome = pipeline.Written
		}
	}
	c.ds = c.ds[len(c.verdicts):]
}

// fail fails the deliveries of the write, or all if err is not permanent, and removes them.
func (c *itemChanges) fail(failed *pipeline.BatchError, err error) {
	n := len(c.ds)
	if state.IsPermanent(err) {
		n = len(c.verdicts)
	}
	for _, i := range c.ds[:n] {
		failed.Add(i, err)
	}
	c.ds = c.ds[n:]
}

// errKeepsVoid is the error of an expired item whose last change can't be counted.
var errKeepsVoid = errs.New("the item expired and its count is to be kept, but an earlier change of it cannot be counted and is in dead letters: redrive both, the earlier one first")

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
