package template

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
)

func TestObjectKey(t *testing.T) {
	s := scope(t)
	version := "1767225600" + strings.Repeat("0", 19) + "111122223333444455556"
	for _, tt := range []struct{ template, want string }{
		{"archive/{Status}/{PK}/{SK}/{@version}.json", "archive/Paid/USER%2342/ORDER%232026%237/" + version + ".json"},
		{"dt={@time|date:2006-01-02}/hour={@time|date:15}", "dt=2026-01-02/hour=15"},
		{"{@time|date:2006/01/02}", "2026%2F01%2F02"},
		{"{Address.City}", "%C3%9Cnter%2FBerg"},
		{"{PK|esc}", "USER%2342"},                // not escaped twice
		{"{@key}", "USER%2342,ORDER%232026%237"}, // already escaped
		{"a/{Missing}/b", "a/_none/b"},
		{"a/{Missing?}/b", "a/_none/b"},
		{"a/{Null}/{Empty}/b", "a/_none/_none/b"},
		{"a/{Missing|default:x}", "a/x"},
		{"a/{None}", "a/%5Fnone"}, // the value _none differs from the stand-in for a missing value
		{"a/{None|esc}", "a/%5Fnone"},
		{"a/{Missing|default:_none}", "a/%5Fnone"},
		{"a/{Dots}/b", "a/%2E%2E/b"}, // a value cannot leave its folder
		{"a/{Dots|esc}/b", "a/%2E%2E/b"},
		{"a/{Path}/b", "a/a%2F..%2Fb/b"},
	} {
		got, err := parse(t, tt.template).AppendObjectKey([]byte("> "), s)
		if err != nil || string(got) != "> "+tt.want {
			t.Errorf("object key of %s = %q, %v; want %q", tt.template, got, err, tt.want)
		}
	}
}

// text draws texts that are likely to collide, made of the characters that escaping, separators and stand-ins use.
func text(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "A", "0", "_none", "_", ".", "..", "%", "%5F", "/", "#", "-", "é", "\x00", "none", "41"}), 0, 4).Draw(t, label), "")
}

func scopeOf(texts ...string) Scope {
	var b []byte
	for i, text := range texts {
		b = append(b, ",\""+string(rune('A'+i))+"\":"...)
		b = item.StringValue(text).AppendDynamoDBJSON(b)
	}
	m, err := item.Parse([]byte("{" + strings.TrimPrefix(string(b), ",") + "}"))
	if err != nil {
		panic(err)
	}
	return Scope{Item: m}
}

func TestObjectKeysAreInjective(t *testing.T) {
	templates := []string{"{A}", "x/{A}/{B}", "{A}/{B}/{C}.json", "{A|esc}/{B}", "a/{A}#{B}+{C}", "{A?}/{B?}/x"}
	for _, src := range templates {
		if parse(t, src).AmbiguousObjectKey() {
			t.Fatalf("%s is ambiguous as an object key", src)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		tpl, err := Parse(rapid.SampledFrom(templates).Draw(t, "template"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var one, two [3]string
		for i := range one {
			one[i], two[i] = text(t, "one"), text(t, "two")
		}
		first, err1 := tpl.AppendObjectKey(nil, scopeOf(one[:]...))
		second, err2 := tpl.AppendObjectKey(nil, scopeOf(two[:]...))
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		n := len(tpl.Paths())
		if same := [3]string(append(append([]string{}, one[:n]...), two[n:]...)) == two; same != (string(first) == string(second)) {
			t.Fatalf("%s: %q gives %q, and %q gives %q", tpl, one[:n], first, two[:n], second)
		}
		for _, segment := range strings.Split(string(first), "/") {
			if segment == "." || segment == ".." || segment == "" {
				t.Fatalf("%s: %q gives %q, whose segment %q names a folder", tpl, one[:n], first, segment)
			}
		}
	})
}

func TestIndexName(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"acme", "acme"},
		{"Acme", "0_41cme"},
		{"acme-2.x", "acme-2.x"},
		{"1acme", "1acme"},
		{"0acme", "00acme"},
		{"_acme", "0_5facme"},
		{"-acme", "0-acme"},
		{"+", "0_2b"},
		{".", "0."},
		{"..", "0.."},
		{"ü b", "0_c3_bc_20b"},
		{"0_41cme", "00_5f41cme"}, // differs from the name for Acme
	} {
		got, _, err := parse(t, "docs-{A|index_name}").AppendText(nil, scopeOf(tt.text))
		if err != nil || string(got) != "docs-"+tt.want {
			t.Errorf("index_name of %q = %q, %v; want %q", tt.text, got, err, tt.want)
		}
	}
}

func TestIndexNamesAreLegalAndInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		long := func(label string) string {
			return strings.Repeat(text(t, label), rapid.IntRange(1, 40).Draw(t, label+" times")) + text(t, label+" end")
		}
		one, two := long("one"), long("two")
		if one == "" || two == "" {
			return
		}
		first, second := indexName([]byte("p"+one), 1)[1:], indexName([]byte("p"+two), 1)[1:]
		if (one == two) != (string(first) == string(second)) {
			t.Fatalf("%q gives %q, and %q gives %q", one, first, two, second)
		}
		if len(first) > maxIndexName || strings.ContainsAny(string(first[0]), "-_+.") || strings.Trim(string(first), "abcdefghijklmnopqrstuvwxyz0123456789_-.") != "" {
			t.Fatalf("%q gives %q: no legal index name", one, first)
		}
	})
}

// A raw object key contains the texts of values unchanged.
func TestRawObjectKey(t *testing.T) {
	s := scope(t)
	for _, tt := range []struct{ template, want string }{
		{"archive/{Status}/{PK}/{SK}.json", "archive/Paid/USER#42/ORDER#2026#7.json"},
		{"{Address.City}", "Ünter/Berg"},
		{"{PK|esc}", "USER%2342"},
		{"{@key}", "USER%2342,ORDER%232026%237"},
		{"a/{Missing}/b", "a/_none/b"},
		{"a/{None}", "a/_none"},
		{"a/{Dots}/b", "a/../b"},
		{"a/{Path}/b", "a/a/../b/b"},
	} {
		got, err := parse(t, tt.template).AppendRawObjectKey([]byte("> "), s)
		if err != nil || string(got) != "> "+tt.want {
			t.Errorf("raw object key of %s = %q, %v; want %q", tt.template, got, err, tt.want)
		}
	}
	for src, want := range map[string]bool{
		"{A}/{B}": true, "{A|esc}/{B}": false, "{@key}/{A}": false, "x/{A}.json": false, "{A}{B}": true, "{@op}/{A}": false,
		"{A?}_{@op}": true, "{A|hash}x{@op}": false, "{@table}_{@op}": true,
	} {
		if got := parse(t, src).AmbiguousRawObjectKey(); got != want {
			t.Errorf("%s is ambiguous as a raw object key: %v", src, got)
		}
	}
}

func TestVersionAndItem(t *testing.T) {
	for src, want := range map[string][2]bool{
		"{@version}.json": {true, false}, "{PK}/{@version}": {true, true}, "{@version|hash}/{@key}": {false, true},
		"{@key}.json": {false, true}, "{@seq}/{@time|date:2006}/{@op}/{@table}": {false, false}, "{{@version}}": {false, false},
	} {
		tpl := parse(t, src)
		if got := [2]bool{tpl.HasVersion(), tpl.NamesItem()}; got != want {
			t.Errorf("%s: %v, want %v", src, got, want)
		}
	}
}
