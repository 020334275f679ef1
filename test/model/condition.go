package model

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// Condition is a CEL expression over one image.
type Condition struct {
	Op     string   // ==, !=, <, >, in, and, or, not
	Path   []string // of a comparison
	Texts  []string // of == != in: texts
	Number string   // of == != < >: a number instead of a text
	Null   bool     // of == !=: null instead of either
	Bound  *Binding // of a comparison: a name instead of Path
	Of     *Scope   // of "of", which no file has: the item is of these entities, and meets Inner if there is one
	Inner  []Condition
}

// CEL writes the expression. image is the variable: item, old or new.
func (c Condition) CEL(image string) string {
	left := image + "." + strings.Join(c.Path, ".")
	if c.Bound != nil {
		left = c.Bound.Name
	}
	switch c.Op {
	case "and", "or":
		var parts []string
		for _, in := range c.Inner {
			parts = append(parts, in.CEL(image))
		}
		return "(" + strings.Join(parts, map[string]string{"and": " && ", "or": " || "}[c.Op]) + ")"
	case "not":
		return "!(" + c.Inner[0].CEL(image) + ")"
	case "in":
		return fmt.Sprintf("%s in [%s]", left, strings.Join(quoted(c.Texts), ", "))
	}
	right := c.Number
	switch {
	case c.Null:
		right = "null"
	case right == "":
		right = quoted(c.Texts)[0]
	}
	return left + " " + c.Op + " " + right
}

func quoted(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, fmt.Sprintf("%q", t))
	}
	return out
}

// eval evaluates the condition on an image. The attributes of a nil image are null. It returns found for yes and
// missing for no.
func (c Condition) eval(it sinktest.Item) verdict {
	switch c.Op {
	case "and":
		return c.combine(it, missing)
	case "or":
		return c.combine(it, found)
	case "not":
		return not(c.Inner[0].eval(it))
	case "of":
		if is := c.Of.has(it); is != found || c.Inner == nil {
			return is
		}
		return c.Inner[0].eval(it)
	}
	v := at(it, c.Path)
	if c.Bound != nil {
		v = c.Bound.value(it)
	}
	null := tag(v) == "" || tag(v) == "NULL"
	switch c.Op {
	case "<", ">":
		if null {
			return missing
		}
		if tag(v) != "N" {
			return failed
		}
		order := number(v).Cmp(rat(c.Number))
		return yes(c.Op == "<" && order < 0 || c.Op == ">" && order > 0)
	case "in":
		s, isText := v["S"].(string)
		return yes(isText && slices.Contains(c.Texts, s))
	}
	equal := false
	switch {
	case c.Null:
		equal = null
	case c.Number != "":
		equal = tag(v) == "N" && number(v).Cmp(rat(c.Number)) == 0
	default:
		s, isText := v["S"].(string)
		equal = isText && s == c.Texts[0]
	}
	return yes(equal == (c.Op == "=="))
}

// combine evaluates `and` and `or`. One side that decides is enough, and hides an error of the other side.
func (c Condition) combine(it sinktest.Item, decides verdict) verdict {
	out := not(decides)
	for _, in := range c.Inner {
		switch v := in.eval(it); v {
		case decides:
			return v
		case failed:
			out = failed
		}
	}
	return out
}

func yes(is bool) verdict {
	if is {
		return found
	}
	return missing
}

func not(v verdict) verdict {
	switch v {
	case found:
		return missing
	case missing:
		return found
	}
	return failed
}

func rat(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("no number: " + text)
	}
	return r
}
