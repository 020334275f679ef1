package pushdown

import (
	"strconv"

	"github.com/tablewake/tablewake/pipeline/expr"
)

// expression returns the patterns of the records for which a clause is true or fails. If opposite is set, it returns
// the patterns of the records for which the clause is false or fails. itemImage is the image that the name `item` means
// in the clause.
func (t *translator) expression(c expr.Clause, opposite bool, itemImage string) alternatives {
	switch c.Kind {
	case expr.AllOf, expr.AnyOf: // in CEL, one part can decide the result even if another part fails
		isAny := (c.Kind == expr.AnyOf) != opposite // "not all" is any of the opposites
		patterns := anything
		if isAny {
			patterns = alternatives{}
		}
		for _, part := range c.Parts {
			p := t.expression(part, opposite, itemImage)
			if isAny {
				patterns = patterns.union(p)
			} else {
				patterns = t.intersection(patterns, p)
			}
		}
		return patterns
	case expr.NotOf:
		return t.expression(c.Parts[0], !opposite, itemImage)
	case expr.OperationIn:
		return operations(c.Texts, opposite)
	case expr.TextIn, expr.TextStarts, expr.FlagIs:
		return t.attributeClause(c, opposite, itemImage)
	}
	return t.matchAny(
		"a part of an expression: Lambda is asked only for texts, BOOLs and op, with ==, !=, in and startsWith")
}

// attributeClause translates a clause that compares one attribute of one image.
func (t *translator) attributeClause(c expr.Clause, opposite bool, itemImage string) alternatives {
	image := map[string]string{"new": "NewImage", "old": "OldImage", "keys": "Keys", "item": itemImage}[c.Image]
	if !canBeNamed(c.Attribute) {
		return t.matchAny("%s: a name with a dot or a $ means something else to Lambda", c.Attribute)
	}
	t.images = t.images || image != "Keys"
	path := attributePath(image, c.Attribute, "S")
	var l textRule
	switch {
	case c.Kind == expr.FlagIs && opposite:
		path = attributePath(image, c.Attribute, "BOOL")
		l = textRule{equal: []string{strconv.FormatBool(!c.Flag)}, absent: true}
	case c.Kind == expr.FlagIs:
		path = attributePath(image, c.Attribute, "BOOL")
		l = oneOf(strconv.FormatBool(c.Flag))
	case c.Kind == expr.TextIn && opposite:
		l = noneOf(c.Texts...)
	case c.Kind == expr.TextIn:
		l = oneOf(c.Texts...)
	case opposite:
		return t.matchAny("not startsWith: Lambda cannot ask what a text does not start with")
	default: // startsWith fails for a value that is not text, and that record must pass
		t.note("startsWith: where there is no S the record passes, since the function would fail on another type")
		l = textRule{starts: c.Texts, absent: true}.simplify()
	}
	if l.matchesNothing() {
		return nil
	}
	return alternatives{{path: l}}
}
