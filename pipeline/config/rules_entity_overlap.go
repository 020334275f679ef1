package config

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/expr"
)

// checkOverlap checks that no item can belong to both entities.
func (c *checker) checkOverlap(first, second *Entity) {
	a, b := first.toEntity(), second.toEntity()
	if !c.hasAllEntries(&first.Key, len(a.Key)) || !c.hasAllEntries(&second.Key, len(b.Key)) {
		return // a problem says already that one of the keys is wrong
	}
	comparison := entity.Compare(a, b)
	bothHaveWhen := first.When != nil && second.When != nil
	haveExclusiveWhen := bothHaveWhen && areExclusive(first.When.Clause(), second.When.Clause())
	if comparison.Overlap == entity.Disjoint || haveExclusiveWhen {
		return
	}
	example := ""
	if comparison.Example != "" {
		example = ", with the key " + comparison.Example
	}
	const hint = "change one of the patterns, or give both a `when`: item.Type == \"NAME\""
	switch {
	case bothHaveWhen:
		c.Warn(second, "compare one attribute of both with texts: item.Type == \"NAME\"",
			"whether an item can be of both %s and %s is not proven%s: such an item is of %s", a.Name, b.Name, example, a.Name)
	case comparison.Overlap == entity.Unproven:
		c.Warn(second, "begin the patterns with texts of their own",
			"whether a key can be of both %s and %s is not proven, because a name appears twice in one of them: such an item is of %s", a.Name, b.Name, a.Name)
	case first.When != nil || second.When != nil:
		c.Fail(second, hint, "an item can be of both %s and %s%s: one of them has no `when`", a.Name, b.Name, example)
	default:
		c.Fail(second, hint, "an item can be of both %s and %s%s", a.Name, b.Name, example)
	}
}

// areExclusive reports whether two expressions certainly are never both true for one item, because they contain clauses
// that contradict each other.
func areExclusive(a, b expr.Clause) bool {
	for _, x := range a.Conjuncts() {
		for _, y := range b.Conjuncts() {
			if contradict(x, y) {
				return true
			}
		}
	}
	return false
}

// contradict reports whether two clauses compare the same attribute with different texts or with different bools.
func contradict(a, b expr.Clause) bool {
	if a.Kind != b.Kind || a.Attribute != b.Attribute {
		return false
	}
	switch a.Kind {
	case expr.TextIn:
		return !slices.ContainsFunc(a.Texts, func(text string) bool { return slices.Contains(b.Texts, text) })
	case expr.FlagIs:
		return a.Flag != b.Flag
	}
	return false
}
