package expr

import (
	"slices"
	"strconv"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/tablewake/tablewake/pipeline/item"
)

// notePath records the path that e reads, if the path begins at an image or at the element `each`.
func (r *rewriter) notePath(e ast.Expr) {
	path, ok := r.pathOf(e)
	if !ok {
		return
	}
	location := r.location(e)
	path.Line, path.Column = max(location.Line(), 1), max(location.Column(), 0)+1
	r.reads.paths = append(r.reads.paths, path)
}

// sourceText returns the source of a path or a name, before the rewrite. It returns "" for any other expression.
func (r *rewriter) sourceText(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		if !isAccumulator(e.AsIdent()) {
			return e.AsIdent()
		}
	case ast.SelectKind:
		if operand := r.sourceText(e.AsSelect().Operand()); operand != "" && !e.AsSelect().IsTestOnly() {
			return operand + "." + e.AsSelect().FieldName()
		}
	case ast.CallKind:
		operand, key := indexOf(e.AsCall())
		if key == nil {
			return ""
		}
		text := r.sourceText(operand)
		if text == "" {
			return ""
		}
		switch key := key.(type) {
		case types.String:
			return text + "[" + strconv.Quote(string(key)) + "]"
		case types.Int:
			return text + "[" + strconv.FormatInt(int64(key), 10) + "]"
		}
	}
	return ""
}

// indexOf returns the operand and the literal key of operand[key]. The key is nil for any other call.
func indexOf(c ast.CallExpr) (operand ast.Expr, key ref.Val) {
	if c.FunctionName() != operators.Index || c.Args()[1].Kind() != ast.LiteralKind {
		return nil, nil
	}
	return c.Args()[0], c.Args()[1].AsLiteral()
}

// operands describes the operands of the expression with this id. If the expression is not a call, it is the only
// operand.
func (r *rewriter) operands(id int64) []callOperand {
	var operands []callOperand
	for _, e := range operandsOf(r.expression(id)) {
		operands = append(operands, callOperand{r.texts[e.ID()], e.Kind() == ast.LiteralKind})
	}
	return operands
}

// expression returns the expression with an id, or nil if there is none.
func (r *rewriter) expression(id int64) (found ast.Expr) {
	ast.PostOrderVisit(r.root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id && found == nil {
			found = e
		}
	}))
	return found
}

// operandsOf returns the operands of a call. The only operand of another expression is the expression itself.
func operandsOf(e ast.Expr) []ast.Expr {
	switch {
	case e == nil:
		return nil
	case e.Kind() != ast.CallKind:
		return []ast.Expr{e}
	case e.AsCall().IsMemberFunction():
		return slices.Concat([]ast.Expr{e.AsCall().Target()}, e.AsCall().Args())
	}
	return e.AsCall().Args()
}

// callOperand describes an operand of a call.
type callOperand struct {
	text    string // source of the operand if it is a path or a name; else ""
	literal bool
}

// isElement reports whether e is the element under for_each.
func (r *rewriter) isElement(e ast.Expr) bool {
	return e.Kind() == ast.IdentKind && e.AsIdent() == eachName && r.hasVariable(eachName)
}

// pathOf returns the path of an expression such as x.name, x["name"] or x[0], before the rewrite. The path has no
// position in the source. ok is false if e is not a path that begins at an image or at the element `each`.
func (r *rewriter) pathOf(e ast.Expr) (path ReadPath, ok bool) {
	if r.isImage(e) || r.isElement(e) {
		return ReadPath{Each: r.isElement(e)}, true
	}
	operand, last, ok := lastSegment(e)
	if !ok {
		return ReadPath{}, false
	}
	path, ok = r.pathOf(operand)
	path.Segments = append(path.Segments, last)
	return path, ok
}

// lastSegment splits x.name, x["name"] or x[0] into x and the last segment. ok is false for any other expression.
func lastSegment(e ast.Expr) (operand ast.Expr, last item.Segment, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().Operand(), item.Segment{Name: e.AsSelect().FieldName(), Index: -1}, true
	case ast.CallKind:
		operand, key := indexOf(e.AsCall())
		switch key := key.(type) {
		case types.String:
			return operand, item.Segment{Name: string(key), Index: -1}, true
		case types.Int:
			return operand, item.Segment{Index: int(key)}, true
		}
	}
	return nil, item.Segment{}, false
}
