package expr

import (
	"strings"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

// scalar is a text, a number, a bool or null. It is a literal, or the value of an attribute that is compared. Two
// scalars are equal in an expression if and only if they are equal by Go's ==.
type scalar struct {
	kind   item.Kind // S, N, BOOL, NULL, or the kind of another value
	text   string
	number decimal.Decimal
	flag   bool
}

func scalarOf(v item.Value) scalar {
	s := scalar{kind: v.Kind()}
	switch s.kind {
	case item.KindS:
		s.text, _ = v.Text()
	case item.KindN:
		s.number, _ = v.Number()
	case item.KindBOOL:
		s.flag, _ = v.Bool()
	case item.Absent:
		s.kind = item.KindNULL
	}
	return s
}

// isNullValue reports whether v is null in an expression.
func isNullValue(v item.Value) bool { return !v.Exists() || v.IsNull() }

// member returns the answer to `values[0] in v`.
func (d *direct) member(v item.Value) answer {
	member := d.values[0]
	switch v.Kind() {
	case item.Absent, item.KindNULL:
		return no
	case item.KindM:
		_, in := v.Get(member.text)
		return answerOf(in && member.kind == item.KindS)
	case item.KindL, item.KindSS, item.KindNS, item.KindBS:
		for _, e := range v.Elements() {
			if scalarOf(e) == member {
				return yes
			}
		}
		return no
	default:
		return unsure
	}
}

// size returns the answer to a comparison of the size of v with values[0].
func (d *direct) size(v item.Value) answer {
	n := v.Len()
	switch v.Kind() {
	case item.KindS:
		s, _ := v.Text()
		n = utf8.RuneCountInString(s)
	case item.KindN, item.KindBOOL:
		return unsure
	}
	return answerOf(d.accepts.have(decimal.Of(int64(n)).Cmp(d.values[0].number)))
}

// compare compares two scalars by order. For formText, it applies the function d.text to them instead.
func (d *direct) compare(a, b scalar) answer {
	switch {
	case a.kind == item.KindNULL || b.kind == item.KindNULL:
		return no
	case a.kind == item.KindS && b.kind == item.KindS:
		if d.form == formText {
			return answerOf(d.text(a.text, b.text))
		}
		return answerOf(d.accepts.have(strings.Compare(a.text, b.text)))
	case a.kind == item.KindN && b.kind == item.KindN && d.form == formOrder:
		return answerOf(d.accepts.have(a.number.Cmp(b.number)))
	default:
		return unsure
	}
}
