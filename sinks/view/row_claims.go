package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// ComesBefore reports whether c comes before d in the order of claims on a row. A claim is an item's request for the
// row. The first claim owns the row. Claims are ordered by the bytes of their items' keys, so that the order of arrival
// has no influence. With [KeepLast], the claim of the latest change comes first: claims are ordered by time, then
// version, then key. Versions of different items do not show which change is later, but they make the order the same in
// all processes.
func ComesBefore(c, d *state.Claim, rule Collision) bool {
	byKey := strings.Compare(string(c.Source), string(d.Source))
	if rule != KeepLast {
		return byKey < 0
	}
	return cmp.Or(c.Time.Compare(d.Time), c.Version.Compare(d.Version), byKey) > 0
}

// putClaim adds the claim c, or replaces the item's former claim by c. The owner changes if c comes before the owner's
// claim. It also changes if c is the owner's own claim, and a waiting claim now comes before c.
func (rc *RowClaims) putClaim(c state.Claim, rule Collision) {
	if rc.Owner.Source == c.Source {
		rc.Owner = c
	} else {
		rc.removeWaiting(c.Source)
		rc.Waiting = append(rc.Waiting, c)
		rc.assignOwner(rule)
	}

	first := rc.firstWaiting(rule)
	if first >= 0 && ComesBefore(&rc.Waiting[first], &rc.Owner, rule) {
		rc.Waiting[first], rc.Owner = rc.Owner, rc.Waiting[first]
	}
}

// dropClaim removes the claim of the item with the key source. If the item owned the row, the first waiting claim gets
// the row.
func (rc *RowClaims) dropClaim(source item.Key, rule Collision) {
	if rc.Owner.Source == source {
		rc.Owner = state.Claim{}
	} else {
		rc.removeWaiting(source)
	}
	rc.assignOwner(rule)
}

// assignOwner gives the row to the first waiting claim if no claim owns the row, because the owner left or its claim is
// damaged.
func (rc *RowClaims) assignOwner(rule Collision) {
	first := rc.firstWaiting(rule)
	if rc.Owner.Source != "" || first < 0 {
		return
	}
	rc.Owner = rc.Waiting[first]
	rc.removeWaitingAt(first)
}

// firstWaiting returns the index of the waiting claim that comes first; -1 if no claim waits.
func (rc *RowClaims) firstWaiting(rule Collision) int {
	first := -1
	for i := range rc.Waiting {
		if first < 0 || ComesBefore(&rc.Waiting[i], &rc.Waiting[first], rule) {
			first = i
		}
	}
	return first
}

// isWaiting reports whether the claim of the item with the key source waits.
func (rc *RowClaims) isWaiting(source item.Key) bool { return rc.waitingIndex(source) >= 0 }

func (rc *RowClaims) waitingIndex(source item.Key) int {
	return slices.IndexFunc(rc.Waiting, func(c state.Claim) bool { return c.Source == source })
}

func (rc *RowClaims) removeWaiting(source item.Key) {
	if i := rc.waitingIndex(source); i >= 0 {
		rc.removeWaitingAt(i)
	}
}

// removeWaitingAt removes the waiting claim at index i. It need not keep the order, because waiting claims are in no
// order.
func (rc *RowClaims) removeWaitingAt(i int) {
	last := len(rc.Waiting) - 1
	rc.Waiting[i] = rc.Waiting[last]
	rc.Waiting[last] = state.Claim{}
	rc.Waiting = rc.Waiting[:last]
}
