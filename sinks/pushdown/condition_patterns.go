package pushdown

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// translator makes patterns from conditions. A pattern is a rule that Lambda compares with a record. A record matches
// the patterns if the condition is true or fails for the record. Other records match only if Lambda cannot distinguish
// them from such records.
type translator struct {
	identity bool            // patterns may use userIdentity
	reasons  map[string]bool // reasons why parts of conditions have no pattern, or an inexact pattern
	images   bool            // a condition reads an image, even if no pattern of it is left
}

// note notes why the patterns match more records than a condition.
func (t *translator) note(why string, args ...any) {
	if t.reasons == nil {
		t.reasons = make(map[string]bool)
	}
	t.reasons[fmt.Sprintf(why, args...)] = true
}

// matchAny notes why a part of a condition has no pattern. It returns the pattern that every record matches.
func (t *translator) matchAny(why string, args ...any) alternatives {
	t.note(why, args...)
	return anything
}

// intersection returns the patterns of the records that match c and d.
func (t *translator) intersection(c, d alternatives) alternatives {
	for _, p := range c {
		for _, q := range d {
			for path, l := range p {
				if l.intersectionInexact(q[path]) {
					t.note("a text that starts with one and is not another: Lambda cannot ask both")
				}
			}
		}
	}
	return c.intersection(d)
}

// condition returns the patterns of the records for which c is true or fails. If opposite is set, it returns the
// patterns of the records for which c is false or fails.
func (t *translator) condition(c pipeline.Condition, opposite bool) alternatives {
	clause := rules.ClauseOf(c)
	switch clause.Kind {
	case rules.AllOf, rules.AnyOf:
		isAny := (clause.Kind == rules.AnyOf) != opposite // "not all" is any of the opposites
		if isAny {
			return t.anyOf(clause.Parts, opposite)
		}
		return t.allOf(clause.Parts, opposite)
	case rules.NotOf:
		return t.condition(clause.Parts[0], !opposite)
	case rules.OperationIn:
		return operations(operationNames(clause.Operations), opposite)
	case rules.EntityIn:
		return t.entity(clause.Attribute, clause.Texts, opposite)
	case rules.KeyStarts:
		return t.key(clause.Attribute, clause.Texts[0], opposite)
	case rules.KeyOf:
		return t.entityKeyPatterns(clause.Scope, clause.CanFail, opposite)
	case rules.Expired:
		return t.ttlDeletes(opposite)
	case rules.MayExpire:
		return t.probableTTLDeletes(opposite)
	case rules.Comparison:
		return t.matchAny("changed, unchanged, no_change, replication_echoes: Lambda cannot compare the old image with the new")
	}
	if x, ok := c.(*expr.Change); ok {
		return t.expression(x.Clause(), opposite, "")
	}
	return t.matchAny("a function of Go: Lambda cannot call it")
}

// anyOf returns the patterns of the records for which at least one condition is true or fails. opposite has the same
// meaning as in condition.
func (t *translator) anyOf(parts []pipeline.Condition, opposite bool) alternatives {
	patterns := alternatives{}
	for _, part := range parts {
		patterns = patterns.union(t.condition(part, opposite))
	}
	return patterns
}

// allOf returns the patterns of the records for which all conditions are true, or one fails. Conditions are evaluated
// in order until one decides or fails. If a condition can fail, the conditions after it get no pattern. With their
// patterns, Lambda might drop a record for which the condition fails.
func (t *translator) allOf(parts []pipeline.Condition, opposite bool) alternatives {
	patterns := anything
	for _, part := range parts {
		patterns = t.intersection(patterns, t.condition(part, opposite))
		if canFail(part) {
			break
		}
	}
	return patterns
}

// canFail reports whether a condition can fail. It returns true for a kind that it does not know.
func canFail(c pipeline.Condition) bool {
	clause := rules.ClauseOf(c)
	switch clause.Kind {
	case rules.OperationIn, rules.EntityIn, rules.KeyStarts, rules.Expired, rules.MayExpire:
		return false
	case rules.AllOf, rules.AnyOf, rules.NotOf:
		return slices.ContainsFunc(clause.Parts, canFail)
	case rules.KeyOf:
		return clause.CanFail
	case rules.OtherClause:
		x, isExpression := c.(*expr.Change)
		return !isExpression || clauseCanFail(x.Clause())
	}
	return true
}

func clauseCanFail(c expr.Clause) bool {
	return c.Kind == expr.OtherClause || c.Kind == expr.TextStarts || slices.ContainsFunc(c.Parts, clauseCanFail)
}

func oneOf(texts ...string) textRule  { return textRule{equal: texts}.simplify() }
func anyBut(texts ...string) textRule { return textRule{anyExcept: true, except: texts}.simplify() }
func noneOf(texts ...string) textRule {
	return textRule{anyExcept: true, except: texts, absent: true}.simplify()
}

func operationNames(operations []record.Operation) (names []string) {
	for _, op := range operations {
		names = append(names, op.String())
	}
	return names
}

// operations returns the patterns of the records with these operations. If opposite is set, it returns the patterns of
// the records with other operations. UNKNOWN means every unknown operation.
func operations(names []string, opposite bool) alternatives {
	var matching, others []string
	isMatching := func(name string) bool { return slices.Contains(names, name) != opposite }
	for _, name := range []string{"INSERT", "MODIFY", "REMOVE", "SNAPSHOT"} {
		if isMatching(name) {
			matching = append(matching, name)
		} else {
			others = append(others, name)
		}
	}
	switch {
	case isMatching("UNKNOWN"):
		return alternatives{{eventName: anyBut(others...)}}
	case len(matching) == 0:
		return nil
	}
	return alternatives{{eventName: oneOf(matching...)}}
}

// entity returns the patterns of the records whose attribute has one of these names as its text; if opposite is set,
// none of them. It takes the attribute from the new image or, if there is no new image, from the old image.
func (t *translator) entity(attribute string, names []string, opposite bool) alternatives {
	if !canBeNamed(attribute) {
		return t.matchAny("%s: a name with a dot or a $ means something else to Lambda", attribute)
	}
	t.images = true
	l := oneOf(names...)
	if opposite {
		l = noneOf(names...)
	}
	if l.matchesNothing() {
		return nil
	}
	return alternatives{
		{eventName: anyBut("REMOVE"), attributePath("NewImage", attribute, "S"): l},
		{eventName: anyBut("INSERT", "MODIFY"), attributePath("OldImage", attribute, "S"): l},
	}
}

// key returns the patterns of the records whose key attribute, a text or a binary, starts with prefix.
func (t *translator) key(attribute, prefix string, opposite bool) alternatives {
	switch {
	case !canBeNamed(attribute):
		return t.matchAny("%s: a name with a dot or a $ means something else to Lambda", attribute)
	case opposite:
		return t.matchAny("not key_prefix: Lambda cannot ask what a text does not start with")
	}
	return alternatives{
		{attributePath("Keys", attribute, "S"): textRule{starts: []string{prefix}}.simplify()},
		{attributePath("Keys", attribute, "B"): textRule{starts: base64Prefixes(prefix)}.simplify()},
	}
}

// base64Prefixes returns all texts with which the base64 of a byte string can begin if the byte string starts with
// prefix. A character of base64 has six bits. So the last character may also contain the first bits of the byte after
// prefix. There is one text for each value of these bits.
func base64Prefixes(prefix string) []string {
	lastBits := len(prefix) * 8 % 6 // bits of prefix in a last character that is not full
	if lastBits == 0 {
		return []string{base64.StdEncoding.EncodeToString([]byte(prefix))}
	}
	nextBits := 6 - lastBits
	length := (len(prefix)*8 + nextBits) / 6
	var prefixes []string
	for bits := range 1 << nextBits {
		nextByte := byte(bits << (8 - nextBits))
		encoded := base64.StdEncoding.EncodeToString(append([]byte(prefix), nextByte))
		prefixes = append(prefixes, encoded[:length])
	}
	return prefixes
}

// probableTTLDeletes returns the patterns of the deletes that may be by TTL. These are all deletes. If opposite is set,
// all records match.
func (t *translator) probableTTLDeletes(opposite bool) alternatives {
	t.note("probable_ttl: Lambda cannot compare times")
	if opposite {
		return anything
	}
	return alternatives{{eventName: anyBut("INSERT", "MODIFY")}}
}

// ttlDeletes returns the patterns of the deletes by DynamoDB's TTL process.
func (t *translator) ttlDeletes(opposite bool) alternatives {
	const service, dynamodb = "Service", "dynamodb.amazonaws.com"
	why := "ttl_deletes: that Lambda can ask for userIdentity is unproven; --match-user-identity has it asked"
	switch {
	case t.identity && opposite:
		return alternatives{{eventName: anyBut("REMOVE")}, {userType: noneOf(service)}, {principal: noneOf(dynamodb)}}
	case t.identity:
		return alternatives{{eventName: oneOf("REMOVE"), userType: oneOf(service), principal: oneOf(dynamodb)}}
	case opposite:
		return t.matchAny("%s", why)
	default:
		t.note("%s", why)
		return alternatives{{eventName: oneOf("REMOVE")}}
	}
}
