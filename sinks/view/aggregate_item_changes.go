package view

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// itemChanges holds the changes of one item in a Write, in order. The changes are applied in memory, one after the
// other. The result is written once.
type itemChanges struct {
	key        item.Key
	deliveries []int // indexes of the deliveries that have no outcome yet
	oneByOne   bool  // each change is written separately, because a write failed permanently

	// The current write.
	stored  state.Contribution // contribution that was read
	next    state.Contribution // contribution to write
	changes []contributionChange
	results []stepResult // results of the deliveries in this write: the first len(results) of deliveries
}

// contributionChange is the contribution of an item before and after a write. A write has one contributionChange. Each
// expiry after which the item stays counted ends one and begins the next.
type contributionChange struct{ from, to state.Contribution }

// stepResult is the effect of one change on the contribution.
type stepResult uint8

const (
	applied       stepResult = iota // the change replaces the contribution
	repeated                        // the contribution has this version
	outdated                        // the contribution has a newer version
	withoutEffect                   // the item counted for nothing and still does
)

// advance applies the changes to stored, the contribution that was read. A change that is newer than the contribution
// has this effect:
//
//	counted for   counts for       effect
//	nothing       nothing          none, unless an older change may still come
//	nothing       something        it is added, and Since is this version
//	something     something        the difference, share by share
//	something     nothing          all is removed
//	anything      expired, kept    the difference to the shares of the old image, which stay; then there is no share
//	something     can't be counted all is removed, and the contribution is void
//
// A void contribution belongs to a change that could not be counted. The change of its own version also replaces it, if
// that change can be counted now.
func (c *itemChanges) advance(ds []pipeline.Delivery, stored state.Contribution) {
	c.stored, c.next, c.changes, c.results = stored, stored, c.changes[:0], c.results[:0]
	from := stored // contribution before the changes that follow the last kept expiry
	deliveries := c.deliveries
	if c.oneByOne {
		deliveries = deliveries[:1]
	}
	for _, i := range deliveries {
		result := c.resultOf(&ds[i])
		c.results = append(c.results, result)
		if result != applied {
			continue
		}
		c.next = c.contributionAfter(&ds[i])
		if groupOp(&ds[i]).keepsExpired() {
			// The shares of the expired item stay in the rows. A later change is of a new item without shares.
			c.changes = append(c.changes, contributionChange{from, c.next})
			from = state.Contribution{Version: c.next.Version}
			c.next = from
		}
	}
	c.changes = append(c.changes, contributionChange{from, c.next})
}

// resultOf returns the effect of a planned change on the contribution c.next.
func (c *itemChanges) resultOf(d *pipeline.Delivery) stepResult {
	op := groupOp(d)
	order := d.Change.Version.Compare(c.next.Version)
	replacesVoid := c.next.Void && op.changeErr == nil
	switch {
	case order < 0:
		return outdated
	case order == 0 && replacesVoid:
		return applied
	case order == 0:
		return repeated
	}

	countsNow, countedBefore := op.Share.Group != "", op.countedBefore || len(c.next.Shares) > 0
	if countsNow || countedBefore || c.next.Void {
		return applied
	}
	return withoutEffect
}

// contributionAfter returns the contribution after a planned change. It replaces c.next.
func (c *itemChanges) contributionAfter(d *pipeline.Delivery) state.Contribution {
	version, shares := d.Change.Version, plannedShares(d)
	return state.Contribution{Version: version, Since: countsSince(c.next, version, shares), Shares: shares,
		Void: groupOp(d).changeErr != nil}
}

// countsSince returns the version with which an item began to count. former is its contribution before a change, and
// shares are its shares after the change. version is the version of the change, or of a repair after it. If the item
// counts for nothing, countsSince returns zero.
func countsSince(former state.Contribution, version record.Version, shares []state.Share) record.Version {
	switch {
	case len(shares) == 0:
		return record.Version{}
	case len(former.Shares) > 0:
		return former.Since
	default:
		return version.WithoutRepair()
	}
}

// needsWrite reports whether c.next differs from the stored contribution.
func (c *itemChanges) needsWrite() bool {
	return c.next.Version != c.stored.Version || c.next.Void != c.stored.Void
}

// contributionWrite returns the write that replaces the stored contribution by c.next.
func (c *itemChanges) contributionWrite() state.ContributionWrite {
	return state.ContributionWrite{Source: c.key, Expected: c.stored, Next: c.next}
}

// settle is called after the current write succeeded. It sets the outcomes of the deliveries in the write, and removes
// these deliveries from c.
func (c *itemChanges) settle(ds []pipeline.Delivery, failed *pipeline.BatchError) {
	for n, result := range c.results {
		d := &ds[c.deliveries[n]]
		failed.Add(c.deliveries[n], groupOp(d).changeErr)
		switch result {
		case outdated:
			d.Outcome = pipeline.Superseded
		case withoutEffect:
			d.Outcome, d.Reason = pipeline.NoEffect, groupOp(d).Reason
		case repeated:
			d.Outcome = pipeline.Written
		case applied:
			d.Outcome = pipeline.Coalesced // unless this change made the contribution
			if d.Change.Version == c.next.Version {
				d.Outcome = pipeline.Written
			}
		}
	}
	c.deliveries = c.deliveries[len(c.results):]
}

// fail adds err to failed. A permanent error is added for the deliveries in the current write, and any other error for
// all deliveries of the item. fail removes these deliveries from c.
func (c *itemChanges) fail(failed *pipeline.BatchError, err error) {
	n := len(c.deliveries)
	if state.IsPermanent(err) {
		n = len(c.results)
	}
	for _, i := range c.deliveries[:n] {
		failed.Add(i, err)
	}
	c.deliveries = c.deliveries[n:]
}

// groupOp returns the first op of a planned delivery.
func groupOp(d *pipeline.Delivery) *GroupOp { return d.Ops[0].(*GroupOp) }

// plannedShares returns the shares of a planned delivery; nil if the item counts for nothing.
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
