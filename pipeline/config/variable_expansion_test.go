package config_test

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
)

// The value of an environment variable is always text: literal text in a template and a string in an expression,
// whatever characters it contains.
func TestEnvironmentIsText(t *testing.T) {
	item, err := item.Parse([]byte(`{"Status":{"S":"a\"b'c\\d"},"Brace":{"S":"{Status}"},"D":{"S":"x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for src, want := range map[string]string{
		`'${BRACES}'`:                           "{Status}",
		`'a{D}${BRACES}{D}'`:                    "ax{Status}x",
		`'{{${HOST}}}'`:                         "{crm.example}",
		`'{Gone?|default:${BRACES}}'`:           "{Status}",
		`'{Gone?|default:${QUOTES}}'`:           `a"b'c\d`,
		`'{D|default:a\:b}-${COUNT}'`:           "x-7",
		`'$${D}'`:                               "$x", // $$ is a $, and the template then reads {D}
		`'$${{D}}'`:                             "${D}",
		`'$5 and $'`:                            "$5 and $",
		`"${HOST}"`:                             "crm.example",
		`'{["x}${"]?|default:n}'`:               "",
		`'{D}${COUNT}'`:                         "x7",
		`'{D|default:\}${HOST}}'`:               "x",
		"'{Gone?|default:a|default:${BRACES}}'": "a",
	} {
		if want == "" {
			continue
		}
		cfg := parse(t, sink("view: {table: v, key: {PK: '{@key}'}, attributes: {a: "+src+"}}"))
		v, missing, err := cfg.Sinks[0].View.Attributes[0].Template.Value(template.Scope{Item: item})
		if got, _ := v.Text(); got != want || err != nil || missing != "" {
			t.Errorf("%s is %q (missing %q, %v), want %q", src, got, missing, err, want)
		}
	}
	for src, want := range map[string]bool{
		`'item.Brace == ${BRACES}'`:          true,
		`'item.Brace == "${BRACES}"'`:        true,
		`'item.Status == ${QUOTES}'`:         true,
		`'item.Status == "${QUOTES}"'`:       true,
		`"item.Status == '${QUOTES}'"`:       true,
		`'item.D == "\"" || "x" == item.D'`:  true,
		`'item.D == "${COUNT}"'`:             false,
		`'item.Brace == "$" + "{Status}"'`:   false,
		`'item.D + "${COUNT}" == "x7"'`:      true,
		`'item.D in ["${HOST}", "x"]'`:       true,
		`'item.Brace == "$${BRACES}"'`:       false,
		`'item.Brace != "$${BRACES}"'`:       true,
		`'"${BRACES}".contains(item.Brace)'`: true,

		`'item.Status == """${QUOTES}"""'`:                  true,
		`'item.D == """a"b""" || item.Status == ${QUOTES}'`: true,
		`'item.D + """ "${COUNT}" """ == "x \"7\" "'`:       true,
		`'item.D == "" || item.Status == "${QUOTES}"'`:      true,
	} {
		cfg := parse(t, sink("search: {index: i, when: "+src+"}"))
		if got, err := cfg.Sinks[0].WhenItem.Match(item); got != want || err != nil {
			t.Errorf("%s is %v (%v), want %v", src, got, err, want)
		}
	}
}

// A key that needs a number or a word parses it from the text of an environment variable.
func TestEnvironmentAsOtherTypes(t *testing.T) {
	cfg := parse(t, sink("custom: {name: c, concurrency: '${COUNT}', rate: '${COUNT}.5'}"))
	if s := cfg.Sinks[0]; s.Concurrency != 7 || s.Rate != 7.5 {
		t.Errorf("concurrency %d, rate %v", s.Concurrency, s.Rate)
	}
	cfg = parse(t, sink("archive: {layout: '${WORD}', key: '{@key}/{@version}'}"))
	if !cfg.Sinks[0].Archive.PerItem {
		t.Error("layout ${WORD} is not per_item")
	}
	for _, body := range []string{"custom: {name: c, concurrency: '${HOST}'}", "custom: {name: c, concurrency: '7'}", "archive: {layout: '${HOST}'}"} {
		if ps := refused(t, sink(body)); len(ps) != 1 {
			t.Errorf("%s: %v", body, ps)
		}
	}
}

func TestEnvironmentIsNotReadInNames(t *testing.T) {
	ps := refused(t, sink("view: {table: v, key: {'${HOST}': '{@key}'}}"))
	if len(ps) != 1 || !strings.Contains(ps[0].Message, "not read in names") {
		t.Errorf("%v", ps)
	}
}

func TestWith(t *testing.T) {
	cfg, err := load(t, "testdata/good/state.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		URL     string   `yaml:"url"`
		Retries int      `yaml:"retries"`
		Since   string   `yaml:"since"`
		Tags    []string `yaml:"tags"`
	}
	with := cfg.Sinks[2].Custom.With
	if err := with.Decode(&settings); err != nil {
		t.Fatal(err)
	}
	if settings.URL != "https://crm.example/v1" || settings.Retries != 3 || settings.Since != "2006-01-02" || len(settings.Tags) != 2 {
		t.Errorf("settings %+v", settings)
	}
	var other struct{ Retries int }
	if err := with.Decode(&other); err == nil || !strings.Contains(err.Error(), "field url not found") {
		t.Errorf("unknown key: %v", err)
	}
	var wrong struct {
		URL, Since string
		Tags       []string
		Retries    []int
	}
	if err := with.Decode(&wrong); err == nil || !strings.Contains(err.Error(), "state.yaml: with (line 29): ") {
		t.Errorf("wrong type: %v", err)
	}
	untouched := 5
	if err := parse(t, sink("custom: {name: c}")).Sinks[0].Custom.With.Decode(&untouched); err != nil || untouched != 5 {
		t.Errorf("without a with: %v, %d", err, untouched)
	}
}

// A variable that is not set, or is empty, has its default. The default is text too.
func TestEnvironmentDefaults(t *testing.T) {
	env := map[string]string{"SET": "set", "EMPTY": ""}
	getenv := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	for src, want := range map[string]string{
		"${SET:-default}":                        "set",
		"${EMPTY:-default}":                      "default",
		"${NONE:-default}":                       "default",
		"${NONE:-}":                              "",
		"${EMPTY}":                               "",
		"${NONE:-https://localhost:9200}":        "https://localhost:9200",
		"a${NONE:-b}c${SET:-d}":                  "abcset",
		"$${{NONE:-default}}":                    "${NONE:-default}",
		"${NONE:-a:-b}":                          "a:-b",
		"${NONE:-${SET}":                         "${SET",
		"${NONE:-{Status}":                       "{Status",
		"${NONE:-a b#c, [d]: 'e'}":               "a b#c, [d]: 'e'",
		"{Gone?|default:${NONE:-a|b}}":           "a|b",
		"{{${NONE:-x}}}":                         "{x}",
		"{Gone?|default:${NONE:-STATUS#}}${SET}": "STATUS#set",
	} {
		file := sink("view: {table: v, key: {PK: '{@key}'}, attributes: {a: \"x" + src + "\"}}")
		cfg, err := config.Parse("t.yaml", []byte(file), getenv)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		v, _, err := cfg.Sinks[0].View.Attributes[0].Template.Value(template.Scope{})
		if got, _ := v.Text(); got != "x"+want || err != nil {
			t.Errorf("%s is %q (%v), want %q", src, got, err, "x"+want)
		}
	}
	for _, src := range []string{"${NONE}", "${NONE-x}", "${:-x}", "${1:-x}", "${NONE:-x", "${NONE :-x}"} {
		if _, err := config.Parse("t.yaml", []byte(sink("archive: {prefix: \""+src+"\"}")), getenv); err == nil {
			t.Errorf("%s: taken", src)
		}
	}
}
