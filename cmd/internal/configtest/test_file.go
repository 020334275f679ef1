package configtest

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

// fileValue is a parsed value of a file of tests, with its position.
type fileValue = yamlbind.Value

// File is a file of tests. [Load] has checked it against its configuration.
type File struct {
	Path  string
	Keys  tableKeys "key:\"keys,required\" add:\"add the key attributes of the source table: `keys: [PK, SK]`\""
	Cases []*Case   "key:\"tests,required,empty\" add:\"add `tests:`, a list of cases\"" // in the order of the file

	text []byte
}

// Case is one test.
type Case struct {
	Name   string       `key:"name,required"`
	Line   int          `key:"@"`         // line of the case in its file
	Of     []string     `key:"of,single"` // entities that the items must belong to, unless a step names its own
	Given  []step       "key:\"given,required,empty\" add:\"add the changes that come: `given: [{new: {...}}]`\""
	Expect expectations `key:"expect"` // empty only if the case has no `expect`

	keys tableKeys
	node *yaml.Node // the mapping of the test, to which Update can add `expect`
}

// parseHints has the hints of parse errors that differ from the hints for a configuration file.
var parseHints = yamlbind.FileHints{
	Empty:  "begin with `keys: [PK, SK]` and `tests:`",
	Second: "put it into a file of its own",
	Tag:    "a type is written as DynamoDB JSON with a $: {$B: aGk=}, {$SS: [a, b]}",
	Merge:  "use an alias for a whole value",
}

// maxNodes limits the size of a file after its aliases are expanded.
const maxNodes = 1_000_000

var fileRule = sync.OnceValue(func() *yamlbind.Rule {
	return yamlbind.RuleOf(reflect.TypeFor[File](), yamlbind.Kinds{
		Types: map[reflect.Type]*yamlbind.Kind{reflect.TypeFor[time.Time](): {Wants: "a time", Read: readTime}},
	})
})

// parseContext has what the parser of a file of tests needs to check the values: the configuration, the folder and the
// keys.
type parseContext struct {
	cfg  *config.Config
	dir  string // folder of the file: paths of fixtures are relative to it
	keys tableKeys
}

func contextOf(f *yamlbind.File) *parseContext { return yamlbind.Context[*parseContext](f) }

// Load reads and checks a file of tests for cfg. The error is [config.Problems], or an error of the file system.
func Load(path string, cfg *config.Config) (*File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parse(path, b, cfg)
}

func parse(path string, b []byte, cfg *config.Config) (*File, error) {
	f := &File{Path: path, text: b}
	r := yamlbind.New(path, b, yamlbind.Options{Words: parseHints, MaxNodes: maxNodes,
		Context: &parseContext{cfg: cfg, dir: filepath.Dir(path)}})
	r.Read(fileRule(), f)
	if len(r.Problems) > 0 {
		r.Problems.Sort()
		return nil, r.Problems
	}
	return f, nil
}

// Made is called by yamlbind after the mapping is read. It checks that there are tests, and that their names are
// unique.
func (f *File) Made(r *yamlbind.File, v *fileValue) {
	names := make(map[string]int) // line of each name
	for _, e := range v.Get("tests").All() {
		name := e.Get("name").Text()
		if name == "" {
			continue // yamlbind has reported it
		}
		if firstLine, isRepeated := names[name]; isRepeated {
			r.FailAt(e.Node.Line, e.Node.Column, e.Field+".name",
				yamlbind.Quoted(name)+" is the name of the test in line "+strconv.Itoa(firstLine)+" too",
				"give each test a name of its own")
		}
		names[name] = e.Node.Line
	}
	if tests := v.Get("tests"); tests != nil && len(r.Problems) == 0 {
		r.FailIf(len(f.Cases) == 0, tests, "add a test", "is empty")
	}
}

// Made is called by yamlbind after the mapping is read. It stores the position of the case, and checks the entities in
// `of`.
func (c *Case) Made(f *yamlbind.File, v *fileValue) {
	c.keys, c.node = contextOf(f).keys, v.Node
	if !knownEntities(f, &c.Of) {
		return
	}
	for i := range c.Given {
		if len(c.Given[i].Of) == 0 {
			c.Given[i].checkEntities(f, c.Of)
		}
	}
}

// tableKeys maps each source table to the names of its key attributes. If a file has a single list, the list applies to
// every source table.
type tableKeys map[string][]string

// Bind reads the key attributes: a mapping of lists by their tables, or a single list.
func (k *tableKeys) Bind(f *yamlbind.File, v *fileValue) {
	*k = make(tableKeys)
	r := contextOf(f)
	r.keys = *k
	if v.Node.Kind != yaml.MappingNode {
		r.readSingleKey(f, v)
		return
	}
	for _, m := range f.Members(v) {
		if r.checkTable(f, m, m.Key, m.Name) && f.FollowAlias(m) {
			r.keys[m.Name] = keyList(f, m)
		}
	}
}

// readSingleKey reads the key attributes of every source table. They must be those that the entities name, if any do.
func (r *parseContext) readSingleKey(f *yamlbind.File, v *fileValue) {
	names := keyList(f, v)
	entityKey := r.cfg.TableKey()
	isUnknown := func(name string) bool { return entityKey != nil && !slices.Contains(entityKey, name) }
	if i := slices.IndexFunc(names, isUnknown); i >= 0 {
		f.Fail(v, "write `keys: ["+strings.Join(entityKey, ", ")+"]`",
			"%s is not a key attribute of the table, as the entities name them", names[i])
		return // a missing key would cause errors about the items, too
	}
	for _, t := range r.cfg.Source.Tables {
		r.keys[t.Name] = names
	}
}

// keyList reads a list of one or two key attributes.
func keyList(f *yamlbind.File, v *fileValue) []string {
	var names []string
	for _, e := range f.Elements(v) {
		if name := f.Text(e); name != "" {
			names = append(names, name)
		}
	}
	if n := len(v.Node.Content); v.Node.Kind == yaml.SequenceNode && (n < 1 || n > 2) {
		f.Fail(v, "", "a table has one or two key attributes, not %d", n)
		return nil
	}
	return names
}

// checkTable reports whether name is a source table of the configuration. If it is not, checkTable adds a problem at n.
func (r *parseContext) checkTable(f *yamlbind.File, v *fileValue, n *yaml.Node, name string) bool {
	var tables []string
	for _, t := range r.cfg.Source.Tables {
		tables = append(tables, t.Name)
	}
	if slices.Contains(tables, name) {
		return true
	}
	f.FailAt(n.Line, n.Column, v.Field, "the source of the configuration has no table "+yamlbind.Quoted(name),
		yamlbind.Hint(name, tables, "its tables are"))
	return false
}
