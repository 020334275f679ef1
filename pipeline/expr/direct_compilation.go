package expr

import (
	"regexp"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// newDirect returns the direct form of an expression that was rewritten and checked. It returns nil if the expression
// has no direct form.
func newDirect(e ast.Expr, scope *entity.Scope) *direct {
	if d := (directPlan{scope: scope}).condition(e); d.form != formUnknown {
		return &d
	}
	return nil
}

// directPlan is the context in which newDirect converts a part of an expression.
type directPlan struct {
	loop  string // variable of the enclosing loop; "" outside loops
	scope *entity.Scope
}

// condition returns the direct form of an expression that must be a bool. Its form is formUnknown if there is none. If
// a part has no direct form, other parts can still have one.
func (p directPlan) condition(e ast.Expr) direct {
	if path := p.path(e); path != nil {
		return direct{form: formTrue, operand: path}
	}
	switch e.Kind() {
	case ast.LiteralKind:
		if flag, ok := e.AsLiteral().(types.Bool); ok {
			return direct{form: formFlag, values: []scalar{{kind: item.KindBOOL, flag: bool(flag)}}}
		}
	case ast.IdentKind:
		if p.isVariable(e, "ttl") {
			return direct{form: formExpired}
		}
	case ast.SelectKind:
		if s := e.AsSelect(); s.IsTestOnly() {
			return direct{form: formPresent, operand: &valuePath{start: imageStarts[s.Operand().AsIdent()], name: s.FieldName()}}
		}
	case ast.CallKind:
		return p.call(e.AsCall())
	case ast.ComprehensionKind:
		return p.quantifier(e.AsComprehension())
	}
	return direct{}
}

// isVariable reports whether e reads the variable called name, and not a loop variable of the same name.
func (p directPlan) isVariable(e ast.Expr, name string) bool {
	return identName(e) == name && name != p.loop
}

// image returns the image that e reads as a whole. ok is false if e reads something else, such as a loop variable.
func (p directPlan) image(e ast.Expr) (image pathStart, ok bool) {
	image, ok = imageStarts[identName(e)]
	return image, ok && identName(e) != p.loop
}

// operatorOrders has the results of a comparison that make an operator true.
var operatorOrders = map[string]orders{
	operators.Less: {less: true}, operators.LessEquals: {less: true, equal: true},
	operators.Greater: {greater: true}, operators.GreaterEquals: {equal: true, greater: true},
}

// call returns the direct form of a call.
func (p directPlan) call(c ast.CallExpr) direct {
	args := c.Args()
	switch c.FunctionName() {
	case fnBool:
		return p.condition(args[0])
	case operators.LogicalAnd:
		return p.formOfParts(formEvery, args)
	case operators.LogicalOr:
		return p.formOfParts(formSome, args)
	case operators.LogicalNot:
		return p.formOfParts(formNot, args)
	case operators.Conditional:
		return p.formOfParts(formChoice, args)
	case operators.Equals:
		return p.equality(args[0], args[1])
	case operators.NotEquals:
		if d := p.equality(args[0], args[1]); d.form != formUnknown {
			return direct{form: formNot, parts: []direct{d}}
		}
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return p.order(args[0], args[1], operatorOrders[c.FunctionName()])
	case operators.In:
		return p.membership(args[0], args[1])
	case fnNull:
		if image, ok := p.image(args[0]); ok {
			return direct{form: formNoImage, images: [2]pathStart{image}}
		}
		if path := p.path(args[0]); path != nil {
			return direct{form: formNull, operand: path}
		}
	case fnHas:
		path, name := p.path(args[0]), literalValues(args[1])
		if path != nil && name != nil {
			return direct{form: formPresentIn, operand: path, values: name}
		}
	case "startsWith":
		return p.textForm(c, strings.HasPrefix)
	case "endsWith":
		return p.textForm(c, strings.HasSuffix)
	case "contains":
		return p.textForm(c, strings.Contains)
	case "matches":
		return p.matchForm(c)
	}
	return direct{}
}

// matchForm returns the form of text.matches(pattern).
func (p directPlan) matchForm(c ast.CallExpr) direct {
	pattern, ok := textLiteral(c.Args()[0])
	if !ok {
		return direct{}
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return direct{}
	}
	return p.textForm(c, func(s, _ string) bool { return compiled.MatchString(s) })
}

// formOfParts returns the form of several parts, if at least one of them has a direct form.
func (p directPlan) formOfParts(f form, args []ast.Expr) direct {
	isAssociative := f == formEvery || f == formSome
	d := direct{}
	for _, arg := range args {
		part := p.condition(arg)
		if part.form != formUnknown {
			d.form = f
		}
		if isAssociative && part.form == f {
			d.parts = append(d.parts, part.parts...)
		} else {
			d.parts = append(d.parts, part)
		}
	}
	return d
}

// equality returns the form of a == b.
func (p directPlan) equality(a, b ast.Expr) direct {
	if a.Kind() == ast.LiteralKind {
		a, b = b, a
	}
	aImage, aIsImage := p.image(a)
	bImage, bIsImage := p.image(b)
	if aIsImage && bIsImage {
		return direct{form: formSameImages, images: [2]pathStart{aImage, bImage}}
	}
	if d := p.timeOrSize(a, b, orders{equal: true}); d.form != formUnknown {
		return d
	}
	values := literalValues(b)
	if p.isVariable(a, "op") {
		return operationIn(values)
	}
	path, other := p.path(a), p.path(b)
	switch {
	case path != nil && values != nil:
		return direct{form: formOneOf, operand: path, values: values}
	case path != nil && other != nil:
		return direct{form: formSame, operand: path, other: other}
	}
	return direct{}
}

// order returns the form of a comparison such as a < b.
func (p directPlan) order(a, b ast.Expr, accepts orders) direct {
	if a.Kind() == ast.LiteralKind {
		a, b = b, a
		accepts.less, accepts.greater = accepts.greater, accepts.less
	}
	if d := p.timeOrSize(a, b, accepts); d.form != formUnknown {
		return d
	}
	d := p.binary(formOrder, a, b)
	d.accepts = accepts
	return d
}

// binary returns a form with two operands. a must be a path, and b must be a path or a literal.
func (p directPlan) binary(f form, a, b ast.Expr) direct {
	path, values, otherPath := p.path(a), literalValues(b), p.path(b)
	hasOther := values != nil || otherPath != nil
	if path == nil || !hasOther {
		return direct{}
	}
	return direct{form: f, operand: path, other: otherPath, values: values}
}

// timeOrSize returns the form of a comparison in which a is the time or a size.
func (p directPlan) timeOrSize(a, b ast.Expr, accepts orders) direct {
	if p.isVariable(a, "time") {
		return timeOrder(b, accepts)
	}
	if a.Kind() != ast.CallKind || a.AsCall().FunctionName() != "size" {
		return direct{}
	}
	size := a.AsCall()
	sized := size.Target()
	if !size.IsMemberFunction() {
		sized = size.Args()[0]
	}
	path, values := p.path(sized), literalValues(b)
	isNumber := values != nil && values[0].kind == item.KindN
	if path == nil || !isNumber {
		return direct{}
	}
	return direct{form: formSize, operand: path, values: values, accepts: accepts}
}

// timeOrder returns the form of a comparison of the time with b. b must be a call of timestamp with a literal.
func timeOrder(b ast.Expr, accepts orders) direct {
	if b.Kind() != ast.CallKind || b.AsCall().FunctionName() != "timestamp" {
		return direct{}
	}
	arg := b.AsCall().Args()[0]
	if arg.Kind() != ast.LiteralKind {
		return direct{}
	}
	t, ok := toTimestamp(arg.AsLiteral()).(types.Timestamp)
	if !ok {
		return direct{}
	}
	return direct{form: formTime, time: t.Time, accepts: accepts}
}

// membership returns the form of `a in b`.
func (p directPlan) membership(a, b ast.Expr) direct {
	if b.Kind() != ast.ListKind {
		path, values := p.path(b), literalValues(a)
		if path == nil || values == nil {
			return direct{}
		}
		return direct{form: formMember, operand: path, values: values}
	}
	values := []scalar{}
	for _, e := range b.AsList().Elements() {
		value := literalValues(e)
		if value == nil {
			return direct{}
		}
		values = append(values, value...)
	}
	if p.isVariable(a, "op") {
		return operationIn(values)
	}
	if path := p.path(a); path != nil {
		return direct{form: formOneOf, operand: path, values: values}
	}
	return direct{}
}

// operationIn returns the form of `op in texts`.
func operationIn(texts []scalar) direct {
	if texts == nil {
		return direct{}
	}
	d := direct{form: formOperation}
	for op := record.Unknown; op <= record.Snapshot; op++ {
		for _, text := range texts {
			if text.kind == item.KindS && text.text == op.String() {
				d.ops |= 1 << op
			}
		}
	}
	return d
}

// textForm returns the form of a function of two texts.
func (p directPlan) textForm(c ast.CallExpr, holds func(s, part string) bool) direct {
	d := p.binary(formText, c.Target(), c.Args()[0])
	d.text = holds
	return d
}

// quantifier returns the form of x.all(v, ...) or x.exists(v, ...). There is no such form inside another loop.
func (p directPlan) quantifier(c ast.ComprehensionExpr) direct {
	if p.loop != "" || c.HasIterVar2() || c.LoopStep().Kind() != ast.CallKind {
		return direct{}
	}
	step := c.LoopStep().AsCall()
	forms := map[string]form{operators.LogicalAnd: formEveryOf, operators.LogicalOr: formSomeOf}
	f, hasForm := forms[step.FunctionName()]
	if !hasForm {
		return direct{}
	}
	path := p.path(c.IterRange().AsCall().Args()[0]) // the rewriter wrapped the range in a call of @each
	isAllOrExists := identName(step.Args()[0]) == c.AccuVar() && identName(c.Result()) == c.AccuVar()
	if path == nil || !isAllOrExists {
		return direct{}
	}
	part := directPlan{loop: c.IterVar(), scope: p.scope}.condition(step.Args()[1])
	if part.form == formUnknown {
		return direct{}
	}
	return direct{form: f, operand: path, parts: []direct{part}}
}
