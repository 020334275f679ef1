package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/record"
)

// ttlWindow is how old an expiry may be: TTL leaves items alone that expired more
// than five years ago (Developer Guide, "Using time to live (TTL)").
const ttlWindow = 5

// TTLDeletes is true for removals by DynamoDB's TTL process in this Region. Those
// that a global table replicated from another Region can't be told apart for
// certain: see [ProbableTTL].
func TTLDeletes() pipeline.Condition { return ttlDeletes{} }

// ProbableTTL guesses: it is true for removals of an item that had expired, by
// the TTL attribute (an N, epoch seconds) of its old image, within the five years
// before the change. That is what a TTL delete replicated from another Region
// looks like, and also what a user's delete of an expired item looks like.
func ProbableTTL(attribute string) pipeline.Condition { return probableTTL{attribute} }

type (
	ttlDeletes  struct{}
	probableTTL struct{ attribute string }
)

var _ pipeline.Requirer = probableTTL{}

// Match asks the change.
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
		expiry.Cmp(decimal.Of(c.Time.AddDate(-ttlWindow, 0, 0).Unix())) >= 0, nil
}

// Requires the old image.
func (probableTTL) Requires() pipeline.Needs { return pipeline.Needs{Old: true} }
