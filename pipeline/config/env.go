package config

import (
	"regexp"
	"strings"
)

// part is a piece of a scalar: text of the file, or the value of ${NAME}.
type part struct {
	text string
	env  bool
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand splits a scalar at its ${NAME} and ${NAME:-default} and looks them up; $${
// is the text ${. A variable that is not set, or empty, is its default where it has one.
// bad explains what cannot be expanded, with a hint.
func expand(s string, getenv func(string) (string, bool)) (parts []part, bad [][2]string) {
	var text strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			break
		}
		if i > 0 && s[i-1] == '$' {
			text.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		text.WriteString(s[:i])
		inside, rest, closed := strings.Cut(s[i+2:], "}")
		name, def, hasDefault := strings.Cut(inside, ":-")
		if !closed || !envName.MatchString(name) {
			if !closed {
				rest = ""
			}
			bad = append(bad, [2]string{"${" + name + "} is no name of an environment variable", "write ${NAME} or ${NAME:-default}, and $${ for the text ${"})
			s = rest
			continue
		}
		s = rest
		value, set := getenv(name)
		switch {
		case value == "" && hasDefault:
			value = def
		case !set:
			bad = append(bad, [2]string{"the environment variable " + name + " is not set", "set it, or give a default as in ${" + name + ":-default}; where the text ${" + name + "} is meant, write $${" + name + "}"})
			continue
		}
		if text.Len() > 0 {
			parts = append(parts, part{text: text.String()})
			text.Reset()
		}
		parts = append(parts, part{text: value, env: true})
	}
	text.WriteString(s)
	if text.Len() > 0 {
		parts = append(parts, part{text: text.String()})
	}
	return parts, bad
}

// join is the parts as plain text, and whether the environment gave some of it.
func join(parts []part) (text string, env bool) {
	for _, p := range parts {
		text, env = text+p.text, env || p.env
	}
	return text, env
}

// joinTemplate is the parts as the source of a template in which what the
// environment gave is literal text, also within the argument of a function.
func joinTemplate(parts []part) (src, bad string) {
	var b strings.Builder
	inside, argument := false, false // of a placeholder; of a function's argument in it
	var quote byte                   // within ["..."] of a path
	for _, p := range parts {
		if p.env {
			switch {
			case !inside:
				b.WriteString(strings.NewReplacer("{", "{{", "}", "}}").Replace(p.text))
			case argument:
				b.WriteString(strings.NewReplacer(`\`, `\\`, "|", `\|`, "}", `\}`, ":", `\:`).Replace(p.text))
			default:
				return "", "${...} stands within a placeholder, and the environment gives text only"
			}
			continue
		}
		for i := 0; i < len(p.text); i++ {
			ch := p.text[i]
			b.WriteByte(ch)
			switch {
			case !inside && ch == '{':
				if i+1 < len(p.text) && p.text[i+1] == '{' {
					b.WriteByte('{')
					i++
				} else {
					inside, argument = true, false
				}
			case !inside:
			case ch == '\\' && i+1 < len(p.text):
				i++
				b.WriteByte(p.text[i])
			case quote != 0:
				if ch == quote {
					quote = 0
				}
			case ch == '"' && !argument && i > 0 && p.text[i-1] == '[':
				quote = ch
			case ch == '|':
				argument = false
			case ch == ':':
				argument = true
			case ch == '}':
				inside = false
			}
		}
	}
	return b.String(), ""
}

// joinExpr is the parts as the source of an expression in which what the
// environment gave is text: within a string literal a part of it, elsewhere a
// string literal.
func joinExpr(parts []part) (src, bad string) {
	var b strings.Builder
	var quote byte
	raw := false
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	for _, p := range parts {
		if p.env {
			switch {
			case quote == 0:
				b.WriteString(`"` + escape.Replace(p.text) + `"`)
			case raw:
				return "", "${...} stands within a raw string literal"
			default:
				b.WriteString(escape.Replace(p.text))
			}
			continue
		}
		for i := 0; i < len(p.text); i++ {
			ch := p.text[i]
			b.WriteByte(ch)
			switch {
			case quote == 0 && (ch == '"' || ch == '\''):
				quote, raw = ch, i > 0 && (p.text[i-1] == 'r' || p.text[i-1] == 'R') || strings.HasPrefix(p.text[i+1:], string([]byte{ch, ch}))
			case quote != 0 && ch == '\\' && !raw && i+1 < len(p.text):
				i++
				b.WriteByte(p.text[i])
			case ch == quote:
				quote = 0
			}
		}
	}
	return b.String(), ""
}
