package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/item"
)

// canonical is a scalar in the one way that stands for all the ways to write it.
func canonical(v *value) string {
	switch d := v.Data.(type) {
	case Table:
		return d.Name
	case item.Path:
		return canonicalPath(v.Source)
	case item.Pattern:
		return canonicalPattern(d)
	case *expr.Item, *expr.Change:
		return canonicalExpr(v.Source)
	case time.Duration, int64, bool, decimal.Decimal:
		return fmt.Sprint(d)
	}
	return v.Source
}

// canonicalPath is Name, Address.City, ["first-name"] and Lines[0].sku, however the
// path quotes its names.
func canonicalPath(path string) string {
	p, err := item.ParsePath(path)
	if err != nil {
		return path
	}
	var b strings.Builder
	for name, index := range p.Segments() {
		switch {
		case index >= 0:
			b.WriteString("[" + strconv.Itoa(index) + "]")
		case !yamlbind.Identifier.MatchString(name): // an identifier is one there too
			b.WriteString("[" + strconv.Quote(name) + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(name)
		}
	}
	return b.String()
}

// texts are what text says of each.
func texts[T any](of []T, text func(T) string) []string {
	all := make([]string, len(of))
	for i, one := range of {
		all[i] = text(one)
	}
	return all
}

// canonicalPattern is without the ** at the end, which says nothing more.
func canonicalPattern(p item.Pattern) string {
	if text, cut := strings.CutSuffix(p.String(), ".**"); cut {
		return canonicalPath(text)
	}
	return canonicalPath(p.String())
}

// joinSet is the texts in order, each once.
func joinSet(texts []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(texts))), ", ")
}

// canonicalFilters is what a list of filters keeps: it does not depend on their order, nor
// on their names.
func (c *checker) canonicalFilters(fs []Filter) string {
	var texts []string
	for _, f := range fs {
		texts = append(texts, f.action.Name+" "+c.canonicalCondition(f.action))
	}
	return joinSet(texts)
}

// canonicalCondition is a condition of a filter.
func (c *checker) canonicalCondition(v *value) string {
	if v.Text() == "probable_ttl" {
		return "probable_ttl by " + c.cfg.Source.TTLAttribute
	}
	f := conditionKey(v)
	if f == nil {
		return v.Text()
	}
	var parts []string
	switch f.Name {
	case "any", "all":
		for _, e := range f.All() {
			parts = append(parts, c.canonicalCondition(e))
		}
	case "not":
		parts = []string{c.canonicalCondition(f)}
	default:
		return f.Name + " " + canonicalValue(f)
	}
	return f.Name + " (" + joinSet(parts) + ")"
}

// canonicalValue is a scalar, [a, b], {k: v} or, of a mapping of known keys, k v; lists and maps have no order here.
func canonicalValue(v *value) string {
	var parts []string
	if v.Rule.Shape == yamlbind.ObjectShape {
		for _, k := range v.Rule.Keys {
			if e := v.Get(k.Name); e != nil && !isDefault(k, e) {
				parts = append(parts, k.Name+" "+canonicalValue(e))
			}
		}
		return strings.Join(parts, " ")
	}
	for _, e := range v.Entries {
		text := canonicalValue(e)
		if v.Rule.Shape == yamlbind.MapShape {
			text = strconv.Quote(e.Name) + ": " + text
		}
		parts = append(parts, text)
	}
	_, isText := v.Data.(string)
	switch {
	case v.Rule.Shape == yamlbind.ListShape:
		return "[" + joinSet(parts) + "]"
	case v.Rule.Shape == yamlbind.MapShape:
		return "{" + joinSet(parts) + "}"
	case isText && v.Rule.Words == nil:
		return strconv.Quote(v.Source)
	}
	return canonical(v)
}
