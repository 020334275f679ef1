package pushdown

import (
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/expr"
)

// entityKeyPatterns returns the patterns of the records whose key begins like a key of one of the entities. canFail
// means that the entities have conditions, which can fail and which only the function evaluates. If opposite is set,
// all records match.
func (t *translator) entityKeyPatterns(s *entity.Scope, canFail, opposite bool) alternatives {
	if opposite {
		return t.matchAny("not of: Lambda cannot ask what a text does not start with")
	}
	patterns := alternatives{}
	for _, e := range s.Entities() {
		patterns = patterns.union(alternatives{t.keyPattern(e)})
	}
	if canFail {
		t.note("of %s: only the function can evaluate its `when`", s)
	}
	return patterns
}

// keyPattern returns the pattern of the records whose key could belong to an entity, and notes why it is inexact.
func (t *translator) keyPattern(e *entity.Entity) pattern {
	p := pattern{}
	for _, k := range e.Key {
		prefix, isWhole := k.Pattern.Prefix()
		path := attributePath("Keys", k.Attribute, "S")
		switch {
		case !canBeNamed(k.Attribute):
			t.note("%s: a name with a dot or a $ means something else to Lambda", k.Attribute)
		case isWhole:
			p[path] = oneOf(prefix)
		case prefix != "":
			p[path] = textRule{starts: []string{prefix}}.simplify()
		}
		if !isWhole && !k.Pattern.BindsAll() {
			t.note("of %s: Lambda is asked how a key begins, and not for the rest of a pattern", e.Name)
		}
	}
	return p
}

// entityPatterns returns the patterns of the records whose image belongs to one of the entities and meets a sink's
// `when`, or for which one of these evaluations fails. matchesWhen are the patterns of this `when`.
func (t *translator) entityPatterns(s *entity.Scope, image string, matchesWhen alternatives) alternatives {
	patterns := alternatives{}
	for _, e := range s.Entities() {
		patterns = patterns.union(t.intersection(alternatives{t.keyPattern(e)}, t.conditionPatterns(e, image, matchesWhen)))
	}
	return patterns
}

// conditionPatterns returns the patterns of the records that meet all conditions, or fail at one. The function
// evaluates the conditions in this order: those of the entity's predecessors, that of the entity, and the sink's
// `when`. If one can fail, the patterns do not use the later ones.
func (t *translator) conditionPatterns(e *entity.Entity, image string, matchesWhen alternatives) alternatives {
	for _, earlier := range e.Predecessors() {
		if conditionCanFail(earlier) {
			return t.matchAny("of %s: the `when` of %s is evaluated first and can fail, which is for dead letters", e.Name,
				earlier.Name)
		}
	}
	for _, earlier := range e.Predecessors() {
		t.note("of %s: whether an item is of %s is for the function to evaluate", e.Name, earlier.Name)
	}
	if e.When == nil {
		return matchesWhen
	}
	matchesEntity := t.expression(entityClause(e), false, image)
	if conditionCanFail(e) {
		t.note("of %s: its `when` is evaluated first and can fail, which is for dead letters", e.Name)
		return matchesEntity
	}
	return t.intersection(matchesEntity, matchesWhen)
}

// conditionCanFail reports whether the condition of an entity can fail for a record.
func conditionCanFail(e *entity.Entity) bool { return e.When != nil && clauseCanFail(entityClause(e)) }

// entityClause returns the parsed condition of an entity. It is the zero Clause if the condition is not an expression.
func entityClause(e *entity.Entity) expr.Clause {
	if x, ok := e.When.(*expr.Item); ok {
		return x.Clause()
	}
	return expr.Clause{}
}
