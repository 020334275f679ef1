package validate

import (
	"bytes"
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/sinks/local"
)

// soundFile has a sink of each kind. Each case of TestRefusals changes one place of the file.
const soundFile = `version: 1
name: shop
source: {table: shop}
attributes: {Rank: N}
hmac_key: '${KEY:-0123456789abcdef}'
sensitive: [Secret]
detect: {paid: {attribute: Status, from: open, to: paid}}
state: {table: shop-state}
connections: {os: {opensearch: 'http://127.0.0.1:1', auth: none}}
sinks:
  rows: {view: {table: rows, key: {PK: 'A#{@key}'}, attributes: {a: '{a}'}}}
  more: {view: {table: others, key: {PK: 'B#{@key}'}}}
  sums: {aggregate: {table: sums, group: {PK: 'g#{Type}'}, values: {n: count}, on_ttl_delete: keep}}
  docs: {search: {connection: os, index: docs, routing: '{PK}', fields: {hash: [Email], rename: {Name: title}, numbers: {Price: string}}, mapping: mapping.json}}
  each: {archive: {bucket: audit, masked: true, layout: per_item, key: 'i/{@key}/{@version}.json', tags: {team: shop}}}
  log: {archive: {bucket: audit, masked: true, prefix: changes/, partition: 'd={@op}', format: parquet, columns: {type: '{Type}'}}}
  told: {notify: {bus: events, events: [paid]}}
dead_letters: {dir: dead}
`

const soundMapping = `{"properties": {"Name": {"type": "text"}}}`

// refuser says which stores refuse a configuration.
type refuser int

const (
	planned  refuser = iota // the stores of every pipeline, even one that only plans
	embedded                // the stores of a folder
	real                    // the stores of AWS
)

// refusal is a fault of a file, and the same fault in a configuration after it was parsed.
type refusal struct {
	name     string
	old, new string               // a text of the file and its replacement; if old is "mapping", new is the whole of mapping.json
	fault    func(*config.Config) // makes the fault; nil: Assemble refuses the file with the fault
	by       refuser
	says     string // part of the error of Assemble
	source   string // start of the error's text in the source of the program
}

func sinkOf(cfg *config.Config, name string) *config.Sink {
	return &cfg.Sinks[slices.IndexFunc(cfg.Sinks, func(s config.Sink) bool { return s.Name == name })]
}

func templ(text string) *template.Template { return parsed(text, template.Options{}) }

// ofElement parses a template under for_each.
func ofElement(text string) *template.Template {
	return parsed(text, template.Options{Each: true, Identity: true})
}

func parsed(text string, o template.Options) *template.Template {
	made, err := template.Parse(text, o)
	if err != nil {
		panic(err)
	}
	return made
}

var refusals = []refusal{
	{"prefix with ..", "changes/,", "../changes/,", func(c *config.Config) { sinkOf(c, "log").Archive.Prefix = "../changes/" }, planned, "the segment ..", "archive: %s %q %s"},
	{"prefix that is absolute", "changes/,", "/changes/,", func(c *config.Config) { sinkOf(c, "log").Archive.Prefix = "/changes/" }, planned, "begins with /", "archive: %s %q %s"},
	{"prefix of the archive's own", "changes/,", "~changes/,", func(c *config.Config) { sinkOf(c, "log").Archive.Prefix = "~changes/" }, planned, "the archive's own", "archive: %s %q %s"},
	{"partition without text", "'d={@op}'", "'d={@op}//x'", func(c *config.Config) { sinkOf(c, "log").Archive.Partition = templ("d={@op}//x") }, planned, "without text", "archive: %s %q %s"},
	{"backslash in a key", "'i/{@key}/{@version}.json'", `'i\\{@key}/{@version}.json'`, func(c *config.Config) { sinkOf(c, "each").Archive.Key = templ(`i\\{@key}/{@version}.json`) }, planned, "folders are separated", "archive: %s %q %s"},
	{"key that ends as a log's", "{@version}.json", "{@version}.jsonl.gz", func(c *config.Config) { sinkOf(c, "each").Archive.Key = templ("i/{@key}/{@version}.jsonl.gz") }, planned, "objects of the layout", "archive: Key ends in"},
	{"tag of aws:", "{team: shop}", "{'aws:team': shop}", func(c *config.Config) { sinkOf(c, "each").Archive.Tags[0].Name = "aws:team" }, planned, "not a key of a tag", "archive: Tags: %q is not a key"},
	{"tag that changes", "d={@op}', format", "d={@op}', tags: {t: '{Type}'}, format", func(c *config.Config) {
		sinkOf(c, "log").Archive.Tags = []config.Column{{Name: "t", Template: templ("{Type}")}}
	}, planned, "differs from change to change", "archive: Tags: %s: %q differs"},
	{"column's name", "{type: '{Type}'}}}", "{Type: '{Type}'}}}", func(c *config.Config) { sinkOf(c, "log").Archive.Columns[0].Name = "Type" }, planned, "not a name of a column", "archive: Columns: %q is not a name"},
	{"column that is there", "{type: '{Type}'}}}", "{version: '{Type}'}}}", func(c *config.Config) { sinkOf(c, "log").Archive.Columns[0].Name = "version" }, planned, "every object has", "archive: Columns: every object"},
	{"long column", "{type: '{Type}'}}}", "{" + strings.Repeat("c", 256) + ": '{Type}'}}}", func(c *config.Config) { sinkOf(c, "log").Archive.Columns[0].Name = strings.Repeat("c", 256) }, planned, "not a name of a column", "archive: Columns: %q is not a name"},
	{"attribute without a name", "{a: '{a}'}", "{'': '{a}'}", func(c *config.Config) { sinkOf(c, "rows").View.Attributes[0].Name = "" }, planned, "each needs a name", "Attributes: each needs"},
	{"key attribute without a name", "{PK: 'B#{@key}'}", "{'': 'B#{@key}'}", func(c *config.Config) { sinkOf(c, "more").View.Key[0].Name = "" }, planned, "PK needs a name", "PK needs"},
	{"value without a name", "{n: count}", "{'': count}", func(c *config.Config) { sinkOf(c, "sums").Aggregate.Values[0].Name = "" }, planned, "each needs a name", "Values: each needs"},
	{"attribute of the row's own", "{a: '{a}'}", "{_twa: '{a}'}", func(c *config.Config) { sinkOf(c, "rows").View.Attributes[0].Name = "_twa" }, planned, "the store's", "attribute %q: names"},
	{"value of the row's own", "{n: count}", "{_twn: count}", func(c *config.Config) { sinkOf(c, "sums").Aggregate.Values[0].Name = "_twn" }, planned, "the store's", "value %q: names"},
	{"attribute twice", "{a: '{a}'}", "{PK: '{a}'}", func(c *config.Config) { sinkOf(c, "rows").View.Attributes[0].Name = "PK" }, planned, "given twice", "attribute %q %s"},
	{"value twice", "{n: count}", "{PK: count}", func(c *config.Config) { sinkOf(c, "sums").Aggregate.Values[0].Name = "PK" }, planned, "of that name already", "value %q: the row has"},
	{"key that changes", "'B#{@key}'", "'B#{@version}'", func(c *config.Config) { sinkOf(c, "more").View.Key[0].Template = templ("B#{@version}") }, planned, "differs from change to change", "key attribute %s: '%s' differs"},
	{"element without a list", "{n: count}", "{n: {sum: each.x}}", func(c *config.Config) {
		sinkOf(c, "sums").Aggregate.Values[0] = config.AggregateValue{Name: "n", Kind: "sum", Path: "x", Each: true}
	}, planned, "of an element", "value %q is of an element"},
	{"routing that is one", "'{PK}'", "one", func(c *config.Config) { sinkOf(c, "docs").Search.Routing = templ("one") }, planned, "the same for every item", "it is the same for every item"},
	{"routing that changes", "'{PK}'", "'{@op}'", func(c *config.Config) { sinkOf(c, "docs").Search.Routing = templ("{@op}") }, planned, "differs from change to change", "it differs from change to change"},
	{"routing of what is no key", "'{PK}'", "'{A.b}'", func(c *config.Config) { sinkOf(c, "docs").Search.Routing = templ("{A.b}") }, planned, "not a key attribute", "{%s} is not a key attribute: what"},
	{"element inside a list", "index: docs, ", "index: docs, for_each: 'L[0]', ", func(c *config.Config) {
		sinkOf(c, "docs").Search.ForEach = &config.ForEach{Path: "L[0]"}
	}, planned, "is into a list", "the path %s is into a list"},
	{"index of an element", "index: docs, routing", "for_each: L, create: on_demand, max_indexes: 9, index: 'docs-{each.a|index_name}', routing", func(c *config.Config) {
		sinkOf(c, "docs").Search.ForEach, sinkOf(c, "docs").Search.Index = &config.ForEach{Path: "L"}, ofElement("docs-{each.a|index_name}")
	}, planned, "reads the element", "the name of the index reads the element"},
	{"routing of an element", "routing: '{PK}'", "for_each: L, routing: '{PK}{@each}'", func(c *config.Config) {
		sinkOf(c, "docs").Search.ForEach, sinkOf(c, "docs").Search.Routing = &config.ForEach{Path: "L"}, ofElement("{PK}{@each}")
	}, planned, "reads the element", "the routing reads the element"},
	{"index that changes", "index: docs", "index: '{@op}'", func(c *config.Config) { sinkOf(c, "docs").Search.Index = templ("{@op}") }, planned, "by the change", "search: Index %q names"},
	{"field without a name", "{Name: title}", "{Name: ''}", func(c *config.Config) { sinkOf(c, "docs").Search.Fields.Rename["Name"] = "" }, planned, "cannot be named", "%q cannot be named"},
	{"two fields of a name", "{Name: title}", "{Name: title, Title: title}", func(c *config.Config) { sinkOf(c, "docs").Search.Fields.Rename["Title"] = "title" }, planned, "both named", "%q and %q are both"},
	{"field both ways", "hash: [Email]", "include: [A], exclude: [A], hash: [Email]", func(c *config.Config) {
		sinkOf(c, "docs").Search.Fields.Include, sinkOf(c, "docs").Search.Fields.Exclude = []string{"A"}, []string{"A"}
	}, planned, "included too", "Exclude: %q is included"},
	{"element of a list", "hash: [Email]", "hash: ['A[0]']", func(c *config.Config) { sinkOf(c, "docs").Search.Fields.Hash = []string{"A[0]"} }, planned, "an element of a list", "%q names an element"},
	{"hash too deep", "hash: [Email]", "hash: [a.b.c.d.e.f.g.h.i]", func(c *config.Config) { sinkOf(c, "docs").Search.Fields.Hash = []string{"a.b.c.d.e.f.g.h.i"} }, planned, "too deep", "%q is too deep"},
	{"no secret to hash with", "hmac_key: '${KEY:-0123456789abcdef}'\nsensitive: [Secret]\n", "", func(c *config.Config) { c.HMACKey, c.Sensitive = "", nil }, planned, "HMACKey is empty", "search: HMACKey"},
	{"no secret to mask with", "hmac_key: '${KEY:-0123456789abcdef}'\n", "", func(c *config.Config) { c.HMACKey = "" }, planned, "hmac_key", "%s: sensitive: hmac_key: %w"},

	{"table that is reserved", "table: rows,", "table: Tables,", func(c *config.Config) { sinkOf(c, "rows").View.Table.Name = "Tables" }, embedded, "are taken", ""},
	{"table of the store's own", "table: rows,", "table: _TW_rows,", func(c *config.Config) { sinkOf(c, "rows").View.Table.Name = "_TW_rows" }, embedded, "are taken", ""},
	{"table of the state's own", "table: rows,", "table: _tws_guards,", func(c *config.Config) { sinkOf(c, "rows").View.Table.Name = "_tws_guards" }, embedded, "are taken", ""},
	{"table of the engine's own", "table: rows,", "table: sqlite_rows,", func(c *config.Config) { sinkOf(c, "rows").View.Table.Name = "sqlite_rows" }, embedded, "are taken", ""},
	{"tables that differ in case", "table: sums,", "table: ROWS,", func(c *config.Config) { sinkOf(c, "sums").Aggregate.Table.Name = "ROWS" }, embedded, "only in case", ""},
	{"table with two keys", "table: others, key: {PK:", "table: rows, key: {ID:", func(c *config.Config) {
		sinkOf(c, "more").View.Table.Name, sinkOf(c, "more").View.Key[0].Name = "rows", "ID"
	}, embedded, "cannot have the key", ""},
	{"NUL in a key attribute", "{PK: 'B#{@key}'}", `{"P\0": 'B#{@key}'}`, func(c *config.Config) { sinkOf(c, "more").View.Key[0].Name = "P\x00" }, embedded, "are taken", ""},

	{"rows without a state", "state: {table: shop-state}\n", "", nil, real, "add state", "what must be remembered of items has no place"},
	{"no server", "connection: os, ", "", nil, real, "no server is named", "no server is named"},
	{"no bucket", "bucket: audit, masked: true, layout", "masked: true, layout", nil, real, "no bucket is named", "no bucket is named"},
	{"nothing that takes events", "bus: events, ", "", nil, real, "nothing is named that takes the events", "nothing is named that takes the events"},
	{"topic that is not an ARN", "bus: events, ", "topic: events, ", nil, real, "Topic is not an ARN", ""},
	{"mapping of the versions", "mapping", `{"properties": {"_tw": {}}}`, func(c *config.Config) {
		sinkOf(c, "docs").Search.Mapping = []byte(`{"properties": {"_tw": {}}}`)
	}, real, "maps _tw", ""},
	{"mapping with _source", "mapping", `{"_source": {}}`, func(c *config.Config) { sinkOf(c, "docs").Search.Mapping = []byte(`{"_source": {}}`) }, real, "says _source", ""},
	{"mapping beside settings", "mapping", `{"settings": {}, "properties": {}}`, func(c *config.Config) {
		sinkOf(c, "docs").Search.Mapping = []byte(`{"settings": {}, "properties": {}}`)
	}, real, "stands beside", ""},
	{"numbers without a mapping", "{Price: string}", "{Price: scaled_float}", nil, real, "loses digits", ""},
	{"a server that stores no script", "'http://127.0.0.1:1', auth: none", "'https://x.aoss.amazonaws.com'", nil, real, "stores none", ""},
	{"server without a user", "'http://127.0.0.1:1', auth: none", "'https://x.example', auth: basic, user: '', password: '${NONE:-}'", func(c *config.Config) {
		c.Connections[0].Auth = "basic"
	}, real, "basic authentication needs both", ""},
	{"server with a query", "'http://127.0.0.1:1', auth: none", "'https://x.example/?a=b', auth: none", func(c *config.Config) {
		c.Connections[0].OpenSearch = "https://x.example/?a=b"
	}, real, "a query or a fragment", ""},
	{"connection that is not there", "connection: os", "connection: so", func(c *config.Config) { sinkOf(c, "docs").Search.Connection = "so" }, real, "no connection is named", "no connection is named"},
}

// validate refuses everything in the configuration that a start of the pipeline refuses, and names the place.
func TestRefusals(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := refusedByValidate(t, soundFile, soundMapping); err != nil {
		t.Fatal(err)
	}
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			file, mapping := strings.Replace(soundFile, r.old, r.new, 1), soundMapping
			if r.old == "mapping" {
				file, mapping = soundFile, r.new
			} else if file == soundFile {
				t.Fatalf("%q is not in the file", r.old)
			}
			err := refusedByValidate(t, file, mapping)
			if err == nil {
				t.Error("validate takes it")
			} else if !regexp.MustCompile(`^\S+\.yaml:\d+:\d+: \S+: .+; .+`).MatchString(err.Error()) {
				t.Errorf("validate does not say where it is, and what to do: %v", err)
			}
			if r.fault != nil {
				file = soundFile
			}
			cfg := parseFile(t, file)
			if r.fault != nil {
				r.fault(cfg)
			}
			if err := assembled(t, cfg, r.by); err == nil || !strings.Contains(err.Error(), r.says) {
				t.Errorf("Assemble says %v, want %q", err, r.says)
			}
		})
	}
}

// The stores that need no server accept a file that passes validate.
func TestSoundFileAssembles(t *testing.T) {
	t.Chdir(t.TempDir()) // the folder of dead letters has a relative path
	for _, by := range []refuser{planned, embedded} {
		if err := assembled(t, parseFile(t, soundFile), by); err != nil {
			t.Errorf("%d: %v", by, err)
		}
	}
}

func parseFile(t *testing.T, file string) *config.Config {
	t.Helper()
	cfg, err := config.ParseFrom("tablewake.yaml", []byte(file), func(string) (string, bool) { return "", false }, func(string) ([]byte, error) { return []byte(soundMapping), nil })
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func refusedByValidate(t *testing.T, file, mapping string) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tablewake.yaml")
	if err := errors.Join(os.WriteFile(path, []byte(file), 0o600), os.WriteFile(filepath.Join(filepath.Dir(path), "mapping.json"), []byte(mapping), 0o600)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := options{config: path, format: cli.FormatText}
	return o.run(t.Context(), cli.Streams{Out: &out, Err: &out})
}

// assembled opens the stores without a server, and returns the error.
func assembled(t *testing.T, cfg *config.Config, by refuser) error {
	t.Helper()
	in := sinks.PlanOnly()
	switch by {
	case embedded:
		folder, err := local.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		in = folder
	case real:
		nowhere := "http://127.0.0.1:1"
		cfg.State = nil // the state would need a server
		bundle := aws.Stores(awssdk.Config{Region: "eu-central-1", BaseEndpoint: &nowhere, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}, aws.LookOnly())
		defer bundle.Close()
		in = bundle
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that no server is called
	if by != real {
		ctx = t.Context()
	}
	_, err := sinks.Assemble(ctx, cfg, in)
	return err
}

// unreachable has the refusals of sinks that no configuration can cause, by reason.
var unreachable = map[string][]string{
	"Assemble gives it": {
		"archive: Store is nil", "notify: Pipeline is empty", "notify: Store is nil", "search: Pipeline is empty", "search: Store is nil", "search: Index is nil",
		"Name is empty: a view", "Pipeline is empty: rows",
	},
	"the grammar has no other words, and demands or bounds the key": {
		"archive: Layout %q is unknown", "archive: Format %q is unknown", "archive: Images %q is unknown", "archive: Kinds holds", "archive: Roll is negative",
		"notify: Events holds an empty name", "Numbers: %q: no form", "Table is empty", "Collision is %q", "Values is empty", "Shards is %d",
		"value %q is of %q", "value %q: a count has no path", "archive: Columns: %q is there twice", "archive: Columns: the template", "archive: Tags: %q is there twice", "archive: Tags: the template",
		"SK needs a name and a template", "{%s} is not a key attribute", "All copies the item's attributes",
	},
	"a rule of pipeline/config, with its golden text": {
		"archive: Format belongs", "archive: Columns belong", "archive: Key is nil", "archive: Partition belongs", "archive: Key belongs", "archive: RawNames belongs", "archive: Key %q is the same", "archive: Tags: an object takes",
	},
	"it tells of another error": {
		"Exclude: %w", "Hash: %w", "Rename: %w", "Numbers: %w", "Include: %w", "search: Routing", "search: Fields", "search: ForEach", "ForEach: %w", "aggregate %q: %w", "view %q: %w", "value %q: %w", "%s:%d: %s: %w",
	},
	"servers, folders and programs say it, and not the file": {
		"archive: Key %q has no {@version}", "no transaction reaches its rows", "%s: %s is open as", "%s: the stores are closed", "Store is a %T", "no Go function is named", "no Go sink is named", "what was given with sinks.With", "sinks.MaskAll",
	},
}

// constructors has the functions that make sinks from a file, by folder.
var constructors = map[string][]string{
	"sinks":         {"newDetector", "setGoSink", "noGoSink", "Mask", "makeMask", "atLine"},
	"sinks/archive": {"New", "validate", "checkName", "checkNewest", "checkTags", "checkColumns"},
	"sinks/notify":  {"New"},
	"sinks/search":  {"New", "routingKeys", "checkForEach", "compileFields", "setIncludes", "rename", "pathNames", "withoutHashed"},
	"sinks/view":    {"New", "newSink", "NewAggregate", "parseValues", "validate", "checkName", "parse"},
	"sinks/aws":     {"Archive", "publisher", "connection", "openRows", "checkTransaction"},

	"sinks/internal/openstores": {"Open"},
}

// Each refusal in the constructors needs a case in refusals, or a reason in unreachable.
func TestEveryRefusalHasACase(t *testing.T) {
	known := slices.Concat(slices.Collect(maps.Values(unreachable))...)
	for _, r := range refusals {
		if r.source != "" {
			known = append(known, r.source)
		}
	}
	used := make(map[string]bool)
	for folder, functions := range constructors {
		found := make(map[string]bool)
		for _, text := range refusalsOf(t, filepath.Join("..", "..", "..", filepath.FromSlash(folder)), functions, found) {
			i := slices.IndexFunc(known, func(begin string) bool { return strings.HasPrefix(text, begin) })
			if i < 0 {
				t.Errorf("%s refuses with %q, and no case of refusals tries it through validate", folder, text)
				continue
			}
			for _, begin := range known {
				used[begin] = used[begin] || strings.HasPrefix(text, begin)
			}
		}
		for _, f := range functions {
			if !found[f] {
				t.Errorf("%s has no function %s any more", folder, f)
			}
		}
	}
	for _, begin := range known {
		if !used[begin] {
			t.Errorf("nothing refuses with %q any more", begin)
		}
	}
}

// refusalsOf returns the texts of the errors that the functions of a folder make.
func refusalsOf(t *testing.T, folder string, functions []string, found map[string]bool) (texts []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(folder, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !slices.Contains(functions, fn.Name.Name) {
				continue
			}
			found[fn.Name.Name] = true
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) == 0 {
					return true
				}
				s, isSelector := call.Fun.(*ast.SelectorExpr)
				if !isSelector || s.Sel.Name != "New" && s.Sel.Name != "Errorf" {
					return true
				}
				text := call.Args[0]
				if sum, ok := text.(*ast.BinaryExpr); ok {
					text = sum.X
				}
				if lit, ok := text.(*ast.BasicLit); ok {
					if s, err := strconv.Unquote(lit.Value); err == nil {
						texts = append(texts, s)
					}
				}
				return true
			})
		}
	}
	return texts
}
