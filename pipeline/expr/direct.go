package expr

import (
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// direct is a question that is asked of the images themselves: the forms that filters and
// conditions usually have, without CEL's values and calls. It answers as CEL does or not at
// all: what it has no form for, and what fails, is unsure and left to CEL, so that all
// errors are CEL's.
type direct struct {
	form    form
	parts   []direct
	of      *reading
	with    *reading // what is compared with of; nil where that is values[0]
	values  []scalar // of formOneOf any number, else one
	accepts [3]bool  // of what is ordered: less, equal, greater
	text    func(s, part string) bool
	images  [2]source
	ops     uint8 // a bit for each operation
	time    time.Time
}

// form is the form of a direct question.
type form uint8

const (
	formUnknown    form = iota
	formFlag            // true, false: values[0]
	formEvery           // parts[0] && parts[1] && ...
	formSome            // parts[0] || parts[1] || ...
	formNot             // !parts[0]
	formChoice          // parts[0] ? parts[1] : parts[2]
	formNoImage         // images[0] == null
	formSameImages      // images[0] == images[1]
	formOperation       // op in ops
	formExpired         // ttl
	formTime            // time < timestamp("...")
	formTrue            // of, which must be a BOOL
	formNull            // of == null
	formPresent         // has(of), of an attribute
	formPresentIn       // has(of.name), of values[0] within
	formOneOf           // of == values[0], of in values
	formMember          // values[0] in of
	formSize            // size(of) < values[0]
	formEveryOf         // of.all(it, parts[0])
	formSomeOf          // of.exists(it, parts[0])
	formSame            // of == with
	formOrder           // of < with, of < values[0]
	formText            // of.startsWith(with), of.startsWith(values[0])
)

// answer is what comes of a direct question.
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

func opposite(a answer) answer {
	switch a {
	case yes:
		return no
	case no:
		return yes
	default:
		return unsure
	}
}

// subject is what is asked about. It stays on the stack: forms are no types with a method each.
type subject struct {
	change *pipeline.Change // nil: about an item
	item   pipeline.Image
	it     pipeline.Value // where a loop stands
}

func (d *direct) ask(s *subject) answer {
	switch d.form {
	case formFlag:
		return answerOf(d.values[0].flag)
	case formEvery:
		return d.until(no, s)
	case formSome:
		return d.until(yes, s)
	case formNot:
		return opposite(d.parts[0].ask(s))
	case formChoice:
		switch d.parts[0].ask(s) {
		case yes:
			return d.parts[1].ask(s)
		case no:
			return d.parts[2].ask(s)
		}
	case formNoImage:
		return answerOf(!s.image(d.images[0]).Exists())
	case formSameImages:
		return answerOf(s.image(d.images[0]).Equal(*s.image(d.images[1])))
	case formOperation:
		return answerOf(d.ops>>s.change.Op&1 != 0)
	case formExpired:
		return answerOf(s.change.TTLDelete())
	case formTime:
		t := s.change.Time
		return answerOf(!t.IsZero() && d.accepts[1+t.Compare(d.time)])
	case formUnknown:
	default:
		if v, ok := d.of.read(s); ok {
			return d.askOf(v, s)
		}
	}
	return unsure
}

// until asks the parts until one decides: in CEL it does, whatever the others say and
// whether or not they fail.
func (d *direct) until(decides answer, s *subject) answer {
	all := opposite(decides)
	for i := range d.parts {
		switch d.parts[i].ask(s) {
		case decides:
			return decides
		case unsure:
			all = unsure
		}
	}
	return all
}

// askOf asks about one value.
func (d *direct) askOf(v pipeline.Value, s *subject) answer {
	switch d.form {
	case formTrue:
		if flag, ok := v.Bool(); ok {
			return answerOf(flag)
		}
		return unsure
	case formNull:
		return answerOf(isNothing(v))
	case formPresent:
		return answerOf(v.Exists())
	case formPresentIn:
		if v.Kind() == pipeline.KindM || isNothing(v) {
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
		return d.untilOf(no, v, s)
	case formSomeOf:
		return d.untilOf(yes, v, s)
	}
	if d.with == nil {
		return d.compare(scalarOf(v), d.values[0])
	}
	w, ok := d.with.read(s)
	switch {
	case !ok:
		return unsure
	case d.form == formSame:
		return answerOf(isNothing(v) == isNothing(w) && (isNothing(v) || v.Equal(w)))
	default:
		return d.compare(scalarOf(v), scalarOf(w))
	}
}

// untilOf is until for a question about each member of a list or set.
func (d *direct) untilOf(decides answer, v pipeline.Value, s *subject) answer {
	all := opposite(decides)
	switch v.Kind() {
	case pipeline.Absent, pipeline.KindNULL:
		return all
	case pipeline.KindL, pipeline.KindSS, pipeline.KindNS, pipeline.KindBS:
	default: // a map's members are its names, which are no values
		return unsure
	}
	for _, e := range v.Elements() {
		s.it = e
		switch d.parts[0].ask(s) {
		case decides:
			return decides
		case unsure:
			all = unsure
		}
	}
	return all
}
