package configtest

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/item"
)

// String formats v on one line as in a file of tests; "nothing" if v is absent.
func (v value) String() string {
	if v.kind == item.Absent {
		return "nothing"
	}
	return string(v.appendFlow(nil))
}

// appendFlow appends v as YAML on one line, with the marks that its types need.
func (v value) appendFlow(dst []byte) []byte {
	switch v.kind {
	case item.KindS:
		return append(dst, scalarText(v.text)...)
	case item.KindN, item.KindBOOL:
		return append(dst, v.text...)
	case item.KindNULL:
		return append(dst, "null"...)
	case item.KindM:
		if _, isMark := marks[strings.Join(v.names, "\n")]; isMark {
			return v.appendMarked(dst)
		}
		dst = append(dst, '{')
		for i, name := range v.names {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = v.elems[i].appendFlow(append(append(dst, scalarText(name)...), ": "...))
		}
		return append(dst, '}')
	case item.KindL:
		return appendList(dst, v.elems, ", ", value.appendFlow)
	}
	return v.appendMarked(dst)
}

// appendMarked appends v as {$SS: [a, b]}.
func (v value) appendMarked(dst []byte) []byte {
	dst = append(append(append(dst, "{$"...), v.kind.String()...), ": "...)
	switch v.kind {
	case item.KindM:
		dst = append(dst, v.appendMembers(nil)...) // JSON is YAML
	case item.KindSS, item.KindNS, item.KindBS:
		dst = appendList(dst, v.elems, ", ", func(e value, dst []byte) []byte {
			if e.kind == item.KindN {
				return append(dst, e.text...)
			}
			return append(dst, scalarText(e.text)...)
		})
	default:
		dst = append(dst, scalarText(v.text)...)
	}
	return append(dst, '}')
}

// plainText matches text that needs no quotes in YAML, unless oldWord matches: words of YAML 1.1 that some readers do
// not parse as text.
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

// block formats v as the value of a key in a block mapping with that indentation. The result is " []" or another value
// on the line of the key, or lines that begin with a line feed.
func (v value) block(indent int) string {
	if v.kind != item.KindL && v.kind != item.KindM || len(v.elems) == 0 {
		return " " + v.String()
	}
	if _, isMark := marks[strings.Join(v.names, "\n")]; isMark {
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
