package rules

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Operations is true for changes with one of these operations.
func Operations(ops ...record.Operation) pipeline.Condition {
	var set operations
	for _, op := range ops {
		set |= 1 << op
	}
	return set
}

// Entity is true for items whose attribute is an S with one of these texts. It reads the attribute from the new image.
// Without a new image it reads the old image, and without both the keys. It needs both images, because otherwise a
// removal could have another result than the item's other changes.
func Entity(attribute string, names ...string) pipeline.Condition {
	return entityIn{attribute, slices.Clone(names)}
}

// KeyPrefix is true for items whose key attribute is an S or a B that starts with prefix. It is false if the key has no
// such attribute, because a pipeline may read tables with different keys.
func KeyPrefix(attribute, prefix string) pipeline.Condition {
	return keyPrefix{attribute, prefix}
}

type (
	operations uint8 // a bit for each record.Operation
	entityIn   struct {
		attribute string
		names     []string
	}
	keyPrefix struct{ attribute, prefix string }
)

var (
	_ KeyReader         = operations(0)
	_ pipeline.Requirer = entityIn{}
	_ KeyReader         = keyPrefix{}
)

// Match checks the operation.
func (set operations) Match(c *record.Change) (bool, error) { return set>>c.Op&1 != 0, nil }

// KeysOnly reports whether all stream changes of an item have the same result. They do if the set has all of INSERT,
// MODIFY and REMOVE, or none of them.
func (set operations) KeysOnly() bool {
	const stream operations = 1<<record.Insert | 1<<record.Modify | 1<<record.Remove
	return set&stream == stream || set&stream == 0
}

// Match checks the attribute.
func (e entityIn) Match(c *record.Change) (bool, error) {
	v, _ := LatestImage(c).Get(e.attribute)
	s, ok := v.Text()
	return ok && slices.Contains(e.names, s), nil
}

// Requires both images.
func (entityIn) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }

// Match checks the key.
func (k keyPrefix) Match(c *record.Change) (bool, error) {
	v, _ := c.Keys.Get(k.attribute)
	if s, ok := v.Text(); ok {
		return strings.HasPrefix(s, k.prefix), nil
	}
	b, ok := v.Bytes()
	return ok && bytes.HasPrefix(b, []byte(k.prefix)), nil
}

// KeysOnly returns true.
func (keyPrefix) KeysOnly() bool { return true }

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

// Match checks whether the TTL process made the change.
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

// NoChange is true for a MODIFY whose images are equal by meaning, apart from their aws:rep:* attributes. So it is also
// true for each change for which [ReplicationEchoes] is true.
func NoChange() pipeline.Condition { return noChange{} }

// noChange is true for a MODIFY whose images are equal apart from aws:rep:* attributes.
type noChange struct {
	echoOnly bool // the aws:rep:* attributes must differ
}

var _ pipeline.Requirer = noChange{}

// Match compares the images.
func (n noChange) Match(c *record.Change) (bool, error) {
	if c.Op != record.Modify {
		return false, nil
	}
	if err := checkImages(c); err != nil {
		return false, err
	}
	if c.Old.Equal(c.New) {
		return !n.echoOnly, nil
	}
	return item.EqualButReplicated(c.Old, c.New), nil
}

// Requires both images.
func (noChange) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }

// ReplicationEchoes is true for the extra MODIFY that a legacy global table adds to every write. The images of that
// MODIFY differ, but only in aws:rep:* attributes.
func ReplicationEchoes() pipeline.Condition { return noChange{echoOnly: true} }
