package pushdown

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/expr"
)

// translator makes patterns of conditions. Its patterns are met by every record for
// which the condition holds or fails, and as far as Lambda can tell by no other.
type translator struct {
	identity bool            // userIdentity may be asked for
	left     map[string]bool // what is not said by the patterns, each with its reason
	images   bool            // an image was asked for, though it may stand in no pattern: who contradicts himself reads it too
}

// leave notes what Lambda is not asked, and answers with what is met by every record.
func (t *translator) leave(why string, args ...any) choice {
	if t.left == nil {
		t.left = make(map[string]bool)
	}
	t.left[fmt.Sprintf(why, args...)] = true
	return anything
}

// inexact notes that c lets through more than the condition does.
func (t *translator) inexact(c choice, why string) choice {
	t.leave("%s", why)
	return c
}

// both is what meets c and d.
func (t *translator) both(c, d choice) choice {
	for _, p := range c {
		for _, q := range d {
			for at, l := range p {
				if l.loses(q[at]) {
					t.leave("a text that starts with one and is not another: Lambda cannot ask both")
				}
			}
		}
	}
	return c.and(d)
}

// condition is what c, or its opposite, is met by or fails on.
func (t *translator) condition(c pipeline.Condition, opposite bool) choice {
	k := pipeline.ClauseOf(c)
	switch k.Kind {
	case pipeline.AllOf, pipeline.AnyOf:
		return t.sequence(k.Parts, (k.Kind == pipeline.AllOf) != opposite, opposite)
	case pipeline.NotOf:
		return t.condition(k.Parts[0], !opposite)
	case pipeline.OperationIn:
		var names []string
		for _, op := range k.Operations {
			names = append(names, op.String())
		}
		return operations(names, opposite)
	case pipeline.EntityIn:
		return t.entity(k.Attribute, k.Texts, opposite)
	case pipeline.KeyStarts:
		return t.key(k.Attribute, k.Texts[0], opposite)
	case pipeline.Expired:
		return t.expired(opposite)
	case pipeline.MayExpire:
		c := anything
		if !opposite {
			c = choice{{eventName: anyBut("INSERT", "MODIFY")}}
		}
		return t.inexact(c, "probable_ttl: Lambda cannot compare times")
	case pipeline.Comparison:
		return t.leave("changed, unchanged, no_change, replication_echoes: Lambda cannot compare the old image with the new")
	}
	if x, ok := c.(*expr.Change); ok {
		return t.expression(x.Clause(), opposite, "")
	}
	return t.leave("a function of Go: Lambda cannot call it")
}

// sequence is parts that are asked in order until one decides or fails: what
// follows one that can fail cannot be asked before it.
func (t *translator) sequence(parts []pipeline.Condition, every, opposite bool) choice {
	if !every {
		c := choice{}
		for _, part := range parts {
			c = c.or(t.condition(part, opposite))
		}
		return c
	}
	c := anything
	for _, part := range parts {
		c = t.both(c, t.condition(part, opposite))
		if !sure(part) {
			break
		}
	}
	return c
}

// sure tells whether a condition never fails.
func sure(c pipeline.Condition) bool {
	k := pipeline.ClauseOf(c)
	switch k.Kind {
	case pipeline.Comparison:
		return false
	case pipeline.OtherClause:
		x, ok := c.(*expr.Change)
		return ok && sureClause(x.Clause())
	}
	return !slices.ContainsFunc(k.Parts, func(part pipeline.Condition) bool { return !sure(part) })
}

func sureClause(c expr.Clause) bool {
	return c.Kind != expr.OtherClause && c.Kind != expr.TextStarts &&
		!slices.ContainsFunc(c.Parts, func(part expr.Clause) bool { return !sureClause(part) })
}

func oneOf(texts ...string) leaf  { return leaf{is: texts}.tidy() }
func anyBut(texts ...string) leaf { return leaf{but: true, not: texts}.tidy() }
func noneOf(texts ...string) leaf { return leaf{but: true, not: texts, absent: true}.tidy() }

// operations are events of these names. UNKNOWN is any name that is not known.
func operations(names []string, opposite bool) choice {
	known := []string{"INSERT", "MODIFY", "REMOVE", "SNAPSHOT"}
	in := func(name string) bool { return slices.Contains(names, name) != opposite }
	l := leaf{}
	for _, name := range known {
		if in(name) {
			l.is = append(l.is, name)
		} else {
			l.not = append(l.not, name)
		}
	}
	if in("UNKNOWN") {
		return choice{{eventName: anyBut(l.not...)}}
	}
	if len(l.is) == 0 {
		return nil
	}
	return choice{{eventName: oneOf(l.is...)}}
}

// entity asks the new image where there is one, else the old.
func (t *translator) entity(attribute string, names []string, opposite bool) choice {
	if !nameable(attribute) {
		return t.leave("%s: a name with a dot or a $ means something else to Lambda", attribute)
	}
	t.images = true
	l := oneOf(names...)
	if opposite {
		l = noneOf(names...)
	}
	if l.impossible() {
		return nil
	}
	return choice{
		{eventName: anyBut("REMOVE"), of("NewImage", attribute, "S"): l},
		{eventName: anyBut("INSERT", "MODIFY"), of("OldImage", attribute, "S"): l},
	}
}

// key asks a key attribute, which is an S or a B that starts with prefix.
func (t *translator) key(attribute, prefix string, opposite bool) choice {
	switch {
	case !nameable(attribute):
		return t.leave("%s: a name with a dot or a $ means something else to Lambda", attribute)
	case opposite:
		return t.leave("not key_prefix: Lambda cannot ask what a text does not start with")
	}
	return choice{
		{of("Keys", attribute, "S"): leaf{starts: []string{prefix}}.tidy()},
		{of("Keys", attribute, "B"): leaf{starts: base64Prefixes(prefix)}.tidy()},
	}
}

// base64Prefixes are what the base64 of all bytes that start with prefix starts with.
func base64Prefixes(prefix string) []string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	whole := len(prefix) / 3 * 3
	start, rest := base64.StdEncoding.EncodeToString([]byte(prefix[:whole])), prefix[whole:]
	var prefixes []string
	switch len(rest) {
	case 0:
		return []string{start}
	case 1: // six bits of it, then two and four of what follows
		for i := range 16 {
			prefixes = append(prefixes, start+string([]byte{alphabet[rest[0]>>2], alphabet[int(rest[0]&3)<<4|i]}))
		}
	default: // six, six, then four and two of what follows
		for i := range 4 {
			prefixes = append(prefixes, start+string([]byte{alphabet[rest[0]>>2], alphabet[rest[0]&3<<4|rest[1]>>4], alphabet[int(rest[1]&15)<<2|i]}))
		}
	}
	return prefixes
}

// expired is what DynamoDB's TTL process removed.
func (t *translator) expired(opposite bool) choice {
	const service, dynamodb = "Service", "dynamodb.amazonaws.com"
	why := "ttl_deletes: that Lambda can ask for userIdentity is unproven; --match-user-identity has it asked"
	switch {
	case t.identity && opposite:
		return choice{{eventName: anyBut("REMOVE")}, {userType: noneOf(service)}, {principal: noneOf(dynamodb)}}
	case t.identity:
		return choice{{eventName: oneOf("REMOVE"), userType: oneOf(service), principal: oneOf(dynamodb)}}
	case opposite:
		return t.leave("%s", why)
	default:
		return t.inexact(choice{{eventName: oneOf("REMOVE")}}, why)
	}
}
