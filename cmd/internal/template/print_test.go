package template_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/cmd/internal/template"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/policy"
)

// The output equals the golden files for the shop, for a pipeline with a secret, several tables and requested TTL
// deletes, and for the longest name of a pipeline.
func TestPrinted(t *testing.T) {
	for name, file := range map[string]string{
		"shop": filepath.Join(root, "test", "fixtures", "shop", "tablewake.yaml"),
		"many": filepath.Join("testdata", "many.yaml"),
		"long": filepath.Join("testdata", "long.yaml"),
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		env := func(name string) (string, bool) {
			v, ok := map[string]string{"HMAC": "sixteen bytes of it", "BUCKET": "archive"}[name]
			return v, ok
		}
		cfg := load(t, file, env)
		cfg.File = filepath.Join("config", "tablewake.yaml") // path of the file for a reader
		o := template.Options{Environment: template.ReadEnvironment(text, cfg.Name, env)}
		for out, print := range map[string]func(io.Writer, *config.Config, template.Options) error{
			".filters.yaml": template.Filters, ".policies.yaml": template.Policies, ".template.yaml": template.SAM, ".tf": template.Terraform,
			".storage.yaml": template.CloudFormation,
		} {
			var b bytes.Buffer
			if err := print(&b, cfg, o); err != nil {
				t.Errorf("%s%s: %v", name, out, err)
			}
			golden(t, filepath.Join("testdata", name+out), b.Bytes())
			if strings.Contains(b.String(), "sixteen bytes") {
				t.Errorf("%s%s shows the secret", name, out)
			}
		}
	}
}

func TestEnvironmentOf(t *testing.T) {
	file := `# ${COMMENT}
name: '${NAME:-x}'
hmac_key: '${HMAC}'
connections: {os: {opensearch: '${URL}', user: u, password: '${PASS:-}'}}
sinks: {a: {archive: {bucket: 'b-${NAME}-$${NOT}', prefix: '${DEFAULT:-p}${NEXT}$$${NOT}'}}}
`
	got := template.ReadEnvironment([]byte(file), "shop", func(name string) (string, bool) {
		v, ok := map[string]string{"NAME": "it's", "URL": "https://x", "HMAC": "secret", "NOT": "never", "NEXT": "n"}[name]
		return v, ok
	})
	want := []template.Variable{
		{Name: "NAME", Value: "'it''s'", Text: "it's"},
		{Name: "HMAC", Value: "ssm:/tablewake/shop/HMAC", Text: "ssm:/tablewake/shop/HMAC", Secret: true, ParameterName: "/tablewake/shop/HMAC"},
		{Name: "URL", Value: "'https://x'", Text: "https://x"},
		{Name: "PASS", Value: "ssm:/tablewake/shop/PASS", Text: "ssm:/tablewake/shop/PASS", Secret: true, ParameterName: "/tablewake/shop/PASS"},
		{Name: "NEXT", Value: "'n'", Text: "n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every value that may be a secret is printed as a reference, however YAML writes the value.
func TestNoSecretIsPrinted(t *testing.T) {
	const open, hidden = "open", "very secret"
	for name, file := range map[string]string{
		"a key of its own":                "hmac_key: '${V}'\n",
		"on the next line":                "connections:\n  os:\n    password:\n      '${V}'\n",
		"a folded text":                   "connections:\n  os:\n    password: >-\n      ${V}\n",
		"after a comment":                 "connections:\n  os:\n    password: # a key\n      \"${V}\"\n",
		"a sink's own settings":           "sinks: {crm: {custom: {use: crm, with: {token: '${V}'}}}}\n",
		"deep in them":                    "sinks:\n  crm:\n    custom:\n      with:\n        - headers: [{name: a, value: 'Bearer ${V}'}]\n",
		"a key in them":                   "sinks: {crm: {custom: {with: {'${V}': 1}}}}\n",
		"by an alias":                     "name: &n '${V}'\nsinks: {crm: {custom: {with: *n}}}\n",
		"there and elsewhere":             "name: '${V}'\nhmac_key: '${V}'\n",
		"the password of a URL":           "connections: {os: {opensearch: 'https://me:${V}@host:9200'}}\n",
		"one with a default":              "sinks: {crm: {custom: {with: {token: '${V:-none}'}}}}\n",
		"a URL's, which stands elsewhere": "name: a\nconnections: {os: {opensearch: '${URL}'}}\n",
		"a token of a URL":                "connections: {os: {opensearch: '${TOKEN}'}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			got := template.ReadEnvironment([]byte(file+"source: {table: '${TABLE}'}\n"), "shop", func(name string) (string, bool) {
				return map[string]string{"V": hidden, "TABLE": open, "URL": "https://me:" + hidden + "@host", "TOKEN": "https://host/?token=" + hidden}[name], true
			})
			if len(got) != 2 || !got[0].Secret || strings.Contains(got[0].Value, hidden) || got[0].ParameterName != "/tablewake/shop/"+got[0].Name {
				t.Errorf("it is %+v", got)
			}
			if len(got) == 2 && (got[1].Secret || got[1].Value != "'"+open+"'") {
				t.Errorf("the table, which is none, is %+v", got[1])
			}
		})
	}
}

// The configuration must be in a folder of its own, because that folder becomes the layer.
func TestTheLayerIsAFolderOfItsOwn(t *testing.T) {
	for _, file := range []string{"tablewake.yaml", "./tablewake.yaml", filepath.Join("..", "tablewake.yaml")} {
		cfg, err := config.Parse(file, []byte("version: 1\nname: x\nsource: {table: shop}\nsinks: {all: {archive: {bucket: bucket}}}\n"), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		for _, print := range []func(io.Writer, *config.Config, template.Options) error{template.SAM, template.Terraform} {
			if err := print(io.Discard, cfg, template.Options{}); err == nil || !strings.Contains(err.Error(), "into a folder of its own") {
				t.Errorf("%s: it says %v", file, err)
			}
		}
	}
}

func TestAFunctionKeepsNoLettersInAFolder(t *testing.T) {
	cfg, err := config.Parse("tablewake.yaml", []byte("version: 1\nname: x\nsource: {table: shop}\nsinks: {all: {archive: {bucket: bucket}}}\ndead_letters: {dir: dead}\n"), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if err := template.SAM(io.Discard, cfg, template.Options{}); err == nil || !strings.Contains(err.Error(), "tablewake.yaml:5: dead_letters.dir") {
		t.Errorf("it says %v", err)
	}
}

// The rights in consume.md are those that are printed for the configuration in consume.md.
func TestConsumeShowsWhatIsPrinted(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "tablewake", "guide", "consume.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(doc), "**Rights** to run")
	if !found {
		t.Fatal("consume.md has no rights")
	}
	var shown []string
	for len(shown) < 3 {
		_, rest, begins := strings.Cut(section, "```yaml\n")
		block, rest, ends := strings.Cut(rest, "```")
		if !begins || !ends {
			t.Fatalf("it shows %d blocks of YAML, want a file and two policies", len(shown))
		}
		shown, section = append(shown, block), rest
	}
	cfg, err := config.Parse("tablewake.yaml", []byte(shown[0]), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range []policy.Runner{policy.Consumer, policy.Creator} {
		var b bytes.Buffer
		if err := template.Policies(&b, cfg, template.Options{Runner: r}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shown[i+1], b.String()); diff != "" {
			t.Errorf("(-consume.md +printed):\n%s", diff)
		}
	}
}
