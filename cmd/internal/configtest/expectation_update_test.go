package configtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/config"
)

const shop = `
version: 1
name: shop
source: {table: shop}
sinks:
  all:
    view: {table: items, key: {id: '{@key}'}, attributes: {v: '{v?}'}}
`

func shopConfig(t testing.TB) *config.Config {
	t.Helper()
	cfg, err := config.Parse("shop.yaml", []byte(shop), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// updated runs a file with update, then without, and returns its content. The second run must pass.
func updated(t testing.TB, cfg *config.Config, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop_test.yaml")
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	for _, again := range []bool{false, true} {
		f, err := Load(path, cfg)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var results []*Result
		for _, r := range Run(t.Context(), cfg, f.Cases) {
			if again && !r.Passed() {
				b, _ := os.ReadFile(path)
				t.Errorf("%s fails after the update: %v %v\n%s", r.Case.Name, r.Err, r.Differences, b)
			}
			results = append(results, r)
		}
		changed, err := f.Update(cfg, results)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if again && len(changed) > 0 {
			t.Errorf("a second update changes %d tests", len(changed))
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file's mode is %v now (%v)", info.Mode(), err)
	}
	return string(b)
}

// The update replaces an expectation with the result, however the expectation is written. The text around it stays.
func TestUpdateInPlace(t *testing.T) {
	const head = "keys: [PK]\ntests:\n- name: it's one # a comment\n  given: [{new: {PK: a}}]\n"
	for _, c := range []struct{ name, was, is string }{
		{"a flow list", "  expect: {rows: {all: [{id: 'it''s [', v: \"}\\\"\"}]}} # end\n", "  expect: {rows: {all: [{id: a}]}} # end\n"},
		{"over lines", "  expect: {rows: {all: [\n    {id: it's}, # ]\n    {id: b}\n    ]}, drops: []}\n", "  expect: {rows: {all: [{id: a}]}, drops: []}\n"},
		{"a quoted key", "  expect:\n    \"rows\": {'all' : []}\n", "  expect:\n    \"rows\": {'all' : [{id: a}]}\n"},
		{"lines", "  expect:\n    rows:\n      all:\n      - id: x\n        v: 1\n      # behind\n\n    drops: []\n", "  expect:\n    rows:\n      all:\n        - {id: a}\n      # behind\n\n    drops: []\n"},
		{"to nothing", "  expect:\n    drops:\n    - reason: x\n    - reason: y\n", "  expect:\n    drops: []\n"},
		{"from nothing", "  expect:\n    rows:\n      all: []\n    letters: []\n", "  expect:\n    rows:\n      all:\n        - {id: a}\n    letters: []\n"},
		{"behind the list's name", "  expect:\n    rows:\n      items:   [{id: 夜}, {id: b}]   # 夜\n", "  expect:\n    rows:\n      items:\n        - {id: a}   # 夜\n"},
		{"none yet", "", "  expect:\n    rows:\n      all:\n        - {id: a}\n"},
		{"none yet, and a comment", "  # how about it?\n", "  expect:\n    rows:\n      all:\n        - {id: a}\n  # how about it?\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			const next = "- name: two\n  given: [{new: {PK: b}}]\n  expect: {rows: {all: [{id:   b}]}}\n"
			for _, behind := range []string{"", next, "\n# two\n" + next} {
				if got, want := updated(t, shopConfig(t), head+c.was+behind), head+c.is+behind; got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
			}
		})
	}
}

// A file passes after the update, whatever its items hold.
func TestUpdatedPasses(t *testing.T) {
	cfg := shopConfig(t)
	rapid.Check(t, func(rt *rapid.T) {
		v := anyValue(2).Draw(rt, "value")
		text := "keys: [PK]\ntests:\n  - name: any\n    given:\n      - new: {PK: a, v: " + valueText(v) + "}\n"
		if rapid.Bool().Draw(rt, "expects") {
			text += "    expect: {rows: {all: []}}\n"
		}
		if got := updated(t, cfg, text); !strings.HasPrefix(got, text[:strings.Index(text+"    expect", "    expect")]) {
			rt.Fatalf("%s became\n%s", text, got)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("keys: [PK]\ntests:\n  - name: one\n    given: [{new: {PK: a, b: {$SS: [x]}}, at: 2026-01-01T00:00:00Z}]\n    expect: {rows: {all: [{id: a}]}, drops: []}\n"))
	f.Add([]byte("keys: {shop: [PK]}\ntests: [{name: x, given: [{old: {PK: {$B: aGk=}}, ttl: true, op: REMOVE}], expect: {letters: [{class: write}]}}]"))
	f.Add([]byte("keys: {}\ntests: [{name: x, given: [{new: {PK: a}}], expect: {drops: []}}]"))
	f.Add([]byte("keys: {shop: [0A]}\ntests: [{name: A, given: [{old}]}]"))
	f.Add([]byte("keys: {shop: [PK]}\ntests: [{name: A, given: [{old: {PK: a}, at: 1969-12-31T23:59:59Z}, {old: {PK: a}, at: 9999-12-31T23:59:59-01:00}]}, {name: B, given: [{old: {PK: a}, at: 9998-12-31T23:59:59Z}, {old: {PK: a}}]}]"))
	f.Add([]byte("keys: &a [*a]\ntests: *a"))
	cfg := shopConfig(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := parse("fuzz_test.yaml", b, cfg)
		if (file == nil) == (err == nil) {
			t.Fatal("neither a file nor an error, or both")
		}
		if err != nil {
			return
		}
		for _, c := range file.Cases {
			records := &recorder{cfg: cfg}
			for _, s := range c.Given { // each accepted step is a record that decodes
				if s.Fixture == "" {
					src, err := records.source(s)
					if err != nil {
						t.Fatal(err)
					}
					page, err := readDecoded(t.Context(), src)
					if err := errors.Join(err, src.Close()); err != nil || len(page.Errors) > 0 || len(page.Changes) != 1 {
						t.Fatalf("%s: %v %v", c.Name, err, page)
					}
				}
			}
		}
	})
}
