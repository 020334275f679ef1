package template

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

func TestAmbiguousAndWhatCanBeCut(t *testing.T) {
	for _, tt := range []struct {
		template  string
		ambiguous bool
		esc       string // EscPaths
		key       bool   // HasKey
	}{
		{"STATUS#{Status}", false, "", false},
		{"{A}#{B}", true, "", false},
		{"{A}{B}", true, "", false},
		{"{A|esc}{B|esc}", true, "", false},
		{"{A|esc}#{B}", false, "A", false},
		{"{A}#{B|esc}", false, "B", false},
		{"{A|esc}#{B|esc}#{C|esc}", false, "A B C", false},
		{"{A|esc}-{B|esc}", true, "", false}, // esc does not escape -
		{"{A}#{B|esc}#{C}", true, "", false},
		{"{A|esc}#{B}#{C|esc}", false, "A C", false},
		{"{A|esc}#{B}#{C}", true, "A", false},
		{"{CreatedAt|date:2006-01-02}#{@key}", false, "", true},
		{"{A|date:2006#01}#{B}", true, "", false},
		{"{Status}#{@key}", false, "", true},
		{"{Status}{@key}", true, "", false},
		{"{@key}{Status}", true, "", false},
		{"{@key}#{Status}", false, "", true},
		{"{@key}", false, "", true},
		{"{@key|esc}#x", false, "", true},
		{"{@key|hash}", false, "", false},
		{"{@key|lower}", false, "", false},
		{"{PK}", false, "PK", false},
		{"x{PK}", false, "", false}, // a path can be read back only if it has |esc
		{"x{PK|esc}", false, "PK", false},
		{"x{PK?|esc}", false, "", false},
		{"x{PK|lower|esc}", false, "", false},
		{"x{PK|esc|lower}", false, "", false},
		{"{each.a|esc}#{A|esc}", false, "A", false},
		{"{A|hash}{B}", false, "", false}, // hash has a fixed length
		{"{A|hash}{PK|esc}", false, "PK", false},
		{"{A?|hash}{B}", true, "", false},
		{"{A|hash|default:x}{B}", true, "", false},
		{"{A|before:#}#{B}", false, "", false},
		{"{A|split:#:0}#{B}", false, "", false},
		{"{A|split:##:0}#{B}", true, "", false},
		{"{A|split:#:0|default:#}#{B}", true, "", false},
		{"{@op}#{A}", false, "", false},
		{"{@version}#{A}", false, "", false},
		{"{@seq}:{@table}:{A}", false, "", false},
		{"{A|index_name}+{B}", false, "", false},
		{"{A|upper}#{B}", true, "", false},
		{"{A|after:x}#{B}", true, "", false},
		{"{@op|pad:9}#{A}", false, "", false},
		{"{@op|pad:9}0{A}", true, "", false},
		{"{{{A|esc}}}{B}", false, "A", false},
		{"constant", false, "", false},
		{"", false, "", false},
	} {
		tpl, err := Parse(tt.template, Options{Each: true})
		if err != nil {
			t.Errorf("%s: %v", tt.template, err)
			continue
		}
		if got := tpl.Ambiguous(); got != tt.ambiguous {
			t.Errorf("%s: Ambiguous = %v", tt.template, got)
		}
		if got := strings.Join(tpl.EscPaths(), " "); got != tt.esc {
			t.Errorf("%s: EscPaths = %q, want %q", tt.template, got, tt.esc)
		}
		if got := tpl.HasKey(); got != tt.key {
			t.Errorf("%s: HasKey = %v", tt.template, got)
		}
	}
}

func TestAmbiguousObjectKey(t *testing.T) {
	for _, tt := range []struct {
		template string
		want     bool
	}{
		{"{A}/{B}", false},
		{"{A}#{B}", false},
		{"{A}-{B}", true},
		{"{A}{B}", true},
		{"{A|hash}{B}", true}, // _none is shorter than a hash
		{"{@key}/{A}", false},
		{"{@key},{A}", false}, // the key can be cut off from the right
		{"{@key},{@key}", true},
		{"{A}", false},
	} {
		if got := parse(t, tt.template).AmbiguousObjectKey(); got != tt.want {
			t.Errorf("%s: AmbiguousObjectKey = %v", tt.template, got)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		template, result string
		want             map[string]string // nil: the template cannot give the result
	}{
		{"O#{PK|esc}#{Status}", "O#USER%2342#a#b", map[string]string{"PK": "USER#42"}},
		{"{CreatedAt|date:2006-01-02}#{@key}", "2026-01-02#USER%2342,+7", map[string]string{"@key": "USER%2342,+7"}},
		{"{PK}", "a#b", map[string]string{"PK": "a#b"}},
		{"{PK|esc}#{PK|esc}", "a#a", map[string]string{"PK": "a"}},
		{"{PK|esc}#{PK|esc}", "a#b", nil},
		{"O#{PK|esc}", "X#a", nil},
		{"{PK|esc}#O", "a#X", nil},
		{"{PK|esc}#{A}", "a", nil},
		{"{PK|esc}##{A}", "a#b", nil},
		{"{A}#{PK|esc}", "a", nil},
		{"{A}##{PK|esc}", "a#b", nil},
		{"{A|hash}{PK|esc}", "short", nil},
		{"{PK|esc}{A|hash}", "short", nil},
		{"{PK|esc}", "a#b", nil},
		{"{PK|esc}", "a%2", nil},
		{"constant", "constant", map[string]string{}},
		{"constant", "another", nil},
		{"aba{PK|esc}aba", "aba", nil},
	} {
		got, ok := parse(t, tt.template).Cut(tt.result)
		if ok != (tt.want != nil) || len(got) != len(tt.want) {
			t.Errorf("%s: Cut(%q) = %q, %v; want %q", tt.template, tt.result, got, ok, tt.want)
		}
		for path, want := range tt.want {
			if got[path] != want {
				t.Errorf("%s: Cut(%q) = %q, want %q", tt.template, tt.result, got, tt.want)
			}
		}
	}
}

// drawTemplate draws a template of the paths A, B and C and of words such as @key.
func drawTemplate(t *rapid.T) *Template {
	placeholders := []string{"{A}", "{A|esc}", "{B|esc}", "{C|esc}", "{B}", "{C|hash}", "{A|lower}", "{@key}", "{B|before:#}", "{C|split:/:0|default:x}", "{A?}", "{B?|esc}", "{C|index_name}", "{@op}"}
	literals := []string{"", "#", "-", "##", "/", "%", ",", "x", ".#"}
	src := rapid.SampledFrom(literals).Draw(t, "literal")
	for range rapid.IntRange(1, 4).Draw(t, "placeholders") {
		src += rapid.SampledFrom(placeholders).Draw(t, "hole") + rapid.SampledFrom(literals).Draw(t, "literal")
	}
	tpl, err := Parse(src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

func TestCutUndoesAppendText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tpl := drawTemplate(t)
		texts := map[string]string{"A": text(t, "A"), "B": text(t, "B"), "C": text(t, "C")}
		s := scopeOf(texts["A"], texts["B"], texts["C"])
		key, err := item.MakeKey("", scopeOf("k"+texts["A"], "l"+texts["B"]).Item)
		if err != nil {
			t.Fatal(err)
		}
		texts["@key"] = string(key)
		s.Change = &record.Change{Key: key, Op: record.Modify}
		result, missing, err := tpl.AppendText(nil, s)
		if err != nil {
			t.Fatal(err)
		}
		if missing != "" {
			return
		}
		got, ok := tpl.Cut(string(result))
		if !ok {
			t.Fatalf("%s: Cut does not take %q for its own", tpl, result)
		}
		if _, key := got["@key"]; key != tpl.HasKey() {
			t.Fatalf("%s: HasKey %v, but Cut gives %q", tpl, tpl.HasKey(), got)
		}
		for _, path := range tpl.EscPaths() {
			if _, ok := got[path]; !ok {
				t.Fatalf("%s: EscPaths %q, but Cut gives %q", tpl, tpl.EscPaths(), got)
			}
		}
		for path, text := range got {
			if text != texts[path] {
				t.Fatalf("%s made %q of %q, and Cut gives %q for %s", tpl, result, texts, text, path)
			}
		}
	})
}

func TestUnambiguousTemplatesAreInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tpl := drawTemplate(t)
		if tpl.Ambiguous() {
			return
		}
		one, two := scopeOf(text(t, "A"), text(t, "B"), text(t, "C")), scopeOf(text(t, "A2"), text(t, "B2"), text(t, "C2"))
		one.Change, two.Change = &record.Change{Key: "k"}, &record.Change{Key: "l"}
		first, missing1, err1 := tpl.AppendText(nil, one)
		second, missing2, err2 := tpl.AppendText(nil, two)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if missing1+missing2 != "" || string(first) != string(second) {
			return
		}
		for i := range tpl.placeholders {
			a, _, _ := tpl.placeholders[i].append(nil, &one)
			b, _, _ := tpl.placeholders[i].append(nil, &two)
			if string(a) != string(b) {
				t.Fatalf("%s is %q for both, though a placeholder is %q and %q", tpl, first, a, b)
			}
		}
	})
}
