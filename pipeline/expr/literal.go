package expr

import (
	"regexp"
	"strconv"
	"strings"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

// literal replaces e by an exact number if CEL read e as an unsigned integer or as a float.
func (r *rewriter) literal(e ast.Expr) *Error {
	switch v := e.AsLiteral().(type) {
	case types.Double:
		place, ok := r.info.GetOffsetRange(e.ID())
		number := ""
		if ok {
			number = numberAt(r.src, int(place.Start))
		}
		if f, err := strconv.ParseFloat(number, 64); err != nil || f != float64(v) {
			return errorAt(r.at(e), `write it as number("...")`, "the text of this number cannot be found")
		}
		return r.replaceByNumber(e, r.at(e), number)
	case types.Uint:
		return r.replaceByNumber(e, r.at(e), strconv.FormatUint(uint64(v), 10))
	default:
		return nil
	}
}

// replaceByNumber replaces e by the exact number that a text of the source spells.
func (r *rewriter) replaceByNumber(e ast.Expr, at common.Location, number string) *Error {
	v, err := parseNumber(number)
	if err != nil {
		return errorAt(at, "", "%q: %v", number, err)
	}
	e.SetKindCase(r.make.NewLiteral(e.ID(), v))
	return nil
}

// numberAt returns the text of the number literal at src[from], without spaces after its sign.
func numberAt(src []rune, from int) string {
	var b strings.Builder
	i := from
	digits := func() {
		for ; i < len(src) && '0' <= src[i] && src[i] <= '9'; i++ {
			b.WriteRune(src[i])
		}
	}
	if i < len(src) && src[i] == '-' {
		b.WriteByte('-')
		for i++; i < len(src) && strings.ContainsRune(" \t\r\n\f", src[i]); i++ {
		}
	}
	digits()
	if i < len(src) && src[i] == '.' {
		b.WriteByte('.')
		i++
		digits()
	}
	if i < len(src) && (src[i] == 'e' || src[i] == 'E') {
		b.WriteByte('e')
		i++
		if i < len(src) && (src[i] == '+' || src[i] == '-') {
			b.WriteRune(src[i])
			i++
		}
		digits()
	}
	return b.String()
}

// textLiteral returns the value of a text literal. It returns false if e is not one.
func textLiteral(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// constant checks a call of timestamp or duration at compile time if its argument is a literal.
func (r *rewriter) constant(c ast.CallExpr) *Error {
	if c.IsMemberFunction() || len(c.Args()) != 1 || c.Args()[0].Kind() != ast.LiteralKind {
		return nil
	}
	convert := toTimestamp
	if c.FunctionName() == "duration" {
		convert = toDuration
	}
	if err, ok := convert(c.Args()[0].AsLiteral()).(*types.Err); ok {
		return errorAt(r.at(c.Args()[0]), "", "%v", err)
	}
	return nil
}

// pattern checks the regular expression of matches at compile time, so that an error has a position. It refuses a
// pattern that is not a literal.
func (r *rewriter) pattern(c ast.CallExpr) *Error {
	if len(c.Args()) != 1 {
		return nil // the checker reports it
	}
	pattern, ok := textLiteral(c.Args()[0])
	if !ok {
		return errorAt(r.at(c.Args()[0]), "", "the pattern of matches must be a text in quotes")
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return errorAt(r.at(c.Args()[0]), "the syntax is RE2's", "%v", err)
	}
	return nil
}
