package template

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
)

func maskOf(t testing.TB, patterns ...string) *mask.Mask {
	t.Helper()
	var ps []item.Pattern
	for _, text := range patterns {
		p, err := item.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	m, err := mask.New(ps, []byte("a secret of the test"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The mask hides the result of a placeholder that reads a hidden value, after its functions. The mask makes no
// placeholder fail or go missing.
func TestTemplate_Masked(t *testing.T) {
	m := maskOf(t, "Status", "Total", "CreatedAt", "Address.**", "Lines[*].sku", "PK")
	shard := strconv.Itoa(item.Shard("USER%2342", 256))
	item := image(t, order)
	c := &record.Change{Keys: image(t, `{"PK":{"S":"USER#42"}}`), Key: "USER%2342", Op: record.Insert}
	lines, _ := item.Get("Lines")
	line, _ := lines.Index(0)
	s := Scope{Change: c, Item: item, Each: line, EachOf: "Lines[*]", Shards: 256, Mask: m}
	value := func(path string) string {
		v, _ := item.Lookup(path)
		text, _ := m.Value(path, v).Text()
		return text
	}
	for src, want := range map[string]string{
		"STATUS#{Status}":             "STATUS#" + value("Status"),
		"{Status|esc}":                value("Status"),
		"{Status|lower}":              m.Text("paid"),
		"{Status|lower}#{SK}":         m.Text("paid") + "#ORDER#2026#7",
		"{Total}x":                    value("Total") + "x",
		"{Total|pad:9}":               m.Text("000000105"),
		"{CreatedAt|date:2006-01-02}": m.Text("2026-01-02"),
		"{Address.City}!":             value("Address.City") + "!",
		"{Status|after:P}":            m.Text("aid"),
		"{Nothing|default:none}":      "none",
		"{each.sku}":                  m.Text("A-1"),
		"{each.sku}#{each.qty}":       m.Text("A-1") + "#2",
		"{each.qty}":                  "2",
		"{@key}":                      string(m.Key(c)),
		"{@key|lower}":                m.Text("user%2342"),
		"S#{@shard}":                  "S#" + m.Text(shard),
		"{@op}#{SK}":                  "INSERT#ORDER#2026#7",
		"{{{Gift}}}":                  "{true}",
	} {
		out, missing, err := parse(t, src).AppendText(nil, s)
		if string(out) != want || missing != "" || err != nil {
			t.Errorf("%s is %q (%q, %v), want %q", src, out, missing, err, want)
		}
		key, err := parse(t, src).AppendObjectKey(nil, s)
		if masked := strings.Contains(want, "masked-"); err != nil || masked != strings.Contains(string(key), "masked-") {
			t.Errorf("%s as an object key is %q, %v", src, key, err)
		}
	}
	for src, want := range map[string]string{
		"{Status}": value("Status"), "{Total}": value("Total"), "{Address}": value("Address"), "{each.sku}": m.Text("A-1"),
	} {
		v, missing, err := parse(t, src).Value(s)
		if text, _ := v.Text(); text != want || missing != "" || err != nil {
			t.Errorf("%s is %v (%q, %v), want %s", src, v, missing, err, want)
		}
	}
	lineless, _, err := parse(t, "{Lines}").Value(s)
	if err != nil || strings.Contains(lineless.String(), "A-1") || !strings.Contains(lineless.String(), `"qty":{"N":"2"}`) {
		t.Errorf("a list of which a part is hidden is %v, %v", lineless, err)
	}
	for _, src := range []string{"{Status|after:x}", "{Missing}", "{Empty}"} {
		_, without, err1 := parse(t, src).AppendText(nil, Scope{Item: item})
		out, with, err2 := parse(t, src).AppendText(nil, s)
		if with == "" || with != without || err1 != nil || err2 != nil || len(out) > 0 {
			t.Errorf("%s misses %q, and %q where it is masked: %q, %v, %v", src, without, with, out, err1, err2)
		}
	}
}

func TestTemplate_MaskOfNothingHiddenCostsNothing(t *testing.T) {
	item := image(t, order)
	c := &record.Change{Keys: image(t, `{"PK":{"S":"USER#42"}}`), Key: "USER%2342"}
	s := Scope{Change: c, Item: item, Mask: maskOf(t, "Email", "Address.Street")}
	tpl := parse(t, "{Status}#{Address.City}#{@key}")
	var buf [256]byte
	if n := testing.AllocsPerRun(100, func() {
		if out, _, err := tpl.AppendText(buf[:0], s); err != nil || len(out) == 0 {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
