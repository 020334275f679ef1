package config

import (
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

// templateSource joins the parts of a template. It escapes the values of environment variables, so that they are
// literal text. Such a value may be in the text of the template or in the argument of a function. If one is elsewhere
// in a placeholder, problem says so.
func templateSource(parts []yamlbind.Part) (src, problem string) {
	var b strings.Builder
	context := inText
	for _, p := range parts {
		switch {
		case !p.Env:
			context = writeTemplate(&b, p.Text, context)
		case context == inText:
			b.WriteString(strings.NewReplacer("{", "{{", "}", "}}").Replace(p.Text))
		case context == inArgument:
			b.WriteString(strings.NewReplacer(`\`, `\\`, "|", `\|`, "}", `\}`, ":", `\:`).Replace(p.Text))
		default:
			return "", "${...} is within a placeholder, and the environment gives text only"
		}
	}
	return b.String(), ""
}

// templateContext says in which part of a template a position is.
type templateContext uint8

const (
	inText       templateContext = iota // literal text
	inPath                              // the path of a placeholder, or the name of a function
	inQuotedName                        // a name in quotes in a path, as in ["name"]
	inArgument                          // the argument of a function
)

// writeTemplate writes one part of a template's text. context is the context at the start of text. writeTemplate
// returns the context at the end of text.
func writeTemplate(b *strings.Builder, text string, context templateContext) templateContext {
	for i := 0; i < len(text); i++ {
		ch := text[i]
		b.WriteByte(ch)
		isDoubledBrace := context == inText && strings.HasPrefix(text[i:], "{{")
		isEscape := context != inText && ch == '\\' && i+1 < len(text)
		if isDoubledBrace || isEscape {
			i++
			b.WriteByte(text[i])
			continue
		}
		isAfterBracket := i > 0 && text[i-1] == '[' // text has both, because no value can stand in a path
		context = context.after(ch, isAfterBracket)
	}
	return context
}

// after returns the context after the byte ch. isAfterBracket says that ch follows a [.
func (c templateContext) after(ch byte, isAfterBracket bool) templateContext {
	switch {
	case c == inText && ch == '{', // the placeholder begins
		c == inQuotedName && ch == '"', // the name ends
		c == inArgument && ch == '|':   // the next function begins
		return inPath
	case c == inPath && ch == '"' && isAfterBracket:
		return inQuotedName
	case c == inPath && ch == ':':
		return inArgument
	case c == inPath && ch == '}', c == inArgument && ch == '}':
		return inText
	}
	return c
}

// expressionSource joins the parts of an expression. A value of the environment is text. Inside a string literal, it
// becomes a part of the literal. Elsewhere, it becomes a string literal of its own. problem is not "" if a value is
// inside a raw string literal, because nothing can be escaped there.
func expressionSource(parts []yamlbind.Part) (src, problem string) {
	var b strings.Builder
	var around stringLiteral
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	for _, p := range parts {
		switch {
		case !p.Env:
			around = writeExpression(&b, p.Text, around)
		case around.delimiter == "":
			b.WriteString(`"` + escape.Replace(p.Text) + `"`)
		case around.raw:
			return "", "${...} stands within a raw string literal"
		default:
			b.WriteString(escape.Replace(p.Text))
		}
	}
	return b.String(), ""
}

// stringLiteral is the string literal around a position of an expression.
type stringLiteral struct {
	delimiter string // one or three quotes; "" if there is no literal
	raw       bool
}

// writeExpression writes one part of an expression's text. around is the string literal at the start of text.
// writeExpression returns the string literal at the end of text.
func writeExpression(b *strings.Builder, text string, around stringLiteral) stringLiteral {
	for i := 0; i < len(text); {
		n := 1 // number of bytes to write
		isInside := around.delimiter != ""
		switch ch := text[i]; {
		case !isInside && (ch == '"' || ch == '\''):
			if strings.HasPrefix(text[i:], strings.Repeat(text[i:i+1], 3)) {
				n = 3
			}
			hasPrefixR := i > 0 && (text[i-1] == 'r' || text[i-1] == 'R')
			around = stringLiteral{text[i : i+n], hasPrefixR}
		case isInside && !around.raw && ch == '\\':
			n = min(2, len(text)-i) // an escape
		case isInside && strings.HasPrefix(text[i:], around.delimiter):
			n = len(around.delimiter)
			around = stringLiteral{}
		}
		b.WriteString(text[i : i+n])
		i += n
	}
	return around
}
