package expr

import (
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// Clause is the structure of an expression, as far as the expression consists of simple comparisons. Other software,
// such as Lambda's event filters, can evaluate a clause before the change arrives.
type Clause struct {
	Kind      ClauseKind
	Parts     []Clause // parts of AllOf and AnyOf, evaluated in any order; the only part of NotOf
	Image     string   // image that TextIn, TextStarts and FlagIs read: item, old, new or keys
	Attribute string   // top-level attribute that TextIn, TextStarts and FlagIs read
	Texts     []string // alternatives of TextIn and OperationIn; prefix of TextStarts
	Flag      bool     // value of FlagIs
}

// ClauseKind is the kind of a [Clause].
type ClauseKind uint8

// The kinds of clauses. An OtherClause is any expression of another form; its evaluation can fail. A TextStarts fails
// if the attribute exists and is not an S. AllOf is false if one part is false, and AnyOf is true if one part is true,
// even if another part fails.
const (
	OtherClause ClauseKind = iota
	AllOf
	AnyOf
	NotOf
	TextIn      // the attribute is an S with one of the texts
	TextStarts  // the attribute is an S that starts with the text
	FlagIs      // the attribute is a BOOL with the value Flag
	OperationIn // op is one of the texts
)

// Conjuncts returns clauses that are all true exactly if c is true. It splits AllOf into its parts, at any depth.
func (c Clause) Conjuncts() []Clause {
	if c.Kind != AllOf {
		return []Clause{c}
	}
	var conjuncts []Clause
	for _, part := range c.Parts {
		conjuncts = append(conjuncts, part.Conjuncts()...)
	}
	return conjuncts
}

// Clause returns the structure of the expression.
func (c *compiled) Clause() Clause { return c.clause }

// clauseOf returns the clause of a parsed expression, which must not be rewritten yet.
func (r *rewriter) clauseOf(e ast.Expr) Clause {
	if e.Kind() != ast.CallKind {
		return Clause{}
	}
	c := e.AsCall()
	switch c.FunctionName() {
	case operators.LogicalAnd:
		return r.clausesOf(AllOf, c.Args())
	case operators.LogicalOr:
		return r.clausesOf(AnyOf, c.Args())
	case operators.LogicalNot:
		return r.clausesOf(NotOf, c.Args())
	case operators.Equals:
		return r.equals(c.Args()[0], c.Args()[1])
	case operators.NotEquals:
		return Clause{Kind: NotOf, Parts: []Clause{r.equals(c.Args()[0], c.Args()[1])}}
	case operators.In:
		if list := c.Args()[1]; list.Kind() == ast.ListKind {
			return r.oneOf(c.Args()[0], list.AsList().Elements())
		}
	case "startsWith":
		return r.startsWith(c)
	}
	return Clause{}
}

// startsWith returns the clause of attribute.startsWith(text).
func (r *rewriter) startsWith(c ast.CallExpr) Clause {
	if !c.IsMemberFunction() || len(c.Args()) != 1 {
		return Clause{}
	}
	image, attribute, known := r.attributeOf(c.Target())
	prefix, isLiteral := textLiteral(c.Args()[0])
	if !known || !isLiteral {
		return Clause{}
	}
	return Clause{Kind: TextStarts, Image: image, Attribute: attribute, Texts: []string{prefix}}
}

func (r *rewriter) clausesOf(kind ClauseKind, args []ast.Expr) Clause {
	c := Clause{Kind: kind}
	for _, arg := range args {
		c.Parts = append(c.Parts, r.clauseOf(arg))
	}
	return c
}

// equals returns the clause of a == b. The literal may be on either side.
func (r *rewriter) equals(a, b ast.Expr) Clause {
	if a.Kind() == ast.LiteralKind {
		a, b = b, a
	}
	if b.Kind() != ast.LiteralKind {
		return Clause{}
	}
	if flag, ok := b.AsLiteral().(types.Bool); ok {
		if image, attribute, known := r.attributeOf(a); known {
			return Clause{Kind: FlagIs, Image: image, Attribute: attribute, Flag: bool(flag)}
		}
	}
	return r.oneOf(a, []ast.Expr{b})
}

// oneOf returns the clause of `e in list`. It returns an OtherClause if e is neither an attribute nor op, or if the
// list has other elements than texts.
func (r *rewriter) oneOf(e ast.Expr, list []ast.Expr) Clause {
	c := Clause{Kind: TextIn}
	for _, element := range list {
		s, ok := textLiteral(element)
		if !ok {
			return Clause{}
		}
		c.Texts = append(c.Texts, s)
	}
	if e.Kind() == ast.IdentKind && e.AsIdent() == "op" && r.hasVariable("op") {
		c.Kind = OperationIn
		return c
	}
	known := false
	if c.Image, c.Attribute, known = r.attributeOf(e); !known {
		return Clause{}
	}
	return c
}

// attributeOf returns the image and the attribute of image.name or image["name"]. ok is false for any other expression.
func (r *rewriter) attributeOf(e ast.Expr) (image, attribute string, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		if s := e.AsSelect(); r.isImage(s.Operand()) && !s.IsTestOnly() {
			return s.Operand().AsIdent(), s.FieldName(), true
		}
	case ast.CallKind:
		c := e.AsCall()
		if c.FunctionName() == operators.Index && r.isImage(c.Args()[0]) {
			if name, ok := textLiteral(c.Args()[1]); ok {
				return c.Args()[0].AsIdent(), name, true
			}
		}
	}
	return "", "", false
}
