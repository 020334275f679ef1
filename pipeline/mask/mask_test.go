package mask_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
)

func patternsOf(t rapidT, texts ...string) []item.Pattern {
	t.Helper()
	var ps []item.Pattern
	for _, text := range texts {
		p, err := item.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	return ps
}

// rapidT has the methods that testing.T and rapid.T share.
type rapidT interface {
	Helper()
	Fatal(args ...any)
}

func maskOf(t rapidT, patterns ...string) *mask.Mask {
	t.Helper()
	m, err := mask.New(patternsOf(t, patterns...), []byte("a secret of the test"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func itemOf(t rapidT, json string) item.Image {
	t.Helper()
	m, err := item.Parse([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// plain returns an image as plain JSON, with its masked values as ***.
func plain(m item.Image) string {
	text := string(m.AppendJSON(nil))
	for {
		i := strings.Index(text, "masked-")
		if i < 0 {
			return text
		}
		text = text[:i] + "***" + text[i+len("masked-")+12:]
	}
}

const person = `{"PK":{"S":"USER#1"},"Email":{"S":"ada@example.com"},
	"Address":{"M":{"City":{"S":"Berlin"},"Geo":{"M":{"Lat":{"N":"52.5"},"Lon":{"N":"13.4"}}}}},
	"Lines":{"L":[{"M":{"sku":{"S":"p1"},"serial":{"S":"A-1"}}},{"M":{"sku":{"S":"p2"}}},{"S":"text"}]},
	"Tags":{"SS":["vip","new"]},"first-name":{"S":"Ada"},"aws:rep:deleting":{"BOOL":false},"Gone":{"NULL":true}}`

func TestMask_Image(t *testing.T) {
	for _, c := range []struct{ patterns, allowed, masked, without string }{
		{"Email", "", `"Email":"***"`, ``},
		{"Address.**", "", `"Address":"***"`, ``},
		{"Address", "", `"Address":"***"`, ``},
		{"Address.City", "", `"Address":{"City":"***","Geo":{"Lat":52.5,"Lon":13.4}}`, `"Address":{"Geo":{"Lat":52.5,"Lon":13.4}}`},
		{"Address.*", "", `"Address":{"City":"***","Geo":"***"}`, `"Address":{}`},
		{"Address.*.Lat", "", `"Address":{"City":"Berlin","Geo":{"Lat":"***","Lon":13.4}}`, `"Address":{"City":"Berlin","Geo":{"Lon":13.4}}`},
		{"Address.**", "Address.City", `"Address":{"City":"Berlin","Geo":"***"}`, `"Address":{"City":"Berlin"}`},
		{"Address.**", "Address.Geo.Lat", `"Address":{"City":"***","Geo":{"Lat":52.5,"Lon":"***"}}`, `"Address":{"Geo":{"Lat":52.5}}`},
		{"Lines[*].serial", "", `"Lines":[{"sku":"p1","serial":"***"},{"sku":"p2"},"text"]`, `"Lines":[{"sku":"p1"},{"sku":"p2"},"text"]`},
		{"Lines[1]", "", `"Lines":[{"sku":"p1","serial":"A-1"},"***","text"]`, `"Lines":[{"sku":"p1","serial":"A-1"},"text"]`},
		{"Lines[*]", "Lines[0]", `"Lines":[{"sku":"p1","serial":"A-1"},"***","***"]`, `"Lines":[{"sku":"p1","serial":"A-1"}]`},
		{"Tags", "", `"Tags":"***"`, ``},
		{"Tags[*]", "", `"Tags":"***"`, ``},
		{"Tags[0]", "", `"Tags":"***"`, ``},
		{"Tags", "Tags[*]", `"Tags":["vip","new"]`, `"Tags":["vip","new"]`},
		{`["first-name"]`, "", `"first-name":"***"`, ``},
		{"Gone", "", `"Gone":"***"`, ``},
		{"Email.part", "", `"Email":"ada@example.com"`, `"Email":"ada@example.com"`}, // the path does not exist
		{"Email Address", "", "", ""},
	} {
		if c.masked == "" {
			continue
		}
		m, item := maskOf(t, c.patterns), itemOf(t, person)
		if c.allowed != "" {
			m = m.Except(patternsOf(t, c.allowed))
		}
		if got := plain(m.Image(item)); !strings.Contains(got, c.masked) {
			t.Errorf("%s except %q: %s, want %s", c.patterns, c.allowed, got, c.masked)
		}
		name := strings.SplitN(c.masked, ":", 2)[0]
		got := plain(m.Without(item))
		if c.without == "" && strings.Contains(got, name) || !strings.Contains(got, c.without) {
			t.Errorf("%s except %q left out: %s, want %s", c.patterns, c.allowed, got, c.without)
		}
	}
	all := maskOf(t, "**").Image(itemOf(t, person))
	if want := `{"PK":"***","Email":"***","Address":"***","Lines":"***","Tags":"***","first-name":"***","aws:rep:deleting":false,"Gone":"***"}`; plain(all) != want {
		t.Errorf("**: %s", plain(all))
	}
	if none := maskOf(t, "**").Without(itemOf(t, `{"PK":{"S":"x"}}`)); !none.Exists() || none.Len() != 0 {
		t.Errorf("an item of hidden attributes is %v, want one without attributes", none.Value())
	}
}

// A masked text shows only whether values are equal. Values that are equal have the same text, other values have other
// texts, and another key gives other texts.
func TestMask_EqualStaysEqual(t *testing.T) {
	text := func(m *mask.Mask, json string) string {
		v, err := item.ParseValue([]byte(json))
		if err != nil {
			t.Fatal(err)
		}
		s, _ := m.Value("X", v).Text()
		return s
	}
	m := maskOf(t, "X")
	groups := [][]string{
		{`{"S":"1"}`, `{"S":"\u0031"}`},
		{`{"N":"1"}`, `{"N":"1.0"}`, `{"N":"1E0"}`},
		{`{"B":"MQ=="}`},
		{`{"BOOL":true}`}, {`{"BOOL":false}`}, {`{"NULL":true}`},
		{`{"SS":["a","b"]}`, `{"SS":["b","a"]}`}, {`{"SS":["ab"]}`},
		{`{"NS":["1","2"]}`, `{"NS":["2.0","1"]}`},
		{`{"L":[{"S":"a"},{"S":"b"}]}`}, {`{"L":[{"S":"b"},{"S":"a"}]}`}, {`{"L":[{"S":"ab"}]}`},
		{`{"M":{"a":{"N":"1"},"b":{"S":""}}}`, `{"M":{"b":{"S":""},"\u0061":{"N":"1.00"}}}`}, {`{"M":{"a":{"N":"2"},"b":{"S":""}}}`},
	}
	seen := map[string]int{}
	for g, group := range groups {
		for _, json := range group {
			got := text(m, json)
			if len(got) != len("masked-0123456789ab") || got != text(m, group[0]) {
				t.Errorf("%s is %q, and %s is %q", json, got, group[0], text(m, group[0]))
			}
			if other, there := seen[got]; there && other != g {
				t.Errorf("%s and %s have one text", json, groups[other][0])
			}
			seen[got] = g
		}
	}
	other, err := mask.New(patternsOf(t, "X"), []byte("another secret"))
	if err != nil {
		t.Fatal(err)
	}
	if text(m, `{"S":"1"}`) == text(other, `{"S":"1"}`) {
		t.Error("two keys make one text")
	}
	if got, want := m.Text("1"), text(m, `{"S":"1"}`); got != want {
		t.Errorf("the text of 1 is %s, as an S it is %s", got, want)
	}
}

func TestMask_None(t *testing.T) {
	if m, err := mask.New(nil, nil); m != nil || err != nil {
		t.Errorf("a mask of no patterns is %v, %v", m, err)
	}
	if _, err := mask.New(patternsOf(t, "Email"), nil); err == nil || !strings.Contains(err.Error(), "key is empty") {
		t.Errorf("without a key: %v", err)
	}
	var m *mask.Mask
	item := itemOf(t, person)
	v, _ := item.Get("Email")
	c := &record.Change{Keys: item, New: item, Key: "k"}
	if m.Image(item).Value().String() != item.Value().String() || m.Without(item).Len() != item.Len() || !m.Value("Email", v).Equal(v) ||
		m.Change(c) != c || m.Hides("Email") || m.Text("x") != "x" || m.Key(c) != "k" || m.Except(nil) != nil || len(m.Patterns()) != 0 {
		t.Error("a nil mask hides something")
	}
}

func TestMask_HidesAndExcept(t *testing.T) {
	m := maskOf(t, "Email", "Address.**", "Lines[*].serial")
	for path, want := range map[string]bool{
		"Email": true, "Email.part": true, "Address": true, "Address.City": true, "Lines": true, "Lines[*].serial": true, "Lines[3].serial": true,
		"**": true, "*": true, "Lines[*]": true, "not a path": true, "": true,
		"Name": false, "Lines[0].sku": false, "Lines[*].sku": false, "EmailTo": false, "Lines.serial": false,
	} {
		if got := m.Hides(path); got != want {
			t.Errorf("it hides %q: %v", path, got)
		}
	}
	e := m.Except(patternsOf(t, "Email", "Address.City"))
	for path, want := range map[string]bool{"Email": false, "Address.City": false, "Address": true, "Address.Street": true, "Lines": true} {
		if got := e.Hides(path); got != want {
			t.Errorf("with exceptions it hides %q: %v", path, got)
		}
	}
	for _, allowed := range [][]string{{"Email", "Address", "Lines"}, {"*"}, {"**"}, {"Email", "Address.**", "Lines[*].serial"}} {
		if left := m.Except(patternsOf(t, allowed...)); left != nil {
			t.Errorf("except %q it hides %v", allowed, left.Patterns())
		}
	}
	if left := m.Except(patternsOf(t, "Address.*", "Lines[0].serial", "Email.x")); len(left.Patterns()) != 3 {
		t.Errorf("parts that are allowed leave %v", left.Patterns())
	}
	var names []string
	for _, p := range m.Patterns() {
		names = append(names, p.String())
	}
	if !slices.Equal(names, []string{"Email", "Address.**", "Lines[*].serial"}) {
		t.Errorf("the patterns are %q", names)
	}
}

// Hidden values leave no trace, and nothing else is lost. The test compares the attributes one by one.
func TestMask_Property(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := pipelinetest.DynamoJSON{T: t}
		inner := g.Item(rapid.IntRange(0, 3).Draw(t, "n"), 2)
		const mapName = "the map inside" // a name that the other attributes have in no draw
		it := itemOf(t, g.Item(4, 3, `"`+mapName+`":{"M":`+inner+`}`))
		names := []string{mapName}
		for name := range it.All() {
			names = append(names, name)
		}
		hidden := rapid.SampledFrom(names).Draw(t, "hidden")
		m := maskOf(t, pathTo(hidden))
		for _, got := range []item.Image{m.Image(it), m.Without(it)} {
			for name, v := range it.All() {
				w, ok := got.Get(name)
				if name != hidden && (!ok || !v.Equal(w)) {
					t.Fatalf("hiding %q changed %q: %v to %v", hidden, name, v, w)
				}
				if name == hidden && ok && w.String() != m.Value(pathTo(name), v).String() {
					t.Fatalf("%q is %v", name, w)
				}
			}
		}
		if without := m.Without(it); without.Len() != it.Len()-1 {
			t.Fatalf("%d attributes of %d are left", without.Len(), it.Len())
		}
	})
}

// pathTo returns the path of an attribute with any name.
func pathTo(name string) string {
	return `["` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\x00", `\x00`, "\n", `\n`, "\r", `\r`, "\a", `\a`).Replace(name) + `"]`
}

func TestMask_NothingHiddenCostsNothing(t *testing.T) {
	it := itemOf(t, person)
	m := maskOf(t, "Phone", "Address.Street", "Lines[*].price", "Address.Geo.Alt", "Address.*.x", `["a-b"].c`).Except(patternsOf(t, "Lines[0]"))
	c := &record.Change{Keys: it, New: it, Old: it}
	path, err := item.ParsePath("Address.Geo.Lat")
	if err != nil {
		t.Fatal(err)
	}
	v, _ := it.At(path)
	if n := testing.AllocsPerRun(100, func() {
		if m.Change(c) != c || m.Image(it).Len() != it.Len() || m.Key(c) != c.Key {
			t.Error("it hides something")
		}
		if _, hidden := m.ValueAt(path, v); hidden {
			t.Error("it hides a value")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
