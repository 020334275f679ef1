package config

import (
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

// templateSource joins the parts of a template. It escapes the values of environment variables, so that they are
// literal text. problem is not "" if such a value is inside a placeholder, but not in the argument of a function.
func templateSource(parts []yamlbind.Part) (src, problem string) {
	var b strings.Builder
	inPlaceholder, inArgument := false, false // where the position is
	var quote byte                            // quote of the ["..."] that the position is in; 0 if it is in none
	for _, p := range parts {
		if p.Env {
			switch {
			case !inPlaceholder:
				b.WriteString(strings.NewReplacer("{", "{{", "}", "}}").Replace(p.Text))
			case inArgument:
				b.WriteString(strings.NewReplacer(`\`, `\\`, "|", `\|`, "}", `\}`, ":", `\:`).Replace(p.Text))
			default:
				return "", "${...} stands within a placeholder, and the environment gives text only"
			}
			continue
		}
		for i := 0; i < len(p.Text); i++ {
			ch := p.Text[i]
			b.WriteByte(ch)
			switch {
			case !inPlaceholder && ch == '{':
				if i+1 < len(p.Text) && p.Text[i+1] == '{' {
					b.WriteByte('{')
					i++
				} else {
					inPlaceholder, inArgument = true, false
				}
			case !inPlaceholder:
			case ch == '\\' && i+1 < len(p.Text):
				i++
				b.WriteByte(p.Text[i])
			case quote != 0:
				if ch == quote {
					quote = 0
				}
			case ch == '"' && !inArgument && i > 0 && p.Text[i-1] == '[':
				quote = ch
			case ch == '|':
				inArgument = false
			case ch == ':':
				inArgument = true
			case ch == '}':
				inPlaceholder = false
			}
		}
	}
	return b.String(), ""
}

// expressionSource joins the parts of an expression. The values of environment variables are text. Inside a string
// literal, a value becomes a part of the literal. Elsewhere it becomes a string literal of its own. problem is not ""
// if a value is inside a raw string literal.
func expressionSource(parts []yamlbind.Part) (src, problem string) {
	var b strings.Builder
	var quote byte // quote of the string literal that the position is in; 0 if it is in none
	raw := false
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	for _, p := range parts {
		if p.Env {
			switch {
			case quote == 0:
				b.WriteString(`"` + escape.Replace(p.Text) + `"`)
			case raw:
				return "", "${...} stands within a raw string literal"
			default:
				b.WriteString(escape.Replace(p.Text))
			}
			continue
		}
		for i := 0; i < len(p.Text); i++ {
			ch := p.Text[i]
			b.WriteByte(ch)
			switch {
			case quote == 0 && (ch == '"' || ch == '\''):
				quote, raw = ch, i > 0 && (p.Text[i-1] == 'r' || p.Text[i-1] == 'R') ||
					strings.HasPrefix(p.Text[i+1:], string([]byte{ch, ch}))
			case quote != 0 && ch == '\\' && !raw && i+1 < len(p.Text):
				i++
				b.WriteByte(p.Text[i])
			case ch == quote:
				quote = 0
			}
		}
	}
	return b.String(), ""
}
