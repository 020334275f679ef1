package config

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// canonical is a scalar in the one way that stands for all the ways to write it.
func canonical(v *value) string {
	switch d := v.data.(type) {
	case time.Duration:
		return d.String()
	case int64:
		return strconv.FormatInt(d, 10)
	case bool:
		return strconv.FormatBool(d)
	case pipeline.Decimal:
		return d.String()
	case pipeline.Path:
		return canonicalPath(v.source)
	case pipeline.Pattern:
		return canonicalPattern(d)
	}
	switch {
	case v.rule.shape == itemExprShape, v.rule.shape == changeExprShape:
		return canonicalExpr(v.source)
	case v.rule.ref == "table":
		return tableName(v.source)
	}
	return v.source
}

// canonicalPath is Name, Address.City, ["first-name"] and Lines[0].sku, however the
// path quotes its names.
func canonicalPath(path string) string {
	p, err := pipeline.ParsePath(path)
	if err != nil {
		return path
	}
	var b strings.Builder
	for name, index := range p.Segments() {
		switch {
		case index >= 0:
			b.WriteString("[" + strconv.Itoa(index) + "]")
		case !envName.MatchString(name): // an identifier is one there too
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

func canonicalPaths(paths []string) []string {
	texts := make([]string, len(paths))
	for i, p := range paths {
		texts[i] = canonicalPath(p)
	}
	return texts
}

// canonicalPattern is without the ** at the end, which says nothing more.
func canonicalPattern(p pipeline.Pattern) string {
	if text, cut := strings.CutSuffix(p.String(), ".**"); cut {
		return canonicalPath(text)
	}
	return canonicalPath(p.String())
}

// asSet is the texts in order, each once.
func asSet(texts []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(texts))), ", ")
}

func entryNames(v *value) []string {
	names := make([]string, len(v.entries))
	for i, e := range v.entries {
		names[i] = e.name
	}
	return names
}

// filtersText is what a list of filters keeps: it does not depend on their order, nor
// on their names.
func filtersText(v *value, src Source) string {
	var texts []string
	for _, e := range v.all() {
		if len(e.all()) == 1 {
			verb := e.entries[0]
			texts = append(texts, verb.name+" "+conditionText(verb, src))
		}
	}
	return asSet(texts)
}

// conditionText is a condition of a filter.
func conditionText(v *value, src Source) string {
	if v.text() == "probable_ttl" {
		return "probable_ttl by " + src.TTLAttribute
	}
	f := form(v)
	if f == nil {
		return v.text()
	}
	var parts []string
	switch f.name {
	case "any", "all":
		for _, e := range f.all() {
			parts = append(parts, conditionText(e, src))
		}
	case "not":
		parts = []string{conditionText(f, src)}
	default:
		return f.name + " " + valueText(f)
	}
	return f.name + " (" + asSet(parts) + ")"
}

// objectText is what a mapping of known keys says.
func objectText(v *value) string {
	var parts []string
	for _, k := range v.rule.keys {
		if e := v.get(k.name); e != nil && !k.isDefault(e) {
			parts = append(parts, k.name+" "+valueText(e))
		}
	}
	return strings.Join(parts, " ")
}

// valueText is a scalar, [a, b] or {k: v}; lists and maps have no order here.
func valueText(v *value) string {
	var parts []string
	for _, e := range v.entries {
		text := valueText(e)
		if v.rule.shape == mapShape {
			text = strconv.Quote(e.name) + ": " + text
		}
		parts = append(parts, text)
	}
	switch v.rule.shape {
	case listShape:
		return "[" + asSet(parts) + "]"
	case mapShape:
		return "{" + asSet(parts) + "}"
	case textShape, scalarShape:
		return strconv.Quote(v.source)
	}
	return canonical(v)
}
