package config

import (
	"github.com/tablewake/tablewake/pipeline"
)

// Config is a file that was read, checked and compiled.
type Config struct {
	File        string // name given to Parse
	Name        string // keeps state and fingerprints apart, and names own writes
	Source      Source
	Attributes  map[string]pipeline.Kind // declared types; nil where none are
	Filters     []Filter                 // at the source, in order
	Detectors   []Detector               // in the order of the file
	Sinks       []Sink                   // in the order of the file; at least one
	DeadLetters *DeadLetters             // nil where the file has none
	Warnings    Problems                 // what is allowed and may still surprise

	hash string
}

// Source is the table or the tables whose changes the pipeline carries.
type Source struct {
	Tables        []Table // one, or several under source.tables
	TTLAttribute  string  // top-level attribute that holds the expiry, epoch seconds; "" where not said
	DynamoDBLocal bool    // records come from DynamoDB Local, which writes {} for the empty map
}

// Table is one source table.
type Table struct {
	Name      string
	StreamARN string // "" where the file names the table only
}

// Load reads the file at path with the environment of the process.
func Load(path string) (*Config, error) { panic("config") }

// Parse reads a file's bytes. name stands in messages. getenv answers ${NAME},
// false for a variable that is not set. The error is [Problems].
func Parse(name string, b []byte, getenv func(string) (string, bool)) (*Config, error) {
	panic("config")
}

// Hash is a digest, in hex, of what shapes outputs: two files with one hash
// write the same rows, documents and objects. How fast they do (rate,
// concurrency, batch) and where dead letters go is left out.
func (c *Config) Hash() string { return c.hash }

// Schema is the JSON Schema (draft 2020-12) of the file.
func Schema() []byte { panic("config") }
