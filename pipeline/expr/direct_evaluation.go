package expr

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// direct evaluates an expression on the images, without CEL's values and calls, because that is faster. It covers the
// common forms of filters and conditions. Its answer is CEL's answer, or unsure. The answer for unknown forms and for
// failures is unsure. CEL then evaluates the expression, so all errors come from CEL.
type direct struct {
	form    form
	parts   []direct
	operand *valuePath
	other   *valuePath // second operand; nil if it is values[0]
	values  []scalar   // any number of values for formOneOf, one for other forms
	accepts orders     // accepted results of a comparison
	text    func(s, part string) bool
	images  [2]pathStart
	ops     uint8 // accepted operations, one bit for each
	time    time.Time
}

// orders is a set of results of a comparison.
type orders struct{ less, equal, greater bool }

// have reports whether the set has the result of a function such as [strings.Compare].
func (o orders) have(result int) bool {
	switch {
	case result < 0:
		return o.less
	case result > 0:
		return o.greater
	}
	return o.equal
}

// form is the form of a direct expression. Forms are constants, not types that implement an interface, so that a
// subject stays on the stack.
type form uint8

// Each comment shows an expression of the form. Names such as parts, operand and values in it are fields of direct.
const (
	formUnknown    form = iota
	formFlag            // the literal true or false, which is values[0]
	formEvery           // parts[0] && parts[1] && ...
	formSome            // parts[0] || parts[1] || ...
	formNot             // !parts[0]
	formChoice          // parts[0] ? parts[1] : parts[2]
	formNoImage         // images[0] == null
	formSameImages      // images[0] == images[1]
	formOperation       // op in ops
	formExpired         // ttl
	formTime            // time < timestamp("...")
	formTrue            // operand, which must be a BOOL
	formNull            // operand == null
	formPresent         // has(operand), which is an attribute
	formPresentIn       // has(operand.name), where name is values[0]
	formOneOf           // operand == values[0], operand in values
	formMember          // values[0] in operand
	formSize            // size(operand) < values[0]
	formEveryOf         // operand.all(it, parts[0])
	formSomeOf          // operand.exists(it, parts[0])
	formSame            // operand == other
	formOrder           // operand < other, operand < values[0]
	formText            // operand.startsWith(other), operand.startsWith(values[0])
)

// answer is the result of a direct evaluation.
type answer uint8

const (
	unsure answer = iota
	no
	yes
)

func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

func negated(a answer) answer {
	switch a {
	case yes:
		return no
	case no:
		return yes
	default:
		return unsure
	}
}

// subject is the change or the item that an expression is evaluated on.
type subject struct {
	change *record.Change // nil if the subject is an item
	item   item.Image
	each   item.Value // the element under for_each
	member item.Value // the current member of a loop
}

func (d *direct) eval(s *subject) answer {
	switch d.form {
	case formFlag:
		return answerOf(d.values[0].flag)
	case formEvery:
		return d.evalParts(no, s)
	case formSome:
		return d.evalParts(yes, s)
	case formNot:
		return negated(d.parts[0].eval(s))
	case formChoice:
		switch d.parts[0].eval(s) {
		case yes:
			return d.parts[1].eval(s)
		case no:
			return d.parts[2].eval(s)
		}
	case formNoImage:
		return answerOf(!s.imageAt(d.images[0]).Exists())
	case formSameImages:
		return answerOf(s.imageAt(d.images[0]).Equal(*s.imageAt(d.images[1])))
	case formOperation:
		return answerOf(d.ops>>s.change.Op&1 != 0)
	case formExpired:
		return answerOf(s.change.TTLDelete())
	case formTime:
		t := s.change.Time
		return answerOf(!t.IsZero() && d.accepts.have(t.Compare(d.time)))
	case formUnknown:
	default:
		if v, ok := d.operand.read(s); ok {
			return d.evalValue(v, s)
		}
	}
	return unsure
}

// evalParts evaluates the parts of && (decides is no) or || (decides is yes) until a part has the answer decides. As in
// CEL, that part decides the result even if another part fails.
func (d *direct) evalParts(decides answer, s *subject) answer {
	result := negated(decides)
	for i := range d.parts {
		switch d.parts[i].eval(s) {
		case decides:
			return decides
		case unsure:
			result = unsure
		}
	}
	return result
}

// evalValue evaluates a form on one value.
func (d *direct) evalValue(v item.Value, s *subject) answer {
	switch d.form {
	case formTrue:
		if flag, ok := v.Bool(); ok {
			return answerOf(flag)
		}
		return unsure
	case formNull:
		return answerOf(isNullValue(v))
	case formPresent:
		return answerOf(v.Exists())
	case formPresentIn:
		if v.Kind() == item.KindM || isNullValue(v) {
			return d.member(v)
		}
		return unsure
	case formOneOf:
		return answerOf(slices.Contains(d.values, scalarOf(v)))
	case formMember:
		return d.member(v)
	case formSize:
		return d.size(v)
	case formEveryOf:
		return d.evalMembers(no, v, s)
	case formSomeOf:
		return d.evalMembers(yes, v, s)
	}
	return d.evalOperands(v, s)
}

// evalOperands evaluates formSame, formOrder or formText, whose first operand has the value v.
func (d *direct) evalOperands(v item.Value, s *subject) answer {
	if d.other == nil {
		return d.compare(scalarOf(v), d.values[0])
	}
	other, ok := d.other.read(s)
	switch {
	case !ok:
		return unsure
	case d.form != formSame:
		return d.compare(scalarOf(v), scalarOf(other))
	case isNullValue(v) || isNullValue(other):
		return answerOf(isNullValue(v) && isNullValue(other))
	}
	return answerOf(v.Equal(other))
}

// evalMembers evaluates parts[0] on each member of a list or set, until the answer for a member is decides. It returns
// the negation of decides if no member decides, and unsure if the answer for a member is unsure. Null has no members.
// Other values than lists and sets are unsure.
func (d *direct) evalMembers(decides answer, v item.Value, s *subject) answer {
	result := negated(decides)
	switch v.Kind() {
	case item.Absent, item.KindNULL:
		return result
	case item.KindL, item.KindSS, item.KindNS, item.KindBS:
	default: // a loop over a map yields the names, which are not item.Values
		return unsure
	}
	for _, e := range v.Elements() {
		s.member = e
		switch d.parts[0].eval(s) {
		case decides:
			return decides
		case unsure:
			result = unsure
		}
	}
	return result
}
