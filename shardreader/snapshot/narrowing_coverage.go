package snapshot

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/expr"
)

// Covers reports whether it is certain that the narrowing selects every item for which the condition when is true. If
// so, a sink with this condition is complete. Covers compares only texts, prefixes and BOOLs, and returns false if it
// cannot decide. A nil condition is true for all items.
func (n *ItemSelection) Covers(when *expr.Item) bool {
	if n == nil {
		return true
	}
	if when == nil {
		return false
	}
	clause := when.Clause()
	if n.keyPrefix != nil {
		startsWithPrefix := expr.Clause{Kind: expr.TextStarts, Attribute: n.key, Texts: []string{n.prefix}}
		if !implies(clause, startsWithPrefix) {
			return false
		}
	}
	if len(n.types) > 0 && !implies(clause, n.typeClause()) {
		return false
	}
	return n.filter == nil || when.String() == n.filter.String() || implies(clause, n.filter.Clause())
}

// implies reports whether it is certain that b is true for each image for which a is true.
func implies(a, b expr.Clause) bool {
	aImplies := func(part expr.Clause) bool { return implies(a, part) }
	impliesB := func(part expr.Clause) bool { return implies(part, b) }
	switch {
	case b.Kind == expr.AllOf:
		return all(b.Parts, aImplies)
	case a.Kind == expr.AnyOf:
		return all(a.Parts, impliesB)
	case a.Kind == expr.AllOf && slices.ContainsFunc(a.Parts, impliesB):
		return true
	case b.Kind == expr.AnyOf:
		return slices.ContainsFunc(b.Parts, aImplies)
	case a.Attribute != b.Attribute:
		return false
	case a.Kind == expr.FlagIs && b.Kind == expr.FlagIs:
		return a.Flag == b.Flag
	case a.Kind != expr.TextIn && a.Kind != expr.TextStarts:
		return false
	case b.Kind == expr.TextStarts:
		return all(a.Texts, func(s string) bool { return strings.HasPrefix(s, b.Texts[0]) })
	case a.Kind == expr.TextIn && b.Kind == expr.TextIn:
		return all(a.Texts, func(s string) bool { return slices.Contains(b.Texts, s) })
	}
	return false
}

// all reports whether a condition holds for each element.
func all[T any](elements []T, holds func(T) bool) bool {
	return !slices.ContainsFunc(elements, func(e T) bool { return !holds(e) })
}
