package pushdown

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// translator makes patterns from conditions. A pattern is a rule that Lambda compares with a record. A record matches
// the patterns if the condition is true or fails for the record. Another record matches them only if Lambda cannot
// distinguish it from such a record.
type translator struct {
	identity bool            // patterns may use userIdentity
	left     map[string]bool // reasons why parts of conditions have no pattern, or an inexact pattern
	images   bool            // a condition reads an image, even if its pattern was removed because no record matches it
}

// matchAny notes why a part of a condition has no pattern. It returns the pattern that every record matches.
func (t *translator) matchAny(why string, args ...any) alternatives {
	if t.left == nil {
		t.left = make(map[string]bool)
	}
	t.left[fmt.Sprintf(why, args...)] = true
	return anything
}

// noteInexact notes why c matches more records than the condition, and returns c.
func (t *translator) noteInexact(c alternatives, why string) alternatives {
	t.matchAny("%s", why)
	return c
}

// intersection returns the patterns of the records that match c and d.
func (t *translator) intersection(c, d alternatives) alternatives {
	for _, p := range c {
		for _, q := range d {
			for at, l := range p {
				if l.intersectionInexact(q[at]) {
					t.matchAny("a text that starts with one and is not another: Lambda cannot ask both")
				}
			}
		}
	}
	return c.intersection(d)
}

// condition returns the patterns of the records for which c is true or fails. If opposite is set, it returns those of
// the records for which c is false or fails.
func (t *translator) condition(c pipeline.Condition, opposite bool) alternatives {
	clause := rules.ClauseOf(c)
	switch clause.Kind {
	case rules.AllOf, rules.AnyOf:
		return t.sequence(clause.Parts, (clause.Kind == rules.AllOf) != opposite, opposite)
	case rules.NotOf:
		return t.condition(clause.Parts[0], !opposite)
	case rules.OperationIn:
		var names []string
		for _, op := range clause.Operations {
			names = append(names, op.String())
		}
		return operations(names, opposite)
	case rules.EntityIn:
		return t.entity(clause.Attribute, clause.Texts, opposite)
	case rules.KeyStarts:
		return t.key(clause.Attribute, clause.Texts[0], opposite)
	case rules.KeyOf:
		return t.keyOf(clause.Scope, clause.CanFail, opposite)
	case rules.Expired:
		return t.ttlDeletes(opposite)
	case rules.MayExpire:
		c := anything
		if !opposite {
			c = alternatives{{eventName: anyBut("INSERT", "MODIFY")}}
		}
		return t.noteInexact(c, "probable_ttl: Lambda cannot compare times")
	case rules.Comparison:
		return t.matchAny("changed, unchanged, no_change, replication_echoes: Lambda cannot compare the old image with the new")
	}
	if x, ok := c.(*expr.Change); ok {
		return t.expression(x.Clause(), opposite, "")
	}
	return t.matchAny("a function of Go: Lambda cannot call it")
}

// sequence translates conditions that are evaluated in order until one decides or fails. every means that all must be
// true. If a condition can fail for a record, the conditions after it get no pattern. With their patterns, Lambda might
// drop the record for which the condition fails.
func (t *translator) sequence(parts []pipeline.Condition, every, opposite bool) alternatives {
	if !every {
		c := alternatives{}
		for _, part := range parts {
			c = c.union(t.condition(part, opposite))
		}
		return c
	}
	c := anything
	for _, part := range parts {
		c = t.intersection(c, t.condition(part, opposite))
		if !neverFails(part) {
			break
		}
	}
	return c
}

// neverFails reports whether a condition cannot fail. It returns false for a kind that it does not know.
func neverFails(c pipeline.Condition) bool {
	clause := rules.ClauseOf(c)
	switch clause.Kind {
	case rules.OperationIn, rules.EntityIn, rules.KeyStarts, rules.Expired, rules.MayExpire:
		return true
	case rules.AllOf, rules.AnyOf, rules.NotOf:
		return !slices.ContainsFunc(clause.Parts, func(part pipeline.Condition) bool { return !neverFails(part) })
	case rules.KeyOf:
		return !clause.CanFail
	case rules.OtherClause:
		x, ok := c.(*expr.Change)
		return ok && clauseNeverFails(x.Clause())
	}
	return false
}

func clauseNeverFails(c expr.Clause) bool {
	return c.Kind != expr.OtherClause && c.Kind != expr.TextStarts &&
		!slices.ContainsFunc(c.Parts, func(part expr.Clause) bool { return !clauseNeverFails(part) })
}

func oneOf(texts ...string) leaf  { return leaf{equal: texts}.simplify() }
func anyBut(texts ...string) leaf { return leaf{anyExcept: true, except: texts}.simplify() }
func noneOf(texts ...string) leaf {
	return leaf{anyExcept: true, except: texts, absent: true}.simplify()
}

// operations returns the patterns of records with these operations, or, if opposite is set, of records with other
// operations. UNKNOWN means every unknown operation.
func operations(names []string, opposite bool) alternatives {
	known := []string{"INSERT", "MODIFY", "REMOVE", "SNAPSHOT"}
	in := func(name string) bool { return slices.Contains(names, name) != opposite }
	l := leaf{}
	for _, name := range known {
		if in(name) {
			l.equal = append(l.equal, name)
		} else {
			l.except = append(l.except, name)
		}
	}
	if in("UNKNOWN") {
		return alternatives{{eventName: anyBut(l.except...)}}
	}
	if len(l.equal) == 0 {
		return nil
	}
	return alternatives{{eventName: oneOf(l.equal...)}}
}

// entity compares the attribute in the new image or, if there is no new image, in the old image.
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

// key compares a key attribute, which is text or binary, with a prefix.
func (t *translator) key(attribute, prefix string, opposite bool) alternatives {
	switch {
	case !canBeNamed(attribute):
		return t.matchAny("%s: a name with a dot or a $ means something else to Lambda", attribute)
	case opposite:
		return t.matchAny("not key_prefix: Lambda cannot ask what a text does not start with")
	}
	return alternatives{
		{attributePath("Keys", attribute, "S"): leaf{starts: []string{prefix}}.simplify()},
		{attributePath("Keys", attribute, "B"): leaf{starts: base64Prefixes(prefix)}.simplify()},
	}
}

// base64Prefixes returns the texts that begin the base64 of every byte string that starts with prefix.
func base64Prefixes(prefix string) []string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	whole := len(prefix) / 3 * 3
	start, rest := base64.StdEncoding.EncodeToString([]byte(prefix[:whole])), prefix[whole:]
	var prefixes []string
	switch len(rest) {
	case 0:
		return []string{start}
	case 1: // six bits of the byte; then its other two bits and four bits of the next byte
		for i := range 16 {
			prefixes = append(prefixes, start+string([]byte{alphabet[rest[0]>>2], alphabet[int(rest[0]&3)<<4|i]}))
		}
	default: // six bits; two and four bits; then the other four bits and two bits of the next byte
		for i := range 4 {
			prefixes = append(prefixes, start+string([]byte{alphabet[rest[0]>>2], alphabet[rest[0]&3<<4|rest[1]>>4],
				alphabet[int(rest[1]&15)<<2|i]}))
		}
	}
	return prefixes
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
		return t.noteInexact(alternatives{{eventName: oneOf("REMOVE")}}, why)
	}
}
