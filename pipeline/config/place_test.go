package config_test

import (
	"strings"
	"testing"
)

// An error in a template or an expression is reported at its place in the file, however YAML spells the text.
func TestPlaces(t *testing.T) {
	const before = "version: 1\nname: p\nsource: {table: t}\nsinks:\n  s:\n    view:\n      table: v\n      key: {PK: '{@key}'}\n"
	for _, tt := range []struct {
		text string // ^ marks the place before the error and is not part of the text
	}{
		{"      attributes: {a: 'x{A}^}'}\n"},
		{"      attributes: {a: 'it''s {A}^}'}\n"},
		{"      attributes: {a: \"x{A}^}\"}\n"},
		{"      attributes: {a: \"\\\"{A}^}\"}\n"},
		{"      attributes: {ü: 'ö{A}^}'}\n"},
		{"      attributes:\n        a: x{A}^}\n"},
		{"      attributes:\n        a: |-\n          {A}^}\n"},
		{"      attributes: {a: ^'{A}\n          }'}\n"},
		{"      attributes: {a: ^\"\\x7bA\"}\n"},
		{"      attributes: {a: ^'${HOST}{A}}'}\n"},
		{"      attributes:\n        a: ^>-\n          {A}}\n"},
		{"      when: 'item.A == ^%'\n"},
		{"      when: |\n        item.A == 1 &&\n          item.B == ^%\n"},
		{"      when: |\n\n        item.A == ^%\n"},
	} {
		text := before + strings.Replace(tt.text, "^", "", 1)
		start, _, _ := strings.Cut(tt.text, "^")
		upto := before + start
		line := 1 + strings.Count(upto, "\n")
		column := 1 + len([]rune(upto[strings.LastIndex(upto, "\n")+1:]))
		ps := refused(t, text)
		if ps[0].Line != line || ps[0].Column != column {
			t.Errorf("%q: the error is at %d:%d, want %d:%d: %v", tt.text, ps[0].Line, ps[0].Column, line, column, ps[0])
		}
	}
}
