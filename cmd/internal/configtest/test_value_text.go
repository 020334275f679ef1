package configtest

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/item"
)

// valueText formats v on one line as in a file of tests, with the marks that its types need, such as $SS. It returns
// "nothing" if v is absent.
func valueText(v item.Value) string {
	switch v.Kind() {
	case item.Absent:
		return "nothing"
	case item.KindS:
		text, _ := v.Text()
		return scalarText(text)
	case item.KindN:
		return string(v.Raw())
	case item.KindBOOL, item.KindNULL:
		return string(v.AppendJSON(nil))
	case item.KindB:
		return "{$B: " + string(v.AppendJSON(nil)) + "}"
	case item.KindM:
		if !isMarked(v) {
			return join(v, scalarText, valueText)
		}
		return "{$M: " + join(v, strconv.Quote, item.Value.String) + "}" // JSON is YAML
	case item.KindL:
		return join(v, nil, valueText)
	case item.KindSS:
		return "{$SS: " + join(v, nil, valueText) + "}"
	}
	elements := join(v, nil, func(e item.Value) string { return string(e.AppendJSON(nil)) })
	return "{$" + v.Kind().String() + ": " + elements + "}"
}

// isMarked reports whether an M would be read as a marked value, because its only name is $S, $N, ...
func isMarked(v item.Value) bool {
	members := entriesOf(v)
	return members.named && len(members.list) == 1 && marks[members.list[0].name] != item.Absent
}

// join formats the entries of an M within braces, and those of an L or a set within brackets.
func join(v item.Value, name func(string) string, value func(item.Value) string) string {
	es := entriesOf(v)
	texts := make([]string, len(es.list))
	for i, e := range es.list {
		if es.named {
			texts[i] = name(e.name) + ": "
		}
		texts[i] += value(e.value)
	}
	if es.named {
		return "{" + strings.Join(texts, ", ") + "}"
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// plainText matches text that needs no quotes in YAML, unless oldWord matches it, too. oldWord matches words of YAML
// 1.1 that some readers do not parse as text.
var (
	plainText = regexp.MustCompile(`^[\pL_$](?:[\pL\pN_./$#%-]| [\pL\pN])*$`)
	oldWord   = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null)$`)
)

// scalarText formats s as a YAML scalar.
func scalarText(s string) string {
	switch {
	case plainText.MatchString(s) && !oldWord.MatchString(s):
		return s
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return strconv.QuoteToASCII(s)
	}
	return yamlbind.Quoted(s)
}

// hasBlock reports whether a value can be written on several lines.
func hasBlock(v item.Value) bool {
	return v.Kind() == item.KindL || v.Kind() == item.KindM && !isMarked(v)
}

// maxLine is the longest line of an entry. A longer entry is written on several lines.
const maxLine = 120

// block formats entries as the value of a key in a block mapping. indent is the indentation of the mapping. The result
// is either on the line of the key, such as " []", or several lines. Several lines begin with a line feed.
func (es entries) block(indent int) string {
	if len(es.list) == 0 {
		return " " + valueText(es.value())
	}
	var b strings.Builder
	margin := "\n" + strings.Repeat(" ", indent+2)
	for _, e := range es.list {
		start := margin + "-"
		if es.named {
			start = margin + scalarText(e.name) + ":"
		}
		text := " " + valueText(e.value)
		isTooLong := len(start)+len(text) > maxLine
		if isTooLong && hasBlock(e.value) {
			text = entriesOf(e.value).block(indent + 2)
			if !es.named { // the first line of the element is on the line of its dash
				text = " " + strings.TrimLeft(text, "\n ")
			}
		}
		b.WriteString(start + text)
	}
	return b.String()
}
