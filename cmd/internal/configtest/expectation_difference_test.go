package configtest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
)

// runFile runs the only case of a file.
func runFile(t *testing.T, configuration, text string) *Result {
	t.Helper()
	cfg, err := config.Parse("shop.yaml", []byte(configuration), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse("shop_test.yaml", []byte(text), cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := Run(t.Context(), cfg, f.Cases)[0]
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r
}

// A list of changes matches objects by their contents, of a sink and of a bucket, whatever their names are.
func TestCompare_ListOfObjects(t *testing.T) {
	const configuration = "version: 1\nname: shop\nsource: {table: shop}\nsinks:\n" +
		"  deleted: {archive: {bucket: shop-archive, layout: per_item, kinds: [user_delete], key: 'deleted/{PK}/{@version}.json'}}\n" +
		"  history: {archive: {bucket: shop-archive, prefix: changes/}}\n"
	const given = "keys: [PK]\ntests:\n- name: one\n  given: [{old: {PK: a}}, {old: {PK: b}}]\n  expect: {objects: "
	const a, b, both = "{op: REMOVE, old: {PK: a}}", "{op: REMOVE, old: {PK: b}}", "{op: REMOVE, old: {PK: a}}, {op: REMOVE, old: {PK: b}}"
	for objects, want := range map[string]string{
		"{deleted: [" + both + "]}":                                             "",
		"{history: [" + both + "]}":                                             "",
		"{shop-archive: [" + both + ", " + both + "]}":                          "",
		"{deleted: {deleted/a/*.json: " + a + ", deleted/b/*.json: " + b + "}}": "",
		"{deleted: [" + a + "]}":                                                "+ deleted/b/",
		"{deleted: [" + both + ", {op: REMOVE, old: {PK: c}}]}":                 "- {op: REMOVE, old: {PK: c}}",
		"{deleted: [" + b + ", " + a + "]}":                                     "  in another order:",
		"{deleted: {x: " + a + ", deleted/b/*.json: " + b + "}}":                "- x: " + a,
	} {
		var lines []string
		for _, d := range runFile(t, configuration, given+objects+"}\n").Differences {
			lines = append(lines, d.Lines...)
		}
		hasWanted := slices.ContainsFunc(lines, func(l string) bool { return want != "" && strings.HasPrefix(l, want) })
		if len(lines) > 0 != hasWanted {
			t.Errorf("%s: %q, want %q", objects, lines, want)
		}
	}
}

// Numbers are compared by value, and shown as they are written. A number that DynamoDB cannot store equals no other one.
func TestCompare_Numbers(t *testing.T) {
	for _, c := range []struct{ want, got, line string }{
		{"10.50", "10.5", ""},
		{"1e2", "100", ""},
		{"10.50", "11", "    score: want 10.50, got 11"},
		{"1e200", "1e200", ""},
		{"1e200", "10.0E+199", ""},
		{"-0.010e-200", "-1e-202", ""},
		{"1e200", "1e201", "    score: want '1e200', got '1e201'"},
		{"-1e200", "1e200", "    score: want '-1e200', got '1e200'"},
		{"0", "1e200", "    score: want 0, got '1e200'"},
		{"0", "1e-200", "    score: want 0, got '1e-200'"},
		{"12345678901234567890123456789012345678", "123456789012345678901234567890123456789", "    score: want 12345678901234567890123456789012345678, got '123456789012345678901234567890123456789'"},
	} {
		want, problems := readPlain("score: "+c.want, plain)
		if len(problems) > 0 {
			t.Errorf("%s: %v", c.want, problems)
			continue
		}
		x := expectation{section: documents, contents: entries{named: true, list: []entry{{"id", want}}}}
		got := entries{named: true, list: []entry{{"id", plainJSON([]byte(`{"score":` + c.got + `}`))}}}
		lines := compare(x, got, nil)
		if isDifferent := c.line != ""; len(lines) > 0 != isDifferent || isDifferent && !slices.Contains(lines, c.line) {
			t.Errorf("%s and %s: %q, want %q", c.want, c.got, lines, c.line)
		}
	}
}
