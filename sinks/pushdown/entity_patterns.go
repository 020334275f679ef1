package pushdown

import (
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/expr"
)

// keyOf returns the patterns of the records whose key begins like a key of one of the entities. canFail means that the
// conditions of the entities are evaluated too, and can fail.
func (t *translator) keyOf(s *entity.Scope, canFail, opposite bool) alternatives {
	if opposite {
		return t.matchAny("not of: Lambda cannot ask what a text does not start with")
	}
	c := alternatives{}
	for _, e := range s.Entities() {
		c = c.union(alternatives{t.keyPattern(e)})
	}
	if canFail {
		t.matchAny("of %s: only the function can evaluate its `when`", s)
	}
	return c
}

// keyPattern returns the pattern of the records whose key could belong to an entity.
func (t *translator) keyPattern(e *entity.Entity) pattern {
	p := pattern{}
	for _, k := range e.Key {
		prefix, isWhole := k.Pattern.Prefix()
		path := attributePath("Keys", k.Attribute, "S")
		switch {
		case !canBeNamed(k.Attribute):
			t.matchAny("%s: a name with a dot or a $ means something else to Lambda", k.Attribute)
		case isWhole:
			p[path] = oneOf(prefix)
		case prefix != "":
			p[path] = leaf{starts: []string{prefix}}.simplify()
		}
		if !isWhole && !k.Pattern.BindsAll() {
			t.matchAny("of %s: Lambda is asked how a key begins, and not for the rest of a pattern", e.Name)
		}
	}
	return p
}

// ofEntities returns the patterns of the records whose image belongs to one of the entities and meets a sink's `when`.
// when has the patterns of this `when`. Records for which either evaluation fails match, too. The conditions of
// entities are evaluated before `when`. If such a condition can fail, the patterns do not narrow by `when`.
func (t *translator) ofEntities(s *entity.Scope, image string, when alternatives) alternatives {
	c := alternatives{}
	for _, e := range s.Entities() {
		c = c.union(t.intersection(alternatives{t.keyPattern(e)}, t.ofEntity(e, image, when)))
	}
	return c
}

func (t *translator) ofEntity(e *entity.Entity, image string, when alternatives) alternatives {
	for _, earlier := range e.Predecessors() {
		if conditionCanFail(earlier) {
			return t.matchAny("of %s: the `when` of %s is evaluated first and can fail, which is for dead letters", e.Name,
				earlier.Name)
		}
	}
	for _, earlier := range e.Predecessors() {
		t.matchAny("of %s: whether an item is of %s is for the function to evaluate", e.Name, earlier.Name)
	}
	if e.When == nil {
		return when
	}
	matchesWhen := t.expression(entityClause(e), false, image)
	if conditionCanFail(e) {
		return t.noteInexact(matchesWhen, "of "+e.Name+": its `when` is evaluated first and can fail, which is for dead letters")
	}
	return t.intersection(matchesWhen, when)
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
