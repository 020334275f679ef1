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
	return cmp.Or(c.Time.Compare(d.Time), c.Version.Compare(d.Version), byKey) > 0 // the latest comes first
}

// putClaim adds the claim c, or replaces the item's former claim by c.
func (rc *RowClaims) putClaim(c state.Claim, rule Collision) {
	rc.remove(c.Source)
	rc.Waiting = append(rc.Waiting, c)
	rc.chooseOwner(rule)
}

// dropClaim removes the claim of the item with the key source. It also corrects the owner if the rule of collisions was
// changed since the owner was chosen.
func (rc *RowClaims) dropClaim(source item.Key, rule Collision) {
	rc.remove(source)
	rc.chooseOwner(rule)
}

// remove removes the claim of the item with the key source, whether it waits or owns the row.
func (rc *RowClaims) remove(source item.Key) {
	if rc.Owner.Source == source {
		rc.Owner = state.Claim{}
	}
	rc.Waiting = slices.DeleteFunc(rc.Waiting, func(c state.Claim) bool { return c.Source == source })
}

// chooseOwner gives the row to the first claim. The former owner waits. A row may have no owner, because the owner left
// or its claim is damaged. chooseOwner swaps the owner with each waiting claim that comes before it.
func (rc *RowClaims) chooseOwner(rule Collision) {
	for i := range rc.Waiting {
		waiting := &rc.Waiting[i]
		hasOwner := rc.Owner.Source != ""
		if !hasOwner || ComesBefore(waiting, &rc.Owner, rule) {
			*waiting, rc.Owner = rc.Owner, *waiting
		}
	}
	rc.remove("") // removes the zero claim, which the swap put into Waiting if the row had no owner
}

// isWaiting reports whether the claim of the item with the key source waits.
func (rc *RowClaims) isWaiting(source item.Key) bool {
	return slices.ContainsFunc(rc.Waiting, func(c state.Claim) bool { return c.Source == source })
}
