package expr

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/tablewake/tablewake/pipeline/internal/nearest"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// errs makes this package's errors. Their redacted text holds no data.
const errs = redact.Class("expression")

// Error is a compile error with its position in the source.
type Error struct {
	Line, Column int // 1-based, within the expression; the column counts characters
	Message      string
	Hint         string // what to write instead; "" if unknown
}

// Error returns the position, the message and the hint.
func (e *Error) Error() string {
	text := fmt.Sprintf("expression line %d column %d: %s", e.Line, e.Column, e.Message)
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// errorAt returns an Error at a location of CEL. Columns of CEL start at 0.
func errorAt(l common.Location, hint, format string, args ...any) *Error {
	return &Error{Line: max(l.Line(), 1), Column: max(l.Column(), 0) + 1, Message: fmt.Sprintf(format, args...),
		Hint: hint}
}

var (
	undeclared  = regexp.MustCompile(`^undeclared reference to '([^']*)'`)
	noField     = regexp.MustCompile(`^undefined field '(.*)'$`)
	noOverload  = regexp.MustCompile(`^found no matching overload for '(.*)' applied to '(.*)'$`)
	wrongType   = regexp.MustCompile(`^expected type 'bool' but found '(.*)'$`)
	badLiteral  = regexp.MustCompile(`invalid (int|uint|double) literal`)
	celType     = regexp.MustCompile(`\b(string|int|bool|bytes|list\([^()]*\)|map\([^()]*\)|dyn)`)
	expectation = regexp.MustCompile(`,? expecting .*`)
)

// explain returns an Error for CEL's first issue, in the words of this package. r is nil if the issue is a syntax
// error.
func (e Env) explain(src string, issues *cel.Issues, names []variable, r *rewriter) *Error {
	all := issues.Errors()
	if len(all) == 0 {
		return &Error{Line: 1, Column: 1, Message: issues.Err().Error()}
	}
	first := all[0]
	at, text := first.Location, first.Message
	if m := undeclared.FindStringSubmatch(text); m != nil {
		return e.unknownName(src, at, m[1], names)
	}
	if m := noField.FindStringSubmatch(text); m != nil {
		return e.unknownAttribute(at, m[1])
	}
	if m := noOverload.FindStringSubmatch(text); m != nil {
		message, hint := mismatch(m[1], m[2], r.operands(first.ExprID))
		return errorAt(at, hint, "%s", message)
	}
	if m := wrongType.FindStringSubmatch(text); m != nil {
		message, hint := mismatch(fnBool, m[1], r.operands(first.ExprID))
		return errorAt(at, hint, "%s", message)
	}
	if badLiteral.MatchString(text) {
		return errorAt(at, `write it as number("...")`, "a number that no literal can hold")
	}
	return syntaxError(src, at, text, names)
}

// syntaxError returns an Error with CEL's text, as for a syntax error.
func syntaxError(src string, at common.Location, text string, names []variable) *Error {
	text = expectation.ReplaceAllString(strings.TrimPrefix(text, "Syntax error: "), "")
	hasOpenQuote := strings.Count(src, "'")%2 == 1 || strings.Count(src, `"`)%2 == 1
	if hasOpenQuote && strings.HasPrefix(text, "token recognition error") {
		return errorAt(at, "a text stands between two quotes, as in item.Status == \"paid\"", "a quote has no other one")
	}
	if strings.Contains(text, "'<EOF>'") {
		text = "the expression ends, and something is missing"
	}
	return errorAt(at, cmp.Or(templateHint(src, at, names), syntaxHint(src, at, text)), "%s", text)
}

// unknownName returns the error for an unknown name. If the expression calls the name, it is the error for an unknown
// function.
func (e Env) unknownName(src string, at common.Location, unknown string, names []variable) *Error {
	if symbol, ok := strings.CutPrefix(unknown, "_"); ok && strings.HasSuffix(symbol, "_") {
		return errorAt(at, "+ and - are there", "%s is not supported: its result may have no exact decimal",
			strings.Trim(symbol, "_"))
	}
	before, after := lineAround(src, at)
	if strings.HasPrefix(after, "(") {
		return errorAt(at, functionHint(unknown), "unknown function %q", unknown)
	}
	return errorAt(at, e.nameHint(before, unknown, names), "unknown name %q", unknown)
}

// nameHint returns the hint for an unknown name. before is the text before the name in the same line.
func (e Env) nameHint(before, unknown string, names []variable) string {
	if e.UnknownHint != nil {
		if hint := e.UnknownHint(unknown); hint != "" {
			return hint
		}
	}
	if spelled, ok := spellings[unknown]; ok {
		return "write " + spelled
	}
	root := names[0].name
	switch {
	case strings.HasSuffix(before, "-"):
		return `a name with - in it is written in quotes, as in ` + root + `["first-name"]`
	case root == "item" && isChangeName(unknown):
		return "here the expression sees one item, on the old image and on the new: write item"
	case unknown == "item":
		return "here the expression sees a change: write old or new"
	}
	var known []string
	for _, n := range names {
		known = append(known, n.name)
	}
	if near := nearest.Name(unknown, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "known are " + strings.Join(known, ", ") + "; an attribute is written " + root + "." + unknown
}

// unknownAttribute returns the error for an attribute that is not declared.
func (e Env) unknownAttribute(at common.Location, unknown string) *Error {
	const format = "attribute %q is not among the declared ones"
	near := nearest.Name(unknown, slices.Collect(maps.Keys(e.Attributes)))
	switch {
	case near != "" && e.DeclareHint != nil:
		return errorAt(at, "did you mean "+near+"? Or "+e.DeclareHint(unknown), format, unknown)
	case near != "":
		return errorAt(at, "did you mean "+near+"?", format, unknown)
	case e.DeclareHint != nil:
		return errorAt(at, e.DeclareHint(unknown), format, unknown)
	}
	return errorAt(at, "declare it under attributes, or drop that declaration", format, unknown)
}

// kindOfType returns DynamoDB's name of a type of CEL's checker.
func kindOfType(celType string) string {
	name, _, _ := strings.Cut(celType, "(")
	switch name {
	case "string":
		return "S"
	case "int":
		return "N"
	case "bool":
		return "BOOL"
	case "bytes":
		return "B"
	case "dyn":
		return "any type"
	default: // list, map, timestamp, ...
		return name
	}
}

// mismatch returns the message and the hint for an operation that does not accept the types of its operands.
func mismatch(function, args string, operands []callOperand) (message, hint string) {
	args = celType.ReplaceAllStringFunc(args, kindOfType)
	args = strings.NewReplacer(".(", " and ", "(", "", ")", "", ", ", " and ").Replace(args)
	kinds := strings.Split(args, " and ")
	if len(kinds) == len(operands) {
		args, hint = describeOperands(kinds, operands), literalHint(function, kinds, operands)
	}
	first := ""
	if len(operands) > 0 {
		first = operands[0].text
	}
	switch function {
	case fnGet:
		if first != "" && kinds[0] == "list" {
			hint = fmt.Sprintf("read one element, as %[1]s[0], or ask for any, as in %[1]s.exists(e, e.qty > 1)", first)
		}
		return fmt.Sprintf("[ ] or a . cannot be applied to %s", args), hint
	case fnBool:
		if first != "" && len(operands) == 1 {
			return args + " is not a BOOL", "compare it, as in " + first + " != null"
		}
		return fmt.Sprintf("a value of type %s is not a BOOL", args), hint
	case fnEach:
		return fmt.Sprintf("%s has no members to go through", args), ""
	}
	return fmt.Sprintf("%s cannot be applied to %s", strings.Trim(function, "_@"), args), hint
}

// describeOperands returns the types of operands for a message, with the texts of the operands that are known.
func describeOperands(kinds []string, operands []callOperand) string {
	described := slices.Clone(kinds)
	for i, o := range operands {
		if o.text != "" {
			described[i] = fmt.Sprintf("%s (%s)", o.text, kinds[i])
		}
	}
	return strings.Join(described, " and ")
}

// literalHint returns a hint for a literal that is compared with a path or a name of another type. It returns "" if
// there is no such literal.
func literalHint(function string, kinds []string, operands []callOperand) string {
	if isOperator := strings.HasPrefix(function, "_"); !isOperator || len(operands) != 2 {
		return ""
	}
	for i, operand := range operands {
		other := 1 - i
		if !operand.literal || operands[other].text == "" {
			continue
		}
		switch {
		case kinds[i] == "S" && kinds[other] == "N":
			return "write the number without quotes"
		case kinds[i] == "N" && kinds[other] == "S":
			return "write the text in quotes"
		}
	}
	return ""
}

// evalError is a run-time error of this package's functions. It shows types, never values.
type evalError struct{ text string }

func (e *evalError) Error() string { return e.text }

func fail(format string, args ...any) ref.Val {
	return types.WrapErr(&evalError{fmt.Sprintf(format, args...)})
}

func notBool(v ref.Val) error {
	return &evalError{fmt.Sprintf("%s is not a BOOL: compare it, as in == true or != null", kindOf(v))}
}

// withoutValues replaces a run-time error by an error whose text shows no values.
func withoutValues(err error) error {
	if e, ok := errors.AsType[*evalError](err); ok {
		return e
	}
	if text := err.Error(); strings.HasPrefix(text, "no such overload") {
		return &evalError{"an operation on values of types that it does not take"}
	}
	return &evalError{"the evaluation failed"}
}
