package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// OfEntities is true for changes of items that belong to one of the entities of the scope. If entities have conditions,
// OfEntities reads the new image, or the old image if there is no new one. It then needs both images.
func OfEntities(s *entity.Scope) pipeline.Condition {
	if s.KeysOnly() {
		return ofKeys{s}
	}
	return ofEntities{s}
}

// OfKeys is true for changes of items whose key matches one of the entities. It does not evaluate the conditions of
// entities.
func OfKeys(s *entity.Scope) pipeline.Condition { return ofKeys{s} }

type (
	ofKeys     struct{ scope *entity.Scope }
	ofEntities struct{ scope *entity.Scope }
)

var (
	_ KeyReader         = ofKeys{}
	_ pipeline.Requirer = ofEntities{}
)

// Match checks the key.
func (o ofKeys) Match(c *record.Change) (bool, error) { return o.scope.MatchKey(c.Keys), nil }

// KeysOnly returns true.
func (ofKeys) KeysOnly() bool { return true }

// Match checks the key and the conditions.
func (o ofEntities) Match(c *record.Change) (bool, error) { return o.scope.Match(LatestImage(c)) }

// Requires both images, so that a removal has the same result as the item's other changes.
func (ofEntities) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }

// LatestImage returns the new image of a change, the old image if there is no new one, or the keys if there is none.
func LatestImage(c *record.Change) item.Image {
	switch {
	case c.New.Exists():
		return c.New
	case c.Old.Exists():
		return c.Old
	}
	return c.Keys
}

// ItemOf returns a condition for sinks that keep state. An item meets it if the item belongs to one of the entities and
// meets the condition `when`. If `when` is nil, belonging to an entity is enough.
func ItemOf(s *entity.Scope, when pipeline.ItemCondition) pipeline.ItemCondition {
	return itemOf{s, when}
}

type itemOf struct {
	scope *entity.Scope
	when  pipeline.ItemCondition
}

var _ pipeline.ElementCondition = itemOf{}

// ReadsElement reports whether the condition `when` reads the element.
func (o itemOf) ReadsElement() bool {
	e, ok := o.when.(pipeline.ElementCondition)
	return ok && e.ReadsElement()
}

// MatchElement returns false for items of other entities. Otherwise it evaluates `when`.
func (o itemOf) MatchElement(m item.Image, element item.Value) (bool, error) {
	e, ok := o.when.(pipeline.ElementCondition)
	if !ok {
		return o.Match(m)
	}
	if is, err := o.scope.Match(m); !is || err != nil {
		return is, err
	}
	return e.MatchElement(m, element)
}

// Match returns false for items of other entities. Otherwise it evaluates `when`.
func (o itemOf) Match(m item.Image) (bool, error) {
	if is, err := o.scope.Match(m); !is || err != nil || o.when == nil {
		return is, err
	}
	return o.when.Match(m)
}
