package expr

import (
	"regexp"
	"strings"

	"cel.dev/cel-go/common"

	"github.com/tablewake/tablewake/pipeline/internal/nearest"
)

// spellings maps words and operators of other languages to the spelling in CEL.
var spellings = map[string]string{
	"NULL": "null", "nil": "null", "None": "null", "Null": "null", "undefined": "null",
	"True": "true", "TRUE": "true", "False": "false", "FALSE": "false",
	"and": "&&", "AND": "&&", "or": "||", "OR": "||", "not": "!", "NOT": "!", "is": "==", "=": "==", "<>": "!=", "&": "&&",
	"|": "||", "??": "? :",
}

// macros has an example of each of CEL's macros, by name.
var macros = map[string]string{
	"has":        "has(item.Address.City); for a name in quotes, item[\"first-name\"] != null",
	"all":        "item.Lines.all(l, l.qty > 1)",
	"exists":     "item.Lines.exists(l, l.qty > 1)",
	"exists_one": "item.Lines.exists_one(l, l.qty > 1)",
	"map":        "item.Lines.map(l, l.sku)",
	"filter":     "item.Lines.filter(l, l.qty > 1)",
}

// syntaxHint returns a hint for a syntax error by guessing what the author meant. It returns "" if it has no guess.
func syntaxHint(src string, at common.Location, message string) string {
	before, after := lineAround(src, at)
	if after == "" {
		return ""
	}
	if strings.Contains(message, "has() macro") {
		return "write " + macros["has"]
	}
	if strings.HasSuffix(before, ".") || strings.HasPrefix(after, ".") {
		return `a name that is not an identifier of CEL's is written in quotes, as in item["in"]`
	}
	// The mistake is at the location, or in the word or sign before it.
	for _, text := range []string{firstWord(after), lastWord(strings.TrimRight(before, " ")), sign(after),
		sign(lastByte(before) + after)} {
		if spelled, ok := spellings[text]; ok {
			return "write " + spelled
		}
	}
	return ""
}

// templateHint returns the hint for a template's placeholder, such as {Status}, that ends at the location. It returns
// "" if there is none.
func templateHint(src string, at common.Location, names []variable) string {
	before, after := lineAround(src, at)
	open := strings.LastIndex(before, "{")
	if open < 0 || !strings.HasPrefix(after, "}") || !placeholder.MatchString(before[open+1:]) {
		return ""
	}
	root := "item"
	if names[0].name != root {
		root = "new"
	}
	return "write " + root + "." + before[open+1:] + ", without braces"
}

// placeholder matches the path in a placeholder of a template.
var placeholder = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// functionHint returns the hint for an unknown function. It suggests a known function.
func functionHint(unknown string) string {
	if form, ok := macros[unknown]; ok {
		return "write " + form
	}
	if near := nearest.Name(unknown, functionNames); near != "" {
		return "did you mean " + near + "?"
	}
	return "functions are " + strings.Join(functionNames, ", ")
}

// lineAround returns the text before and the text after a location, in the line of the location.
func lineAround(src string, at common.Location) (before, after string) {
	lines := strings.Split(src, "\n")
	if at.Line() < 1 || at.Line() > len(lines) {
		return "", ""
	}
	line := []rune(lines[at.Line()-1])
	column := min(max(at.Column(), 0), len(line))
	return string(line[:column]), string(line[column:])
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// firstWord returns the word at the beginning of text.
func firstWord(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, letters))]
}

// lastWord returns the word at the end of text.
func lastWord(text string) string {
	return text[len(strings.TrimRight(text, letters)):]
}

// sign returns the sign at the beginning of text.
func sign(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, "=<>&|?"))]
}

// lastByte returns the last byte of text.
func lastByte(text string) string {
	return text[max(len(text)-1, 0):]
}
