package expr

import (
	"strings"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline"
)

// scalar is a text, a number, a bool or null: a literal, or an attribute that is compared. Two
// scalars are equal in an expression if they are equal by ==.
type scalar struct {
	kind   pipeline.Kind // S, N, BOOL, NULL, or the kind of another value
	text   string
	number pipeline.Decimal
	flag   bool
}

func scalarOf(v pipeline.Value) scalar {
	s := scalar{kind: v.Kind()}
	switch s.kind {
	case pipeline.KindS:
		s.text, _ = v.Text()
	case pipeline.KindN:
		s.number, _ = v.Number()
	case pipeline.KindBOOL:
		s.flag, _ = v.Bool()
	case pipeline.Absent:
		s.kind = pipeline.KindNULL
	}
	return s
}

// isNothing reports whether v is null in an expression.
func isNullValue(v pipeline.Value) bool { return !v.Exists() || v.IsNull() }

// member reports whether values[0] is in v.
func (d *direct) member(v pipeline.Value) answer {
	member := d.values[0]
	switch v.Kind() {
	case pipeline.Absent, pipeline.KindNULL:
		return no
	case pipeline.KindM:
		_, in := v.Get(member.text)
		return answerOf(in && member.kind == pipeline.KindS)
	case pipeline.KindL, pipeline.KindSS, pipeline.KindNS, pipeline.KindBS:
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

// size compares the size of v with values[0].
func (d *direct) size(v pipeline.Value) answer {
	n := v.Len()
	switch v.Kind() {
	case pipeline.KindS:
		s, _ := v.Text()
		n = utf8.RuneCountInString(s)
	case pipeline.KindN, pipeline.KindBOOL:
		return unsure
	}
	return answerOf(d.accepts[1+pipeline.DecimalOf(int64(n)).Cmp(d.values[0].number)])
}

// compare compares two scalars by order, or applies the function of two texts.
func (d *direct) compare(a, b scalar) answer {
	switch {
	case a.kind == pipeline.KindNULL || b.kind == pipeline.KindNULL:
		return no
	case a.kind == pipeline.KindS && b.kind == pipeline.KindS:
		if d.form == formText {
			return answerOf(d.text(a.text, b.text))
		}
		return answerOf(d.accepts[1+strings.Compare(a.text, b.text)])
	case a.kind == pipeline.KindN && b.kind == pipeline.KindN && d.form == formOrder:
		return answerOf(d.accepts[1+a.number.Cmp(b.number)])
	default:
		return unsure
	}
}
