package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/record"
)

// maxExpiryAge is the maximum age of an expiry time, in years. TTL does not delete items that expired more than five
// years ago (Developer Guide, "Using time to live (TTL)").
const maxExpiryAge = 5

// TTLDeletes is true for removals by DynamoDB's TTL process in this Region. It is false for a TTL delete that a global
// table replicated from another Region, which looks like a user's delete. See [ProbableTTL].
func TTLDeletes() pipeline.Condition { return ttlDeletes{} }

// ProbableTTL guesses which removals are TTL deletes. It is true for the removal of an item that had expired in the
// five years before the change. It reads the expiry time from the TTL attribute (an N, epoch seconds) of the old image.
// So it is true for TTL deletes that are replicated from another Region, and also if a user deletes an expired item.
func ProbableTTL(attribute string) pipeline.Condition { return probableTTL{attribute} }

type (
	ttlDeletes  struct{}
	probableTTL struct{ attribute string }
)

var _ pipeline.Requirer = probableTTL{}

// Match checks the identity of the change.
func (ttlDeletes) Match(c *record.Change) (bool, error) { return c.TTLDelete(), nil }

// Match compares the expiry with the change's time.
func (p probableTTL) Match(c *record.Change) (bool, error) {
	if !c.Removed() || c.Time.IsZero() {
		return false, nil
	}
	v, _ := c.Old.Get(p.attribute)
	expiry, ok := v.Number()
	return ok &&
		expiry.Cmp(decimal.Of(c.Time.Unix())) <= 0 &&
		expiry.Cmp(decimal.Of(c.Time.AddDate(-maxExpiryAge, 0, 0).Unix())) >= 0, nil
}

// Requires the old image.
func (probableTTL) Requires() pipeline.Needs { return pipeline.Needs{Old: true} }
