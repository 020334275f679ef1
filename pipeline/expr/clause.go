package expr

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// Clause is what one part of an expression asks, as far as it is a plain question, for
// those who have it asked before the change gets here, as Lambda's filters can.
type Clause struct {
	Kind      ClauseKind
	Parts     []Clause // of AllOf and AnyOf, asked in no order; the one of NotOf
	Image     string   // of TextIn, TextStarts and Flag: item, old, new or keys
	Attribute string   // of the same: a top-level attribute
	Texts     []string // of TextIn, one of which the attribute is; of TextStarts, the one prefix; of OperationIn
	Flag      bool     // of FlagIs
}

// ClauseKind is the kind of a [Clause].
type ClauseKind uint8

// The kinds of clauses. An OtherClause can fail, and so can a TextStarts, of an attribute that is
// there and no S. AllOf is false where one part is, and AnyOf is true where one part is, whatever
// fails beside it.
const (
	OtherClause ClauseKind = iota
	AllOf
	AnyOf
	NotOf
	TextIn      // the attribute is an S with one of the texts
	TextStarts  // the attribute is an S that starts with the text
	FlagIs      // the attribute is a BOOL, and Flag
	OperationIn // op is one of the texts
)

// Clause is what the expression asks.
func (c *compiled) Clause() Clause { return c.clause }

// clauseOf reads a parsed expression, before it is rewritten.
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
		if c.IsMemberFunction() && len(c.Args()) == 1 {
			image, attribute, known := r.attributeOf(c.Target())
			if prefix, ok := text(c.Args()[0]); ok && known {
				return Clause{Kind: TextStarts, Image: image, Attribute: attribute, Texts: []string{prefix}}
			}
		}
	}
	return Clause{}
}

func (r *rewriter) clausesOf(kind ClauseKind, args []ast.Expr) Clause {
	c := Clause{Kind: kind}
	for _, arg := range args {
		c.Parts = append(c.Parts, r.clauseOf(arg))
	}
	return c
}

// equals is a == b, with a literal on either side.
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

// oneOf is e in a list of texts.
func (r *rewriter) oneOf(e ast.Expr, list []ast.Expr) Clause {
	c := Clause{Kind: TextIn}
	for _, of := range list {
		s, ok := text(of)
		if !ok {
			return Clause{}
		}
		c.Texts = append(c.Texts, s)
	}
	if e.Kind() == ast.IdentKind && e.AsIdent() == "op" && slices.ContainsFunc(r.names, func(n name) bool { return n.name == "op" }) {
		c.Kind = OperationIn
		return c
	}
	known := false
	if c.Image, c.Attribute, known = r.attributeOf(e); !known {
		return Clause{}
	}
	return c
}

// attributeOf reads image.name and image["name"].
func (r *rewriter) attributeOf(e ast.Expr) (image, attribute string, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		if s := e.AsSelect(); r.image(s.Operand()) && !s.IsTestOnly() {
			return s.Operand().AsIdent(), s.FieldName(), true
		}
	case ast.CallKind:
		c := e.AsCall()
		if c.FunctionName() == operators.Index && r.image(c.Args()[0]) {
			if name, ok := text(c.Args()[1]); ok {
				return c.Args()[0].AsIdent(), name, true
			}
		}
	}
	return "", "", false
}
