package pushdown

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline/config"
)

// eitherImage returns the patterns of the records whose new or old image meets the sink's `when`. Such a record can
// make the item enter, stay in, move in or leave the sink. A record also passes if an evaluation before `when` can fail
// for the record.
func (t *translator) eitherImage(s config.Sink) alternatives {
	if s.WhenItem == nil {
		if s.Scope != nil && !s.Scope.KeysOnly() {
			t.note("of %s: only the function can evaluate its `when`", s.Scope)
		}
		return anything
	}
	newMatches, oldMatches := t.whenMatches(s, "NewImage"), t.whenMatches(s, "OldImage")
	if s.Search != nil && s.Search.ForEach != nil && s.WhenItem.ReadsElement() {
		if _, isFixed := s.Search.Index.Prefix(); !isFixed {
			return t.matchAny("for_each: the index is made before a `when` that reads each is evaluated")
		}
		t.note("for_each: the elements of a new image are listed before a `when` that reads each is evaluated")
		newMatches = alternatives{{eventName: anyBut("REMOVE")}}
	}
	if newMatches.matchesAll() || oldMatches.matchesAll() {
		return anything
	}
	return requireImage(newMatches, "NewImage", "REMOVE").union(requireImage(oldMatches, "OldImage", "INSERT"))
}

// whenMatches returns the patterns of the records whose image meets the sink's `when`, or makes its evaluation fail.
// image is NewImage or OldImage.
func (t *translator) whenMatches(s config.Sink, image string) alternatives {
	when := t.expression(s.WhenItem.Clause(), false, image)
	if s.Scope == nil || s.Scope.KeysOnly() {
		return when
	}
	return t.entityPatterns(s.Scope, image, when)
}

// requireImage narrows the patterns of c that also match records without the image. It excludes the records of
// operation from these patterns, because such records do not have the image.
func requireImage(c alternatives, image, operation string) alternatives {
	c = slices.Clone(c)
	for i, p := range c {
		if p.acceptsMissing(image) {
			c[i], _ = p.intersection(pattern{eventName: anyBut(operation)})
		}
	}
	return c.simplify()
}
