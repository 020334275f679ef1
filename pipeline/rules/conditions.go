package rules

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
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
