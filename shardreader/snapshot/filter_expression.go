package snapshot

import (
	"fmt"
	"maps"
	"strings"

	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Expression is a filter expression of DynamoDB, for a Scan or an export. The zero Expression has no filter.
type Expression struct {
	Text   string
	Names  map[string]string     // ExpressionAttributeNames
	Values map[string]item.Value // ExpressionAttributeValues
}

// Limits of an expression (Developer Guide, "Service, account, and table quotas": expression parameters).
const (
	maxExpression = 4096 // bytes of the text
	maxOperators  = 300
	maxOperands   = 100 // operands of IN
)

// Expression returns a filter expression that is true for each item that the narrowing selects, and for each item for
// which Match returns an error. It may be true for other items too, because it leaves out conditions that DynamoDB
// cannot evaluate, and conditions that would make it too long. So the caller also calls Match. The expression saves the
// transfer of items, but no read capacity.
func (n *ItemSelection) Expression() Expression {
	if n == nil {
		return Expression{}
	}
	var parts []expr.Clause
	if len(n.types) > 0 {
		parts = append(parts, n.typeClause())
	}
	if n.filter != nil {
		parts = append(parts, n.filter.Clause().Conjuncts()...)
	}
	w := &expressionWriter{expression: Expression{Names: map[string]string{}, Values: map[string]item.Value{}},
		names: map[string]string{}}
	if n.keyPrefix != nil {
		w.add(func(w *expressionWriter) string { return w.keyStarts(n.key, n.prefix) })
	}
	for _, p := range parts {
		w.add(func(w *expressionWriter) string { return w.clause(p, isTrue) })
	}
	if w.expression.Text == "" {
		return Expression{}
	}
	return w.expression
}

// typeClause returns a clause that is true for items of one of the types. There must be at least one type.
func (n *ItemSelection) typeClause() expr.Clause {
	types := expr.Clause{Kind: expr.AnyOf}
	for _, t := range n.types {
		types.Parts = append(types.Parts, expr.Clause{Kind: expr.TextIn, Attribute: t.attribute, Texts: t.names})
	}
	return types
}

// expressionWriter writes the text of an expression. The text "" is true for every item.
type expressionWriter struct {
	expression Expression
	names      map[string]string // placeholders by attribute
	operators  int
}

// add adds a part that must be true. It leaves the part out if the expression would be larger than DynamoDB allows.
func (w *expressionWriter) add(part func(w *expressionWriter) string) {
	longer := w.clone() // w must keep no placeholder of a part that is left out: DynamoDB refuses unused placeholders
	text := part(longer)
	if text == "" {
		return
	}
	if w.expression.Text != "" {
		longer.operators++
		text = w.expression.Text + " AND " + text
	}
	if len(text) > maxExpression || longer.operators > maxOperators {
		return
	}
	longer.expression.Text = text
	*w = *longer
}

// clone returns a copy of w that has maps of its own.
func (w *expressionWriter) clone() *expressionWriter {
	c := *w
	c.names = maps.Clone(w.names)
	c.expression.Names, c.expression.Values = maps.Clone(w.expression.Names), maps.Clone(w.expression.Values)
	return &c
}

// wanted is the result of a clause for which a text must be true.
type wanted bool

const (
	isTrue  wanted = true
	isFalse wanted = false
)

// clause returns a text that is true for each item for which c has the wanted result or fails. Without such a text it
// returns "" and adds no placeholders.
func (w *expressionWriter) clause(c expr.Clause, want wanted) string {
	longer := w.clone()
	text := longer.write(c, want)
	if text != "" {
		*w = *longer
	}
	return text
}

func (w *expressionWriter) write(c expr.Clause, want wanted) string {
	switch c.Kind {
	case expr.AllOf, expr.AnyOf:
		return w.joinParts(c, want)
	case expr.NotOf:
		return w.clause(c.Parts[0], !want)
	case expr.TextIn:
		return w.textIn(c, want)
	case expr.TextStarts:
		return w.textStarts(c, want)
	case expr.FlagIs:
		text := w.comparison("%s = %s", w.name(c.Attribute), w.placeholder(item.BoolValue(c.Flag)))
		if want == isFalse {
			text = w.negate(c.Attribute, text)
		}
		return text
	}
	return ""
}

// joinParts returns the text of an AllOf or an AnyOf. In CEL a part that decides the result does so even if another
// part fails. An AllOf is false if one of its parts is, so its text is then an OR.
func (w *expressionWriter) joinParts(c expr.Clause, want wanted) string {
	isAnd := c.Kind == expr.AllOf && want == isTrue || c.Kind == expr.AnyOf && want == isFalse
	var texts []string
	for _, p := range c.Parts {
		text := w.clause(p, want)
		if text == "" && !isAnd {
			return ""
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	w.operators += len(texts) - 1
	operator := " OR "
	if isAnd {
		operator = " AND "
	}
	return "(" + strings.Join(texts, operator) + ")"
}

// textIn returns a text that compares an attribute with each of the texts. It returns "" if there are too many texts,
// or if one is empty: DynamoDB cannot compare a key with an empty text.
func (w *expressionWriter) textIn(c expr.Clause, want wanted) string {
	if len(c.Texts) == 0 || len(c.Texts) > maxOperands {
		return ""
	}
	name := w.name(c.Attribute)
	var values []string
	for _, s := range c.Texts {
		if s == "" {
			return ""
		}
		values = append(values, w.placeholder(item.StringValue(s)))
	}
	text := w.comparison("%s IN (%s)", name, strings.Join(values, ", "))
	if want == isFalse {
		text = w.negate(c.Attribute, text)
	}
	return text
}

// textStarts returns a text that compares an attribute with a prefix. The text is also true for a value that is not an
// S. CEL's startsWith fails for such a value, so Match must get the item and report the failure.
func (w *expressionWriter) textStarts(c expr.Clause, want wanted) string {
	prefix := c.Texts[0]
	if prefix == "" {
		return ""
	}
	name := w.name(c.Attribute)
	text := w.comparison("begins_with(%s, %s)", name, w.placeholder(item.StringValue(prefix)))
	if want == isFalse {
		return w.negate(c.Attribute, text)
	}
	w.operators += 5 // OR, AND, NOT and two functions
	return fmt.Sprintf("(%s OR attribute_exists(%s) AND NOT attribute_type(%s, %s))", text, name, name,
		w.placeholder(item.StringValue("S")))
}

// keyStarts returns a text that compares a key attribute, an S or a B, with a prefix.
func (w *expressionWriter) keyStarts(attribute, prefix string) string {
	name := w.name(attribute)
	w.operators += 3 // OR and two functions
	return fmt.Sprintf("(begins_with(%s, %s) OR begins_with(%s, %s))", name, w.placeholder(item.StringValue(prefix)), name,
		w.placeholder(item.BinaryValue([]byte(prefix))))
}

// negate returns the opposite of text. The result is true if the attribute is absent, independent of DynamoDB's rules
// for absent attributes.
func (w *expressionWriter) negate(attribute, text string) string {
	w.operators += 3
	return fmt.Sprintf("(attribute_not_exists(%s) OR NOT %s)", w.name(attribute), text)
}

func (w *expressionWriter) comparison(format string, args ...any) string {
	w.operators++
	return fmt.Sprintf(format, args...)
}

// name returns the placeholder of an attribute.
func (w *expressionWriter) name(attribute string) string {
	if p, ok := w.names[attribute]; ok {
		return p
	}
	p := fmt.Sprintf("#n%d", len(w.names))
	w.names[attribute], w.expression.Names[p] = p, attribute
	return p
}

// placeholder returns the placeholder of a value.
func (w *expressionWriter) placeholder(v item.Value) string {
	p := fmt.Sprintf(":v%d", len(w.expression.Values))
	w.expression.Values[p] = v
	return p
}
