package configtest

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/item"
)

// String formats v on one line as in a file of tests, with the marks that its types need, such as $SS. It returns
// "nothing" if v is absent.
func (v value) String() string {
	var marked string // the value after a mark
	switch v.kind {
	case item.Absent:
		return "nothing"
	case item.KindS:
		return scalarText(v.text)
	case item.KindN, item.KindBOOL:
		return v.text
	case item.KindNULL:
		return "null"
	case item.KindL, item.KindM:
		if !v.isMarked() {
			return v.join(", ", func(name string) string { return scalarText(name) + ": " }, value.String)
		}
		marked = v.itemJSON() // JSON is YAML
	case item.KindSS, item.KindBS:
		marked = v.join(", ", nil, func(e value) string { return scalarText(e.text) })
	case item.KindNS:
		marked = v.join(", ", nil, func(e value) string { return e.text })
	default:
		marked = scalarText(v.text)
	}
	return "{$" + v.kind.String() + ": " + marked + "}"
}

// isMarked reports whether an object would be read as a marked value, because its only name is $S, $N, ...
func (v value) isMarked() bool { return len(v.names) == 1 && marks[v.names[0]] != item.Absent }

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

// maxLine is the longest line of an element. A longer element is written on several lines.
const maxLine = 120

// block formats v as the value of a key in a block mapping with that indentation. The result is either a value on the
// line of the key, such as " []", or several lines. Several lines begin with a line feed.
func (v value) block(indent int) string {
	if v.kind != item.KindL && v.kind != item.KindM || len(v.elems) == 0 || v.isMarked() {
		return " " + v.String()
	}
	var b strings.Builder
	margin := "\n" + strings.Repeat(" ", indent+2)
	for i, e := range v.elems {
		start := margin
		if v.kind == item.KindM {
			start += scalarText(v.names[i]) + ":"
		} else {
			start += "-"
		}
		line := e.String()
		switch {
		case len(start)+len(line) <= maxLine || e.kind != item.KindM && e.kind != item.KindL:
			b.WriteString(start + " " + line)
		case v.kind == item.KindM:
			b.WriteString(start + e.block(indent+2))
		default: // "- " and the first line of the element on one line
			b.WriteString(start + " " + strings.TrimLeft(e.block(indent+2), "\n "))
		}
	}
	return b.String()
}
