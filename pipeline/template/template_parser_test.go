package template

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct {
		src     string
		column  int
		message string
		hint    string
	}{
		{"a{", 2, "not closed", "{{"},
		{"a{Status", 2, "not closed", "close it with }"},
		{"a{Status|lower", 2, "not closed", ""},
		{"a{Status|after:x", 2, "not closed", ""},
		{`a{Status|after:\`, 2, "not closed", ""},
		{"aé}", 3, "closes nothing", "}}"},
		{"{}", 2, "empty", "{Status}"},
		{"{?}", 2, "empty", ""},
		{"{|lower}", 2, "empty", ""},
		{"{a{b}}", 3, "{ inside", "{{"},
		{"{ Status }", 2, "space", "{Status}"},
		{"{@vrsion}", 2, "unknown name @vrsion", "did you mean @version?"},
		{"{@frobnicate}", 2, "unknown name", "@key @version"},
		{"{@}", 2, "unknown name @", ""},
		{"é{Status|lowr}", 10, `unknown function "lowr"`, "did you mean lower?"},
		{"{Status|frobnicate}", 9, "unknown function", "index_name"},
		{"{Status|}", 9, "unknown function", ""},
		{"{Status|Lower}", 9, "unknown function", "did you mean lower?"},
		{"{Status|lower:x}", 15, "takes no argument", "|lower"},
		{"{Status|hash:}", 14, "takes no argument", ""},
		{"{N|pad}", 7, "width", "{Number|pad:10}"},
		{"{N|pad:0}", 8, "width", ""},
		{"{N|pad:x}", 8, "width", ""},
		{"{N|pad:100000}", 8, "width", ""},
		{"{N|pad:12.}", 8, "after the point", "{Total|pad:12.2}"},
		{"{N|pad:12.11}", 8, "after the point", ""},
		{"{N|pad:12.-1}", 8, "after the point", ""},
		{"{N|sortable:2}", 13, "takes no argument", "|sortable"},
		{"{At|zone:Nowhere|date:2006}", 10, "the name of no time zone", "Europe/Berlin"},
		{"{At|zone|date:2006}", 9, "the name of no time zone", ""},
		{"{At|zone:Local|date:2006}", 10, "the name of no time zone", ""},
		{"{At|zone:Europe/Berlin}", 5, "followed by date", ""},
		{"{At|zone:Europe/Berlin|lower}", 24, "followed by date", ""},
		{"{At|zone:UTC|zone:UTC|date:2006}", 14, "followed by date", ""},
		{"{At|date}", 9, "Go layout", "2006-01-02"},
		{"{At|date:2026-01}", 10, "the digits 2026, which are no part of a time", "year-month-day is 2006-01-02"},
		{"{At|date:2006-13}", 10, "the digits 13", "year-month-day is 2006-01-02"},
		{"{At|date:YYYY-MM-DD}", 10, "no layout element", "year-month-day is 2006-01-02"},
		{"{At|date:}", 10, "Go layout", ""},
		{"{PK|after}", 10, "takes a text", "{PK|after:#}"},
		{"{PK|before:}", 12, "takes a text", ""},
		{"{PK|default:}", 13, "takes a text", ""},
		{"{PK|split:#}", 11, "separator", "{PK|split:#:1}"},
		{"{PK|split::1}", 11, "separator", ""},
		{"{PK|split:#:x}", 11, "separator", ""},
		{`{PK|split:#\:1}`, 11, "separator", ""}, // an escaped colon does not separate the index
		{`{PK|after:\x}`, 11, "backslash", `\\`},
		{"{a..b}", 2, "no path", ""},
		{"{Lines[x]}", 2, "no path", ""},
		{"{each.a[}", 7, "no path", ""},
		{"{each.[0]}", 6, "a path continues", ""},
	} {
		_, err := Parse(tt.src, Options{Each: true})
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("Parse(%q) = %v, want an *Error", tt.src, err)
			continue
		}
		if e.Column != tt.column || !strings.Contains(e.Message, tt.message) || !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("Parse(%q) = %v; want column %d, %q and the hint %q", tt.src, e, tt.column, tt.message, tt.hint)
		}
		if !strings.Contains(e.Error(), e.Message) || !strings.Contains(e.Error(), e.Hint) {
			t.Errorf("%q lacks its parts", e.Error())
		}
	}
}

func TestEachOnlyUnderForEach(t *testing.T) {
	for _, src := range []string{"{each}", "{each.sku}", "{each[0]}", "{each?}"} {
		_, err := Parse(src, Options{})
		if e, ok := errors.AsType[*Error](err); !ok || e.Column != 2 || !strings.Contains(e.Hint, `{["each"]}`) {
			t.Errorf("Parse(%q) = %v; want an error that says how an attribute named each is written", src, err)
		}
		if _, err := Parse(src, Options{Each: true}); err != nil {
			t.Errorf("Parse(%q) under for_each: %v", src, err)
		}
	}
	for _, src := range []string{`{["each"]}`, "{eachother}", "{each1.x}"} {
		if tpl, err := Parse(src, Options{}); err != nil || len(tpl.Paths()) != 1 {
			t.Errorf("Parse(%q): %v", src, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, src := range []string{
		"STATUS#{Status}", "{CreatedAt|date:2006-01-02}#{@key}", "{{x}}", `{["a}b"]|split:\::-1}`, "{each[0].a?|default:x}", "{A|hash}{B|index_name}{C|pad:3|esc}",
	} {
		f.Add(src, "text")
	}
	f.Fuzz(func(t *testing.T, src, text string) {
		tpl, err := Parse(src, Options{Each: true})
		if err != nil {
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Column < 1 || e.Column > utf8.RuneCountInString(src)+1 || e.Message == "" {
				t.Fatalf("Parse(%q) = %#v: no place in the template", src, err)
			}
			return
		}
		if tpl.String() != src {
			t.Fatalf("String = %q, want %q", tpl, src)
		}
		if again, err := Parse(src, Options{}); err == nil && len(again.Paths()) != len(tpl.Paths()) {
			t.Fatalf("%q reads %q under for_each and %q elsewhere", src, tpl.Paths(), again.Paths())
		}
		if tpl.HasKey() && !strings.Contains(src, "@key") || len(tpl.EscPaths()) > len(tpl.Paths()) {
			t.Fatalf("%q: HasKey %v, EscPaths %q", src, tpl.HasKey(), tpl.EscPaths())
		}
		tpl.Cut(text) // must not panic, whatever the text is
	})
}
