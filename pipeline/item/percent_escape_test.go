package item

import (
	"testing"

	"pgregory.net/rapid"
)

func TestAppendEscaped(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"Az09_.-", "Az09_.-"},
		{"USER#1", "USER%231"},
		{"a/b c", "a%2Fb%20c"},
		{"100%", "100%25"},
		{"é", "%C3%A9"},
		{"\x00~", "%00%7E"},
	} {
		if got := string(AppendEscaped([]byte("x"), tt.text)); got != "x"+tt.want {
			t.Errorf("AppendEscaped(%q) = %q, want %q", tt.text, got[1:], tt.want)
		}
	}
}

func TestUnescape(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		ok         bool
	}{
		{"USER%231", "USER#1", true},
		{"%2E%2E", "..", true},
		{"%5Fnone", "_none", true},
		{"%2e", "", false}, // Escape writes upper case only; lower case would give a key a second spelling
		{"a%", "", false},
		{"a%2", "", false},
		{"a#b", "", false},
		{"é", "", false},
	} {
		got, err := Unescape(tt.text)
		if (err == nil) != tt.ok || got != tt.want {
			t.Errorf("Unescape(%q) = %q, %v", tt.text, got, err)
		}
	}
}

func TestUnescapeUndoesAppendEscaped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.Byte()).Draw(t, "text")
		escaped := AppendEscaped(nil, text)
		got, err := Unescape(string(escaped))
		if err != nil || got != string(text) {
			t.Fatalf("%q escaped is %q, and back %q, %v", text, escaped, got, err)
		}
	})
}
