package config

import (
	"reflect"
	"sync"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

// Problem is one error or warning about a file.
type Problem = yamlbind.Problem

// Problems are all errors or warnings of a file, in the order of its lines. An error has at least one.
type Problems = yamlbind.Problems

// value is a value in the file.
type value = yamlbind.Value

// grammar is the rule of the file.
var grammar = sync.OnceValue(func() *yamlbind.Rule { return yamlbind.RuleOf(reflect.TypeFor[Config](), kinds) })

// Schema returns the JSON Schema (draft 2020-12) of the file. It is generated from [Config].
func Schema() []byte {
	return yamlbind.Schema(grammar(), "tablewake.yaml", "A tablewake pipeline: one file for Lambda, consumer and replay.")
}

// maxNodes is the most values of a file, with its aliases expanded.
const maxNodes = 20_000

var words = yamlbind.Words{
	Empty:  "start with `version: 1`",
	Second: "a file holds one pipeline: put this one into a file of its own",
	Merge:  "write the keys out, or use an alias for a whole value",
	Values: true,
}

// checker is a file while it is read, and checked by the rules between keys.
type checker struct {
	*yamlbind.File
	cfg       *Config
	read      func(path string) ([]byte, error)
	localOnly Problems
	notLive   Problems            // for [Config.NotLive]
	sinks     []*Sink             // those with exactly one kind, in the order of the file
	of        map[string][]string // the names of `of`, by the field of the object that it stands in
	forEach   map[string]bool     // the fields of the sinks with for_each

	wrongOfs       map[string]bool // the fields of the objects with an `of` that names no entity
	stateless      []string        // sinks that want a state table
	firstStateless int             // the problem about them, among localOnly

	constants  map[*value]bool // templates that a warning says are constants
	undeclared map[*value]bool // values that a problem says are not declared
	misread    map[*value]bool // patterns of keys that a problem says lack a placeholder
}

// failOnServers notes a problem for [Config.LocalOnly]: the file can run with embedded stores, but not on real servers.
func (c *checker) failOnServers(at any, hint, format string, args ...any) {
	c.localOnly = append(c.localOnly, c.Problem(at, hint, format, args...))
}

// failOnServersIf notes such a problem if bad is true.
func (c *checker) failOnServersIf(bad bool, at any, hint, format string, args ...any) {
	if bad {
		c.failOnServers(at, hint, format, args...)
	}
}

// soundEntries reports whether the file has the field, a map, and could read all of its entries: n.
func (c *checker) soundEntries(at any, n int) bool { return n > 0 && len(c.ValueOf(at).All()) == n }
