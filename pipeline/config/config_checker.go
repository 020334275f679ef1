package config

import (
	_ "embed"
	"reflect"
	"slices"
	"sync"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

// Problem is one error or warning about a file.
type Problem = yamlbind.Problem

// Problems are all errors, or all warnings, of a file, in the order of its lines. As an error, it has at least one
// Problem.
type Problems = yamlbind.Problems

// value is a value in the file.
type value = yamlbind.Value

// grammar returns the rule of the whole file: which keys it has, and which values they take.
var grammar = sync.OnceValue(func() *yamlbind.Rule { return yamlbind.RuleOf(reflect.TypeFor[Config](), kinds) })

// Schema returns the JSON Schema (draft 2020-12) of the file. It is generated from [Config].
func Schema() []byte {
	return yamlbind.Schema(grammar(), "tablewake.yaml", "A tablewake pipeline: one file for Lambda, consumer and replay.")
}

// maxNodes is the maximum number of values of a file, with its aliases expanded.
const maxNodes = 20_000

var fileHints = yamlbind.FileHints{
	Empty:  "start with `version: 1`",
	Second: "a file holds one pipeline: put this one into a file of its own",
	Merge:  "write the keys out, or use an alias for a whole value",
	Values: true,
}

// checker is the state of reading a file and of checking the rules between its keys.
type checker struct {
	*yamlbind.File
	cfg        *Config
	readFile   func(path string) ([]byte, error)
	localOnly  Problems            // problems for [Config.LocalOnly]
	notLive    Problems            // problems for [Config.NotLive]
	sinks      []*Sink             // sinks with exactly one kind, in the order of the file
	ofNames    map[string][]string // names in each `of`, by the Field of the object that has the `of`
	hasForEach map[string]bool     // the Field of each object that has for_each

	wrongOfFields  map[string]bool // the Field of each object whose `of` names an unknown entity
	stateless      []string        // sinks that need a state table; only set if the file names no state table
	firstStateless int             // index in localOnly of the problem about stateless

	constants        map[*value]bool // templates with a warning that they are constants
	undeclared       map[*value]bool // values with a problem about an undeclared name
	lacksPlaceholder map[*value]bool // patterns of keys with a problem about a missing placeholder
}

// failOnServers notes a problem for [Config.LocalOnly]: the file can run with embedded stores, but not on real servers.
func (c *checker) failOnServers(field any, hint, format string, args ...any) {
	c.localOnly = append(c.localOnly, c.Problem(field, hint, format, args...))
}

// failOnServersIf calls failOnServers if holds is true.
func (c *checker) failOnServersIf(holds bool, field any, hint, format string, args ...any) {
	if holds {
		c.failOnServers(field, hint, format, args...)
	}
}

// firstWritten returns the first of the fields that the file has. The file must have one of them.
func (c *checker) firstWritten(fields ...any) any {
	return fields[slices.IndexFunc(fields, c.Has)]
}

// hasAllEntries reports whether the file has the field, which is a map, and all entries of the map could be read. n is
// the number of entries that were read.
func (c *checker) hasAllEntries(field any, n int) bool {
	return n > 0 && len(c.ValueOf(field).All()) == n
}

//go:embed README.md
var reference string

// Reference returns the reference of the file's keys as Markdown.
func Reference() string { return reference }
