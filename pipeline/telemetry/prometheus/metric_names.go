package prometheus

import (
	"cmp"
	"slices"
	"strings"
)

// kind is a type of a metric family.
type kind string

// The types. A metric of kind unsupported is not written.
const (
	counter     kind = "counter"
	gauge       kind = "gauge"
	histogram   kind = "histogram"
	unsupported kind = ""
)

// units has the words for UCUM's units. Any other unit is used as it is.
var units = map[string]string{
	"d": "days", "h": "hours", "min": "minutes", "s": "seconds", "ms": "milliseconds", "By": "bytes", "%": "percent",
}

// familyName returns the name of a metric: tablewake.reader.lag in seconds is tablewake_reader_lag_seconds. A unit in
// braces adds no word, and the unit 1 adds ratio to a gauge. A counter ends with total. A word is not added if the name
// already has it.
func familyName(name, unit string, k kind) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !isNameRune(r) || r == '_' })
	switch {
	case unit == "1" && k == gauge:
		words = addSuffix(words, "ratio")
	case unit != "1" && !strings.ContainsAny(unit, "{}"):
		words = addSuffix(words, cmp.Or(units[unit], labelName(unit)))
	}
	if k == counter {
		words = addSuffix(words, "total")
	}
	full := strings.Join(words, "_")
	if full == "" || full[0] >= '0' && full[0] <= '9' {
		return "_" + full
	}
	return full
}

// addSuffix adds suffix to the words of a name, unless the words have it. The suffixes total and ratio move to the end.
func addSuffix(words []string, suffix string) []string {
	if suffix == "total" || suffix == "ratio" {
		words = slices.DeleteFunc(words, func(w string) bool { return w == suffix })
	}
	if suffix == "" || slices.Contains(words, suffix) {
		return words
	}
	return append(words, suffix)
}

// labelName returns the label name of an attribute's key. An underscore replaces each character that a label name
// cannot have.
func labelName(key string) string {
	name := strings.Map(func(r rune) rune {
		if isNameRune(r) {
			return r
		}
		return '_'
	}, key)
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		return "key_" + name
	}
	return name
}

func isNameRune(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
