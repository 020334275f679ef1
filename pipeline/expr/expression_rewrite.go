package expr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/tablewake/tablewake/pipeline/internal/nearest"
	"github.com/tablewake/tablewake/pipeline/record"
)

// rewriter changes a parsed expression so that CEL's evaluation keeps the guarantees of this package. Number literals
// become exact numbers, and lookups and loops accept null. The rewriter also refuses mistakes that CEL cannot find, and
// records the names and paths that the expression reads.
type rewriter struct {
	src    []rune
	info   *ast.SourceInfo
	root   ast.Expr
	make   ast.ExprFactory
	nextID int64
	names  []variable
	reads  reads
	texts  map[int64]string // source of paths and names, by the id of the expression
}

func newRewriter(src string, a *ast.AST, names []variable) *rewriter {
	return &rewriter{
		src: []rune(src), info: a.SourceInfo(), root: a.Expr(), make: ast.NewExprFactory(), nextID: ast.MaxID(a),
		names: names, reads: reads{names: make(map[string]bool)}, texts: make(map[int64]string),
	}
}

func (r *rewriter) location(e ast.Expr) common.Location { return r.info.GetStartLocation(e.ID()) }

// rewriteCondition rewrites an expression that must be a bool. It adds a run-time check if CEL's checker may not know
// the type of the expression.
func (r *rewriter) rewriteCondition(e ast.Expr) *Error {
	if err := r.rewriteValue(e); err != nil {
		return err
	}
	if mayBeOtherType(e) {
		r.wrapInCall(e, fnBool)
	}
	return nil
}

// mayBeOtherType reports whether the value of a rewritten condition may be no bool, although CEL's checker accepts the
// condition.
func mayBeOtherType(e ast.Expr) bool {
	switch e.Kind() {
	case ast.SelectKind:
		return !e.AsSelect().IsTestOnly()
	case ast.IdentKind:
		return !isAccumulator(e.AsIdent())
	case ast.CallKind:
		return slices.Contains([]string{fnGet, operators.Conditional}, e.AsCall().FunctionName())
	}
	return false
}

// isAccumulator reports whether a name is the accumulator of a loop, a variable that CEL's macros add.
func isAccumulator(ident string) bool { return strings.HasPrefix(ident, "@") }

// wrapInCall replaces e by a call of function with e as its argument.
func (r *rewriter) wrapInCall(e ast.Expr, function string) {
	e.SetKindCase(r.make.NewCall(e.ID(), function, r.move(e)))
}

// move returns a copy of e with a new id, so that e can be replaced.
func (r *rewriter) move(e ast.Expr) ast.Expr {
	id := r.id(e)
	moved := r.make.NewUnspecifiedExpr(id)
	moved.SetKindCase(e)
	if text, ok := r.texts[e.ID()]; ok {
		r.texts[id] = text
	}
	return moved
}

// id returns a new id that has the same position in the source as e.
func (r *rewriter) id(e ast.Expr) int64 {
	r.nextID++
	if place, ok := r.info.GetOffsetRange(e.ID()); ok {
		r.info.SetOffsetRange(r.nextID, place)
	}
	return r.nextID
}

// rewriteValue rewrites an expression of any type.
func (r *rewriter) rewriteValue(e ast.Expr) *Error {
	if text := r.sourceText(e); text != "" {
		r.texts[e.ID()] = text
	}
	switch e.Kind() {
	case ast.LiteralKind:
		return r.rewriteLiteral(e)
	case ast.IdentKind:
		return r.checkIdent(e)
	case ast.SelectKind:
		return r.rewriteSelection(e)
	case ast.CallKind:
		return r.rewriteCall(e)
	case ast.ListKind:
		return r.rewriteValues(e.AsList().Elements()...)
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			if err := r.rewriteValues(entry.AsMapEntry().Key(), entry.AsMapEntry().Value()); err != nil {
				return err
			}
		}
		return nil
	case ast.ComprehensionKind:
		return r.rewriteComprehension(e)
	default:
		return errorAt(r.location(e), "", "this makes a message, and there are none here")
	}
}

func (r *rewriter) rewriteValues(es ...ast.Expr) *Error {
	for _, e := range es {
		if err := r.rewriteValue(e); err != nil {
			return err
		}
	}
	return nil
}

// checkIdent refuses an image as a whole, which can only be compared (see rewriteComparison). It records any other
// variable that e reads.
func (r *rewriter) checkIdent(e ast.Expr) *Error {
	if r.isImage(e) {
		text := e.AsIdent()
		return errorAt(r.location(e), "read an attribute, as in "+text+".Status, or compare it with null or with another image",
			"%s is an image as a whole", text)
	}
	r.reads.names[e.AsIdent()] = true
	return nil
}

// isImage reports whether e names an image.
func (r *rewriter) isImage(e ast.Expr) bool {
	return e.Kind() == ast.IdentKind && slices.ContainsFunc(r.names,
		func(n variable) bool { return n.name == e.AsIdent() && n.t == imageType })
}

// hasVariable reports whether the expression can read the variable called name.
func (r *rewriter) hasVariable(name string) bool {
	return slices.ContainsFunc(r.names, func(n variable) bool { return n.name == name })
}

// rewriteSelection rewrites x.name and has(x.name). If x is an image, both stay, because the name is an attribute.
// Otherwise they become lookups that are safe for null.
func (r *rewriter) rewriteSelection(e ast.Expr) *Error {
	s := e.AsSelect()
	r.notePath(e)
	if r.isImage(s.Operand()) {
		r.reads.names[s.Operand().AsIdent()] = true
		r.reads.addAttribute(s.FieldName())
		return nil
	}
	if err := r.rewriteValue(s.Operand()); err != nil {
		return err
	}
	function := fnGet
	if s.IsTestOnly() {
		function = fnHas
	}
	name := r.make.NewLiteral(r.id(e), types.String(s.FieldName()))
	e.SetKindCase(r.make.NewCall(e.ID(), function, s.Operand(), name))
	return nil
}

// rewriteIndex rewrites x[y] like x.name.
func (r *rewriter) rewriteIndex(e ast.Expr) *Error {
	args := e.AsCall().Args()
	if !r.isImage(args[0]) {
		r.notePath(e)
		if err := r.rewriteValues(args...); err != nil {
			return err
		}
		e.SetKindCase(r.make.NewCall(e.ID(), fnGet, args...))
		return nil
	}
	name, ok := textLiteral(args[1])
	if !ok {
		return errorAt(r.location(args[1]), `as in item["first-name"]`, "the name of an attribute must be a text in quotes")
	}
	e.SetKindCase(r.make.NewSelect(e.ID(), args[0], name))
	return r.rewriteSelection(e)
}

func (r *rewriter) rewriteCall(e ast.Expr) *Error {
	c := e.AsCall()
	if c.IsMemberFunction() {
		if err := r.rewriteValue(c.Target()); err != nil {
			return err
		}
	}
	if err := r.checkConstants(c); err != nil {
		return err
	}
	switch c.FunctionName() {
	case operators.Index:
		return r.rewriteIndex(e)
	case operators.Equals, operators.NotEquals:
		return r.rewriteComparison(e)
	case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot:
		for _, arg := range c.Args() {
			if err := r.rewriteCondition(arg); err != nil {
				return err
			}
		}
		return nil
	case operators.Conditional:
		if err := r.rewriteCondition(c.Args()[0]); err != nil {
			return err
		}
		return r.rewriteValues(c.Args()[1:]...)
	case "number":
		if len(c.Args()) == 1 && !c.IsMemberFunction() {
			if n, ok := textLiteral(c.Args()[0]); ok {
				return r.replaceByNumber(e, r.location(c.Args()[0]), n)
			}
		}
	}
	return r.rewriteValues(c.Args()...)
}

// checkConstants refuses constant arguments that the called function does not accept.
func (r *rewriter) checkConstants(c ast.CallExpr) *Error {
	switch c.FunctionName() {
	case operators.In:
		return r.checkOperation(c.Args()[0], c.Args()[1])
	case "timestamp", "duration":
		return r.checkConstant(c)
	case "matches":
		return r.checkPattern(c)
	}
	return nil
}

// rewriteComparison rewrites == and !=. Null can be compared with any type. A list or map in brackets moves to the
// right: CEL calls Equal of the left value, and only the Equal of an attribute knows sets.
func (r *rewriter) rewriteComparison(e ast.Expr) *Error {
	c := e.AsCall()
	a, b := c.Args()[0], c.Args()[1]
	if err := cmp.Or(r.checkOperation(a, b), r.checkOperation(b, a)); err != nil {
		return err
	}
	comparesWholeImages := r.isImage(a) && r.isImage(b)
	testsImage := r.isImage(a) && isNullLiteral(b) || isNullLiteral(a) && r.isImage(b)
	if comparesWholeImages {
		r.reads.addAttribute("*")
	}
	for _, side := range c.Args() {
		if (comparesWholeImages || testsImage) && r.isImage(side) {
			r.reads.names[side.AsIdent()] = true
			continue
		}
		if err := r.rewriteValue(side); err != nil {
			return err
		}
	}
	switch {
	case isNullLiteral(b):
		r.replaceByNullTest(e, a)
	case isNullLiteral(a):
		r.replaceByNullTest(e, b)
	case a.Kind() == ast.ListKind || a.Kind() == ast.MapKind:
		e.SetKindCase(r.make.NewCall(e.ID(), c.FunctionName(), b, a))
	}
	return nil
}

// replaceByNullTest replaces e by a call of fnNull. e is a comparison of operand with null.
func (r *rewriter) replaceByNullTest(e, operand ast.Expr) {
	if e.AsCall().FunctionName() == operators.Equals {
		e.SetKindCase(r.make.NewCall(e.ID(), fnNull, operand))
	} else {
		e.SetKindCase(r.make.NewCall(e.ID(), operators.LogicalNot, r.make.NewCall(r.id(e), fnNull, operand)))
	}
}

func isNullLiteral(e ast.Expr) bool {
	return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.NullValue
}

// checkOperation refuses to compare op with a text that is not an operation. e is the other operand. It returns nil if
// operand is not op.
func (r *rewriter) checkOperation(operand, e ast.Expr) *Error {
	if isOp := identName(operand) == "op" && r.hasVariable("op"); !isOp {
		return nil
	}
	literals := []ast.Expr{e}
	if e.Kind() == ast.ListKind {
		literals = e.AsList().Elements()
	}
	var known []string
	for op := record.Unknown; op <= record.Snapshot; op++ {
		known = append(known, op.String())
	}
	for _, literal := range literals {
		text, ok := textLiteral(literal)
		if !ok || slices.Contains(known, text) {
			continue
		}
		hint := "an op is " + strings.Join(known, ", ")
		if near := nearest.Name(text, known); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return errorAt(r.location(literal), hint, "no op is called %q", text)
	}
	return nil
}

// rewriteComprehension rewrites the loop that CEL makes from a macro such as exists.
func (r *rewriter) rewriteComprehension(e ast.Expr) *Error {
	c := e.AsComprehension()
	if r.hasVariable(c.IterVar()) {
		return errorAt(r.location(e), "give the variable another name", "%s is the name of something else here", c.IterVar())
	}
	if err := r.rewriteValue(c.IterRange()); err != nil {
		return err
	}
	r.wrapInCall(c.IterRange(), fnEach)
	return r.rewriteValues(c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result())
}
