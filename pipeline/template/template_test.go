package template

import (
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// order is an item with every attribute type.
const order = `{
	"PK": {"S": "USER#42"}, "SK": {"S": "ORDER#2026#7"}, "Status": {"S": "Paid"}, "Empty": {"S": ""}, "Null": {"NULL": true},
	"Total": {"N": "1.0500E2"}, "Big": {"N": "12345678901234567890123456789012345678"}, "Neg": {"N": "-7"}, "Gift": {"BOOL": true},
	"Blob": {"B": "+/+/AA=="}, "NoBytes": {"B": ""}, "first-name": {"S": "Ann"}, "each": {"S": "of two"}, "a}b": {"S": "brace"},
	"Address": {"M": {"City": {"S": "Ünter/Berg"}, "Geo": {"L": [{"N": "1"}, {"M": {"lat": {"N": "2.50"}}}]}}},
	"Lines": {"L": [{"M": {"sku": {"S": "A-1"}, "qty": {"N": "2"}}}, {"M": {"sku": {"S": "B 2"}}}]},
	"Tags": {"SS": ["a", "b"]}, "Ints": {"NS": ["1"]}, "Bins": {"BS": ["AA=="]}, "NoList": {"L": []},
	"CreatedAt": {"N": "1767366245"}, "Year": {"S": "2026"}, "Millis": {"N": "1767366245999"}, "Text": {"S": "2026-01-02T15:04:05+02:00"},
	"None": {"S": "_none"}, "Dots": {"S": ".."}, "Path": {"S": "a/../b"}, "Pipe": {"S": "a|b}c:d\\e"}
}`

func image(t testing.TB, json string) item.Image {
	t.Helper()
	m, err := item.Parse([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func parse(t testing.TB, src string) *Template {
	t.Helper()
	tpl, err := Parse(src, Options{Each: true, Shard: true})
	if err != nil {
		t.Fatalf("Parse(%q): %v", src, err)
	}
	return tpl
}

// scope returns the order as a change inserts it, with its first line as the element.
func scope(t testing.TB) Scope {
	t.Helper()
	it := image(t, order)
	keys := image(t, `{"PK": {"S": "USER#42"}, "SK": {"S": "ORDER#2026#7"}}`)
	key, err := item.MakeKey("", keys)
	if err != nil {
		t.Fatal(err)
	}
	version, err := record.ParseVersion("1767225600" + strings.Repeat("0", 19) + "111122223333444455556")
	if err != nil {
		t.Fatal(err)
	}
	lines, _ := it.Get("Lines")
	each, _ := lines.Index(0)
	return Scope{
		Change: &record.Change{
			Op: record.Insert, Key: key, Keys: keys, New: it, Version: version, Sequence: "111122223333444455556",
			Time: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), Table: "shop",
		},
		Item: it,
		Each: each,
	}
}

func TestText(t *testing.T) {
	s := scope(t)
	for _, tt := range []struct{ template, want string }{
		// {path}
		{"STATUS#{Status}", "STATUS#Paid"},
		{"{Address.City}!", "Ünter/Berg!"},
		{"{Lines[0].sku}!", "A-1!"},
		{"{Address.Geo[1].lat}!", "2.5!"},
		{`{["first-name"]}!`, "Ann!"},
		{`{["a}b"]}!`, "brace!"},
		{"plain", "plain"},
		{"{PK}{SK}", "USER#42ORDER#2026#7"},
		// text of S, N, BOOL and B
		{"N {Total}", "N 105"},
		{"N {Big}", "N 12345678901234567890123456789012345678"},
		{"BOOL {Gift}", "BOOL true"},
		{"B {Blob}", "B -_-_AA"},
		// {path?}
		{"a{Missing?}b", "ab"},
		{"a{Null?}b{Empty?}c", "abc"},
		{"{Status?}!", "Paid!"},
		// functions
		{"{Status|lower}", "paid"},
		{"{Status|upper}", "PAID"},
		{"{Address.City|lower}", "ünter/berg"},
		{"{Address.City|upper}", "ÜNTER/BERG"},
		{"{Total|pad:6}", "000105"},
		{"{Total|pad:6.2}", "105.00"},
		{"{Total|pad:9.2}", "000105.00"},
		{"{Total|pad:5.0}", "00105"},
		{"{Address.Geo[1].lat|pad:5.1}", "002.5"},
		{"{Address.Geo[1].lat|pad:3.0}", "002"},
		{"{Total|sortable}", "2503105-"},
		{"{Neg|sortable}", "04982~"},
		{"{Address.Geo[1].lat|sortable}", "250125-"},
		{"{Status|pad:3}", "Paid"},
		{"{Address.City|before:nter|pad:3}", "00Ü"},
		{"{Status|hash}", "fb81b961af456e5e748db7e1b1bff9a5"},
		{"{PK|esc}", "USER%2342"},
		{"{CreatedAt|date:2006-01-02}", "2026-01-02"},
		{"{Millis|date:2006-01-02T15:04:05.000Z}", "2026-01-02T15:04:05.999Z"},
		{"{Text|date:2006-01-02 15h}", "2026-01-02 13h"},
		{"{CreatedAt|date:15:04}", "15:04"},
		{"{CreatedAt|zone:Europe/Berlin|date:2006-01-02 15:04 MST}", "2026-01-02 16:04 CET"},
		{"{@time|zone:Asia/Kolkata|date:15:04}", "20:34"},
		{"{SK|after:ORDER#|default:x|lower}", "2026#7"},
		{"{PK|after:#}", "42"},
		{"{PK|after:USER#}", "42"},
		{"{PK|before:#}", "USER"},
		{"{SK|after:#|before:#}", "2026"},
		{"{Missing|default:none}", "none"},
		{"{Null|default:none}", "none"},
		{"{Empty|default:none|upper}", "NONE"},
		{"{Status|default:none}", "Paid"},
		{"{PK|after:nowhere|default:x}", "x"},
		{"{Missing|lower|default:X|lower}", "x"},
		{"{SK|split:#:0}", "ORDER"},
		{"{SK|split:#:1}", "2026"},
		{"{SK|split:#:2}", "7"},
		{"{SK|split:#:-1}", "7"},
		{"{SK|split:#:-3}", "ORDER"},
		{"{Pipe|split:::0}", `a|b}c`}, // the index follows the last colon
		{`{Pipe|split:\::1}`, `d\e`},
		{`{Pipe|after:\|}`, `b}c:d\e`},
		{`{Pipe|after:\}}`, `c:d\e`},
		{`{Pipe|after:\\}`, `e`},
		{`{Missing|default:a\|b\}c\:d\\e}`, `a|b}c:d\e`},
		{`{Missing|default:a:b c{}`, "a:b c{"},
		// {@...}
		{"{@key}", "USER%2342,ORDER%232026%237"},
		{"{@version}", "1767225600" + strings.Repeat("0", 19) + "111122223333444455556"},
		{"{@seq}", "111122223333444455556"},
		{"{@time}", "2026-01-02T15:04:05Z"},
		{"{@time|date:2006/01/02 15}", "2026/01/02 15"},
		{"{@op}", "INSERT"},
		{"{@op|lower}", "insert"},
		{"{@table}", "shop"},
		// {each.path}
		{"{each.sku}/{each.qty}", "A-1/2"},
		{`{each["sku"]}`, "A-1"},
		{`{["each"]}`, "of two"},
		// {{ and }}
		{"{{{Status}}}", "{Paid}"},
		{"{{}}", "{}"},
		{`a\b`, `a\b`},
	} {
		got, missing, err := parse(t, tt.template).AppendText([]byte("> "), s)
		if err != nil || missing != "" || string(got) != "> "+tt.want {
			t.Errorf("%s = %q, missing %q, %v; want %q", tt.template, got, missing, err, tt.want)
		}
		v, missing, err := parse(t, tt.template).Value(s)
		if text, ok := v.Text(); err != nil || missing != "" || ok && text != tt.want {
			t.Errorf("Value of %s = %v, missing %q, %v; want %q", tt.template, v, missing, err, tt.want)
		}
	}
}

func TestEachElementItself(t *testing.T) {
	s := scope(t)
	nested, err := item.ParseValue([]byte(`{"L": [{"S": "a"}, {"L": [{"S": "b"}, {"M": {"c": {"M": {"d": {"N": "1"}}}}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s.Each = nested
	for _, tt := range []struct{ template, want string }{
		{"{each[0]}", "a"},
		{"{each[1][0]}", "b"},
		{"{each[1][1].c.d}", "1"},
		{`{each[1][1]["c"].d}`, "1"},
	} {
		got, missing, err := parse(t, tt.template).AppendText(nil, s)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s = %q, missing %q, %v; want %q", tt.template, got, missing, err, tt.want)
		}
	}
	for _, src := range []string{"{each[2]}", "{each[0][0]}", "{each[1][1].d}", "{each.a}", "{each[0].a}"} {
		if v, missing, err := parse(t, src).Value(s); v.Exists() || missing != src[1:len(src)-1] || err != nil {
			t.Errorf("%s = %v, missing %q, %v; want it missing", src, v, missing, err)
		}
	}
	if v, _, err := parse(t, "{each}").Value(s); err != nil || !v.Equal(nested) {
		t.Errorf("{each} = %v, %v; want the element", v, err)
	}
}

func TestExactlyOnePathKeepsItsType(t *testing.T) {
	s := scope(t)
	for name, want := range s.Item.All() {
		if name == "Null" || name == "Empty" || name == "NoBytes" {
			continue
		}
		got, missing, err := parse(t, `{["`+name+`"]}`).Value(s)
		if err != nil || missing != "" || !got.Equal(want) || got.Kind() != want.Kind() {
			t.Errorf("{%s} = %v, missing %q, %v; want %v", name, got, missing, err, want)
		}
	}
	if got, _, err := parse(t, "{Total?}").Value(s); err != nil || got.Kind() != item.KindN {
		t.Errorf("{Total?} = %v, %v; want an N", got, err)
	}
	for _, src := range []string{"{Total}!", "!{Total}", "{Total|pad:4}", "{Total}{Gift}"} {
		if got, _, err := parse(t, src).Value(s); err != nil || got.Kind() != item.KindS {
			t.Errorf("%s = %v, %v; want an S", src, got, err)
		}
	}
}

func TestMissing(t *testing.T) {
	s := scope(t)
	for _, tt := range []struct{ template, missing string }{
		{"{Missing}", "Missing"},
		{"{Null}", "Null"},
		{"{Empty}", "Empty"},
		{"{NoBytes}", "NoBytes"},
		{"{Address.Street}", "Address.Street"},
		{"{Lines[9].sku}", "Lines[9].sku"},
		{"{Status.City}", "Status.City"},
		{"x{Missing}y", "Missing"},
		{"{Status}{Missing}{Null}", "Missing"},
		{"{Missing|lower|hash|esc|index_name|pad:9|date:2006}", "Missing"},
		{"{PK|after:nowhere}", "PK"},
		{"{PK|before:nowhere}", "PK"},
		{"{PK|after:42}", "PK"},
		{"{SK|split:#:3}", "SK"},
		{"{SK|split:#:-4}", "SK"},
		{"{each.nothing}", "each.nothing"},
		// optional: the result is absent, but no path is reported as missing
		{"{Missing?}", ""},
		{"{Null?}", ""},
		{"{Empty?}", ""},
		{"{NoBytes?}", ""},
		{"{Missing?}{Null?}", ""},
		{"{Missing?|lower}", ""},
	} {
		v, missing, err := parse(t, tt.template).Value(s)
		if err != nil || v.Exists() || missing != tt.missing {
			t.Errorf("%s = %v, missing %q, %v; want it absent, missing %q", tt.template, v, missing, err, tt.missing)
		}
		text, missing, err := parse(t, tt.template).AppendText([]byte("kept"), s)
		if err != nil || string(text) != "kept" || missing != tt.missing {
			t.Errorf("%s = %q, missing %q, %v; want nothing appended, missing %q", tt.template, text, missing, err, tt.missing)
		}
	}
	for _, src := range []string{"{@key}", "{@version}", "{@seq}", "{@time}", "{@time|date:2006}", "{@table}"} {
		want, _, _ := strings.Cut(src[1:len(src)-1], "|")
		for _, c := range []*record.Change{nil, {}} {
			if v, missing, err := parse(t, src).Value(Scope{Change: c}); err != nil || v.Exists() || missing != want {
				t.Errorf("%s = %v, missing %q, %v; want it missing", src, v, missing, err)
			}
		}
	}
}

func TestTextErrors(t *testing.T) {
	s := scope(t)
	for _, tt := range []struct{ template, want string }{
		{"x{Address}", "Address is of type M"},
		{"x{Lines}", "Lines is of type L"},
		{"x{NoList}", "NoList is of type L"},
		{"x{Tags}", "Tags is of type SS"},
		{"x{Ints}", "Ints is of type NS"},
		{"x{Bins?}", "Bins is of type BS"},
		{"{Address|default:x}", "Address is of type M"},
		{"{Status|date:2006}", "Status: the text is not a date"},
		{"{Status?|date:2006}", "Status: the text is not a date"},
		{"{Year|date:2006}", "Year: four digits such as 2026 are a year or epoch seconds"},
		{"{Big|date:2006}", "Big: the number is too large"},
		{"{@time|lower|date:2006}", "@time: the text is not a date"},
	} {
		tpl := parse(t, tt.template)
		out, _, err := tpl.AppendText([]byte("kept"), s)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.template) || string(out) != "kept" {
			t.Errorf("%s = %q, %v; want an error with the template and %q", tt.template, out, err, tt.want)
		}
		if _, ok := pipeline.Retryable(err); ok {
			t.Errorf("%s: %v is retryable; a template's error is permanent", tt.template, err)
		}
		if out, err := tpl.AppendObjectKey([]byte("kept"), s); err == nil || string(out) != "kept" {
			t.Errorf("object key of %s = %q, %v; want an error", tt.template, out, err)
		}
		if err != nil && strings.Contains(err.Error(), "Paid") {
			t.Errorf("%s: the error shows a value: %v", tt.template, err)
		}
	}
}

func TestScopeOf(t *testing.T) {
	keys, old, now := image(t, `{"A": {"S": "keys"}}`), image(t, `{"A": {"S": "old"}}`), image(t, `{"A": {"S": "new"}}`)
	for _, tt := range []struct {
		change *record.Change
		want   string
	}{
		{&record.Change{Keys: keys, Old: old, New: now}, "new"},
		{&record.Change{Keys: keys, Old: old}, "old"},
		{&record.Change{Keys: keys}, "keys"},
	} {
		if got, _, err := parse(t, "{A}").AppendText(nil, ScopeOf(tt.change)); err != nil || string(got) != tt.want {
			t.Errorf("{A} = %q, %v; want %q", got, err, tt.want)
		}
	}
}

func TestPaths(t *testing.T) {
	tpl := parse(t, `{PK|esc}#{Address.City?}#{@key}#{each.sku}#{["first-name"]}`)
	if got, want := strings.Join(tpl.Paths(), " "), `PK Address.City ["first-name"]`; got != want {
		t.Errorf("Paths = %s, want %s", got, want)
	}
	if got := tpl.String(); got != `{PK|esc}#{Address.City?}#{@key}#{each.sku}#{["first-name"]}` {
		t.Errorf("String = %s", got)
	}
}

func TestAppendTextAllocatesNothing(t *testing.T) {
	s := scope(t)
	tpl := parse(t, "{Status|lower}#{CreatedAt|date:2006-01-02}#{Total|pad:12}#{PK|esc}#{SK|split:#:1}#{@key}#{TenantId?}")
	buf := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() {
		if _, missing, err := tpl.AppendText(buf, s); missing != "" || err != nil {
			t.Fatal(missing, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkAppendText(b *testing.B) {
	s := scope(b)
	tpl := parse(b, "{CreatedAt|date:2006-01-02}#{@key}")
	buf := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := tpl.AppendText(buf, s); err != nil {
			b.Fatal(err)
		}
	}
}

func TestPrefix(t *testing.T) {
	for src, want := range map[string]string{
		"STATUS#{Status}": "STATUS#…", "{Status}#x": "…", "USER": "USER", "a{{b}}c": "a{b}c", "{{{A}": "{…",
	} {
		tpl, err := Parse(src, Options{})
		if err != nil {
			t.Fatal(err)
		}
		text, whole := tpl.Prefix()
		if !whole {
			text += "…"
		}
		if text != want {
			t.Errorf("%s begins with %s, want %s", src, text, want)
		}
	}
}

func TestEachPaths(t *testing.T) {
	tpl, err := Parse(`{each.sku}#{PK}#{each[0].a?}#{each}#{each["first-name"]|lower}#{["each"].x}`, Options{Each: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(tpl.EachPaths(), " "), `each.sku each[0].a each each["first-name"]`; got != want {
		t.Errorf("paths in the element are %s, want %s", got, want)
	}
	if got, want := strings.Join(tpl.Paths(), " "), `PK ["each"].x`; got != want {
		t.Errorf("paths in the item are %s, want %s", got, want)
	}
}
