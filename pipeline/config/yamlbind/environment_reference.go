package yamlbind

import (
	"regexp"
	"strings"
)

// Part is a piece of a scalar. It is text of the file, or the value of a ${NAME}.
type Part struct {
	Text    string
	Env     bool
	Default bool // the variable is not set or empty, and Text is the default in the file
}

// Identifier matches a name that needs no quotes.
var Identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reference is a ${NAME} or ${NAME:-default} of a scalar.
type reference struct {
	name, def  string
	hasDefault bool
	valid      bool // the brace is closed, and name is a valid name of a variable
}

// envProblem is the problem of a reference that cannot be read.
type envProblem struct{ message, hint string }

// expand splits a scalar at each ${NAME} and ${NAME:-default}, and reads the variables. $${ stands for the text ${. The
// default replaces a variable that is not set or is empty. problems has one problem for each reference that cannot be
// read.
func (f *File) expand(s string) (parts []Part, problems []envProblem) {
	if f.o.Getenv == nil {
		return []Part{{Text: s}}, nil
	}
	text, rest := "", s // text since the last variable, and the text that is not read yet
	for {
		before, ref, after, found := cutReference(rest)
		text += before
		if !found {
			break
		}
		rest = after
		variable, problem := f.readVariable(ref)
		if problem.message != "" {
			problems = append(problems, problem)
			continue
		}
		if text != "" {
			parts = append(parts, Part{Text: text})
			text = ""
		}
		parts = append(parts, variable)
	}
	if text != "" {
		parts = append(parts, Part{Text: text})
	}
	return parts, problems
}

// readVariable returns the value of a reference, or the problem if it cannot be read.
func (f *File) readVariable(ref reference) (Part, envProblem) {
	if !ref.valid {
		return Part{}, envProblem{"${" + ref.name + "} is not a name of an environment variable",
			"write ${NAME} or ${NAME:-default}, and $${ for the text ${"}
	}
	value, isSet := f.o.Getenv(ref.name)
	if value == "" && ref.hasDefault {
		return Part{Text: ref.def, Env: true, Default: true}, envProblem{}
	}
	if !isSet {
		return Part{}, envProblem{"the environment variable " + ref.name + " is not set",
			"set it, or give a default as in ${" + ref.name + ":-default}; where the text ${" + ref.name +
				"} is meant, write $${" + ref.name + "}"}
	}
	return Part{Text: value, Env: true}, envProblem{}
}

// cutReference cuts s at its first reference. before is the text before the reference, with each $${ replaced by ${.
// rest is the text after the reference. If s has no reference, found is false, and before has all of s.
func cutReference(s string) (before string, ref reference, rest string, found bool) {
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			return before + s, reference{}, "", false
		}
		if isEscaped := i > 0 && s[i-1] == '$'; isEscaped {
			before += s[:i-1] + "${"
			s = s[i+2:]
			continue
		}
		before += s[:i]
		inside, rest, closed := strings.Cut(s[i+2:], "}")
		ref.name, ref.def, ref.hasDefault = strings.Cut(inside, ":-")
		ref.valid = closed && Identifier.MatchString(ref.name)
		return before, ref, rest, true
	}
}

// join joins the parts to plain text. env reports whether some of the text comes from environment variables.
func join(parts []Part) (text string, env bool) {
	for _, p := range parts {
		text, env = text+p.Text, env || p.Env
	}
	return text, env
}
