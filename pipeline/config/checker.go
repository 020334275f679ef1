package config

import (
	"reflect"
	"sync"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

// Problem is one thing wrong with a file, or worth a warning.
type Problem = yamlbind.Problem

// Problems is everything wrong with a file, in the order of its lines. It is never empty where it is an error.
type Problems = yamlbind.Problems

// value is a place of the file.
type value = yamlbind.Value

// grammar is the rule of the file.
var grammar = sync.OnceValue(func() *yamlbind.Rule { return yamlbind.RuleOf(reflect.TypeFor[Config](), kinds) })

// Schema is the JSON Schema (draft 2020-12) of the file, made of the same types that the strict reading fills.
func Schema() []byte {
	return yamlbind.Schema(grammar(), "tablewake.yaml", "A tablewake pipeline: one file for Lambda, consumer and replay.")
}

// maxNodes bounds what aliases may expand a file to.
const maxNodes = 20_000

var words = yamlbind.Words{
	Empty:  "start with `version: 1`",
	Second: "a file holds one pipeline: put this one into a file of its own",
	Merge:  "write the keys out, or use an alias for a whole value",
	Values: true,
}

// checker is a file while it is read, and checked by the rules that no single key can say.
type checker struct {
	*yamlbind.File
	cfg       *Config
	read      func(path string) ([]byte, error)
	localOnly Problems
	sinks     []*Sink // those of one kind, in the order of the file
}

// live notes what keeps the file from running on real servers, and not in a folder of embedded
// stores.
func (c *checker) failOnServers(at any, hint, format string, args ...any) {
	c.localOnly = append(c.localOnly, c.Problem(at, hint, format, args...))
}

// liveIf does it where it holds.
func (c *checker) failOnServersIf(holds bool, at any, hint, format string, args ...any) {
	if holds {
		c.failOnServers(at, hint, format, args...)
	}
}
