package yamlbind

import (
	"regexp"
	"strings"
)

// Part is a piece of a scalar: text of the file, or the value of ${NAME}.
type Part struct {
	Text    string
	Env     bool
	Default bool // the variable is not set, and the file has a default
}

// Identifier is the form of a name that needs no quotes.
var Identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand splits a scalar at each ${NAME} and ${NAME:-default}, and reads the variables; $${ is the text ${. The default
// replaces a variable that is not set, or is empty. bad has a message and a hint for each that cannot be read.
func (f *File) expand(s string) (parts []Part, bad [][2]string) {
	if f.o.Getenv == nil {
		return []Part{{Text: s}}, nil
	}
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
		if !closed || !Identifier.MatchString(name) {
			if !closed {
				rest = ""
			}
			bad = append(bad, [2]string{"${" + name + "} is no name of an environment variable", "write ${NAME} or ${NAME:-default}, and $${ for the text ${"})
			s = rest
			continue
		}
		s = rest
		value, set := f.o.Getenv(name)
		byDefault := value == "" && hasDefault
		switch {
		case byDefault:
			value = def
		case !set:
			bad = append(bad, [2]string{"the environment variable " + name + " is not set", "set it, or give a default as in ${" + name + ":-default}; where the text ${" + name + "} is meant, write $${" + name + "}"})
			continue
		}
		if text.Len() > 0 {
			parts = append(parts, Part{Text: text.String()})
			text.Reset()
		}
		parts = append(parts, Part{Text: value, Env: true, Default: byDefault})
	}
	text.WriteString(s)
	if text.Len() > 0 {
		parts = append(parts, Part{Text: text.String()})
	}
	return parts, bad
}

// join returns the parts as plain text, and whether the environment gave some of it.
func join(parts []Part) (text string, env bool) {
	for _, p := range parts {
		text, env = text+p.Text, env || p.Env
	}
	return text, env
}
