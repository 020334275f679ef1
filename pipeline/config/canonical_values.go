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

// canonicalScalar returns a scalar in canonical form. Equal values have equal canonical forms, even if the file spells
// them differently.
func canonicalScalar(v *value) string {
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

// canonicalPath returns a path in canonical form, such as Address.City, ["first-name"] or Lines[0].sku.
func canonicalPath(path string) string {
	p, err := item.ParsePath(path)
	if err != nil {
		return path
	}
	var b []byte
	for _, seg := range p.Segments() {
		b = seg.AppendTo(b)
	}
	return string(b)
}

// textsOf returns the text of each element of a list.
func textsOf[T any](list []T, text func(T) string) []string {
	all := make([]string, len(list))
	for i, element := range list {
		all[i] = text(element)
	}
	return all
}

// canonicalPattern returns a pattern in canonical form. It leaves out ** at the end, which has no effect.
func canonicalPattern(p item.Pattern) string {
	if text, cut := strings.CutSuffix(p.String(), ".**"); cut {
		return canonicalPath(text)
	}
	return canonicalPath(p.String())
}

// joinSet joins the distinct texts in sorted order.
func joinSet(texts []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(texts))), ", ")
}

// canonicalFilters returns filters in canonical form. The form depends neither on their order nor on their names.
func (c *checker) canonicalFilters(fs []Filter) string {
	var conditions []string
	for _, f := range fs {
		conditions = append(conditions, f.action.Name+" "+c.canonicalCondition(f.action))
	}
	return joinSet(conditions)
}

// canonicalCondition returns a condition in canonical form. v is a condition, or the drop or keep of a filter.
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

// canonicalValue returns any value in canonical form. A list becomes [a, b], a map becomes {name: v}, and an object
// becomes "key v" for each of its keys. Lists and maps are sorted. Keys of an object that have their default are left
// out.
func canonicalValue(v *value) string {
	_, isText := v.Data.(string)
	switch {
	case v.Rule.Shape == yamlbind.ObjectShape:
		var parts []string
		for _, k := range v.Rule.Keys {
			if e := v.Get(k.Name); e != nil && !isDefault(k, e) {
				parts = append(parts, k.Name+" "+canonicalValue(e))
			}
		}
		return strings.Join(parts, " ")
	case v.Rule.Shape == yamlbind.ListShape:
		return "[" + joinSet(textsOf(v.Entries, canonicalValue)) + "]"
	case v.Rule.Shape == yamlbind.MapShape:
		member := func(e *value) string { return strconv.Quote(e.Name) + ": " + canonicalValue(e) }
		return "{" + joinSet(textsOf(v.Entries, member)) + "}"
	case isText && v.Rule.Words == nil:
		return strconv.Quote(v.Source)
	}
	return canonicalScalar(v)
}
