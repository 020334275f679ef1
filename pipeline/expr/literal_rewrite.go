package expr

import (
	"regexp"
	"strconv"
	"strings"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

// rewriteLiteral replaces e by an exact number if e is an unsigned literal, or a literal with a fraction or an
// exponent.
func (r *rewriter) rewriteLiteral(e ast.Expr) *Error {
	switch v := e.AsLiteral().(type) {
	case types.Double:
		number := ""
		if place, ok := r.info.GetOffsetRange(e.ID()); ok {
			number = numberAt(r.src, int(place.Start))
		}
		if f, err := strconv.ParseFloat(number, 64); err != nil || f != float64(v) {
			return errorAt(r.location(e), `write it as number("...")`, "the text of this number cannot be found")
		}
		return r.replaceByNumber(e, r.location(e), number)
	case types.Uint:
		return r.replaceByNumber(e, r.location(e), strconv.FormatUint(uint64(v), 10))
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

var (
	numberLiteral = regexp.MustCompile(`^(-[ \t\r\n\f]*)?[0-9]*(\.[0-9]*)?([eE][+-]?[0-9]*)?`)
	compactNumber = strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "", "\f", "", "E", "e")
)

// numberAt returns the text of the number literal at src[from], without spaces after its sign.
func numberAt(src []rune, from int) string {
	return compactNumber.Replace(numberLiteral.FindString(string(src[min(from, len(src)):])))
}

// textLiteral returns the value of a text literal. It returns false if e is not a text literal.
func textLiteral(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// checkConstant checks a call of timestamp or duration if its argument is a literal.
func (r *rewriter) checkConstant(c ast.CallExpr) *Error {
	if c.IsMemberFunction() || len(c.Args()) != 1 || c.Args()[0].Kind() != ast.LiteralKind {
		return nil
	}
	convert := toTimestamp
	if c.FunctionName() == "duration" {
		convert = toDuration
	}
	if err, ok := convert(c.Args()[0].AsLiteral()).(*types.Err); ok {
		return errorAt(r.location(c.Args()[0]), "", "%v", err)
	}
	return nil
}

// checkPattern checks a literal regular expression at compile time, so that the error has a position.
func (r *rewriter) checkPattern(c ast.CallExpr) *Error {
	if len(c.Args()) != 1 {
		return nil // the checker reports it
	}
	pattern, ok := textLiteral(c.Args()[0])
	if !ok {
		return errorAt(r.location(c.Args()[0]), "", "the pattern of matches must be a text in quotes")
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return errorAt(r.location(c.Args()[0]), "the syntax is RE2's", "%v", err)
	}
	return nil
}
