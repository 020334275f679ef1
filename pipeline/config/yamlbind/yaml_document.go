package yamlbind

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// document reads the only YAML document of the file. If it cannot read one, it notes a problem and returns nil.
func (f *File) document(b []byte) *yaml.Node {
	if i := invalidUTF8(b); i >= 0 {
		line := 1 + bytes.Count(b[:i], []byte("\n"))
		f.FailAt(line, 1, "", "byte "+strconv.Itoa(i)+" is not UTF-8", "save the file as UTF-8")
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		f.FailAt(1, 1, "", "the file is empty", f.o.Words.Empty)
		return nil
	case err != nil:
		f.syntax(err)
		return nil
	}
	var second yaml.Node
	switch err := dec.Decode(&second); {
	case err == nil:
		f.FailAt(second.Line, second.Column, "", "a second YAML document begins here", f.o.Words.Second)
		return nil
	case !errors.Is(err, io.EOF):
		f.syntax(err)
	}
	return doc.Content[0]
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// maxSearched is the maximum number of lines of a file in which syntax searches for the line of an error. The limit is
// needed because the search parses the file again for each line after the error.
const maxSearched = 500

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntax reports an error of the YAML parser. The parser names the line of the error roughly or not at all. So syntax
// searches for the line: it is the first line after the longest beginning of the file that is YAML.
func (f *File) syntax(err error) {
	message, line := err.Error(), 1
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		message = strings.TrimPrefix(message, m[0])
		line, _ = strconv.Atoi("0" + m[1])
		line = max(line, 1)
	}
	if f.lines == nil {
		f.FailAt(line, 1, "", "not YAML: "+message, "")
		return
	}
	if len(f.lines) <= maxSearched {
		line = 1 + f.readableLines()
	}
	found := f.findMistake(min(line, len(f.lines)))
	f.FailAt(found.line, found.column, "", "not YAML: "+message, found.hint)
}

// mistake is a place in the file, 1-based, and the hint to correct it. The hint is "" if no reason was found.
type mistake struct {
	line, column int
	hint         string
}

// findMistake returns the mistake that makes a line invalid YAML. The mistake may be in a later line, inside braces or
// brackets that begin in this line.
func (f *File) findMistake(line int) mistake {
	for _, l := range []int{line, f.lineAbove(line)} {
		if strings.HasPrefix(strings.TrimSpace(f.line(l)), "//") {
			return mistake{l, f.indent(l) + 1, "a comment begins with #"}
		}
	}
	found := f.mistakeIn(line)
	if found.hint == "" {
		found = mistake{line, f.indent(line) + 1, f.indentHint(line)}
	}
	depth := f.openedBraces(line)
	for l := line + 1; found.hint == "" && depth > 0 && l <= len(f.lines); l++ {
		if inside := f.mistakeIn(l); inside.hint != "" {
			return inside
		}
		depth += f.openedBraces(l)
	}
	return found
}

// mistakeIn returns the mistake in the text of a line. The hint is "" if there is none.
func (f *File) mistakeIn(line int) mistake {
	column, hint := f.findUnquoted(line)
	if colon := f.colonInText(line); hint == "" && colon > 0 {
		column, hint = colon, "quote a text that has a colon: "+Quoted(f.likelyText(line, colon))
	}
	return mistake{line, column, hint}
}

// readableLines returns the number of lines of the longest beginning of the file that is YAML. The beginning is shorter
// than the file.
func (f *File) readableLines() int {
	for n := len(f.lines) - 1; n > 0; n-- {
		var doc yaml.Node
		if yaml.Unmarshal([]byte(strings.Join(f.lines[:n], "\n")+"\n"), &doc) == nil {
			return n
		}
	}
	return 0
}

// YAMLType is the type of a scalar in YAML 1.2's core schema. That schema knows fewer forms than YAML 1.1. For example,
// yes, on, 1_000, 0b1 and 2006-01-02 are text in it.
type YAMLType uint8

// The types of a scalar.
const (
	IsText YAMLType = iota
	IsNull
	IsBoolean
	IsInteger
	IsFloat
)

// String returns the name of the type for a sentence, such as "a number".
func (r YAMLType) String() string {
	return [...]string{"text", "nothing", "a boolean", "a number", "a number"}[r]
}

var (
	coreNull    = regexp.MustCompile(`^(?:null|Null|NULL|~|)$`)
	coreBoolean = regexp.MustCompile(`^(?:true|True|TRUE|false|False|FALSE)$`)
	coreInteger = regexp.MustCompile(`^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	coreFloat   = regexp.MustCompile(
		`^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
)

// TypeOf returns the type of a scalar.
func TypeOf(n *yaml.Node) YAMLType {
	const written = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	switch {
	case n.Style&written != 0, n.Style&yaml.TaggedStyle != 0 && n.ShortTag() == "!!str":
		return IsText
	case coreNull.MatchString(n.Value):
		return IsNull
	case coreBoolean.MatchString(n.Value):
		return IsBoolean
	case coreInteger.MatchString(n.Value):
		return IsInteger
	case coreFloat.MatchString(n.Value):
		return IsFloat
	}
	return IsText
}
