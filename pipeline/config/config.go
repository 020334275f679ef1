package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

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
	State       *State                   // nil where the file has none
	Leases      *Leases                  // nil where the file has none
	Connections []Connection             // in the order of the file
	HMACKey     string                   // secret behind masks, hashed fields and hashed ids, 16 bytes at least; "" where the file has none
	Metrics     Metrics                  // how metrics leave the process
	Sensitive   []pipeline.Pattern       // attributes that are masked and reach no sink unless it says so; none without HMACKey
	Warnings    Problems                 // what is allowed and may still surprise
	LocalOnly   Problems                 // what keeps the file from running on real servers, and not in a folder of embedded stores
}

// Source is the table or the tables whose changes the pipeline carries.
type Source struct {
	Line          int
	Tables        []Table // one, or several under source.tables
	TTLAttribute  string  // top-level attribute that holds the expiry, epoch seconds; "" where not said
	Kinesis       string  // ARN of the Kinesis stream that the table writes to and a Lambda reads; "" for the table's own stream
	DynamoDBLocal bool    // records come from DynamoDB Local, which writes {} for the empty map
	Start         Start   // of a stream that nobody has read before
	ContinueOnGap bool    // a shard that lost records is read on behind them; else it stops
	Polling       Polling
}

// Metrics says how metrics leave the process.
type Metrics uint8

// How metrics can leave the process.
const (
	MetricsDefault Metrics = iota // EMF on Lambda, else OTLP
	MetricsEMF                    // CloudWatch's embedded metric format, as lines of the log
	MetricsOTLP                   // the OpenTelemetry protocol
	MetricsNone
)

// Start says where a stream is begun. The zero Start is its oldest record.
type Start struct {
	Latest bool      // at the newest records
	Time   time.Time // at the first record created then or later, UTC; zero where not said
}

// Polling says how often shards are read.
type Polling struct {
	MaxIdle       time.Duration // longest pause between two polls of an idle shard, by default 5s
	CallsPerMonth int64         // budget of GetRecords calls of all consumers, in 30 days; 0: none
}

// Leases is where consumers agree on who reads which shard: a table or a file.
type Leases struct {
	Line     int
	Table    string        // its name, also where the file gives the ARN; "" where there is a file
	ARN      string        // "" where the file gives the name
	File     string        // as it is written; "" where there is a table
	Duration time.Duration // how long a consumer may be silent; 3s to 5m, by default 6s
}

// State is where sinks remember what they must of items, on AWS.
type State struct {
	Line           int
	Table          string        // its name, also where the file gives the ARN
	ARN            string        // "" where the file gives the name
	GuardRetention time.Duration // how long the guard of a row that is gone lives; 24 h at least, by default 30 days
}

// Connection is a server that sinks write to.
type Connection struct {
	Name       string
	Line       int
	OpenSearch string // URL
	Auth       string // sigv4, basic or none
	Region     string // that sigv4 signs for; "": that of the process
	AssumeRole string // ARN; "": none
	CA         string // file of the certificate authority; "": the system's
	User       string // of basic
	Password   string // of basic
}

// Table is one source table.
type Table struct {
	Name      string
	StreamARN string // "" where the file names the table only
}

// Load reads the file at path with the environment of the process. The error is
// [Problems], or says why the file cannot be read.
func Load(path string) (*Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(path, b, os.LookupEnv)
}

// Parse reads a file's bytes. name stands in messages, and files that it speaks of
// (search.mapping) are looked up in name's folder. getenv answers ${NAME}, false for
// a variable that is not set. The error is [Problems].
func Parse(name string, b []byte, getenv func(string) (string, bool)) (*Config, error) {
	return ParseFrom(name, b, getenv, func(path string) ([]byte, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(name), path)
		}
		return readFile(path)
	})
}

// ParseFrom is [Parse] of a file that is in no folder, as an object of a bucket: read
// answers the files that it speaks of, by their paths as they are written.
func ParseFrom(name string, b []byte, getenv func(string) (string, bool), read func(path string) ([]byte, error)) (*Config, error) {
	c := &checker{file: name, lines: strings.Split(string(b), "\n"), getenv: getenv, read: read}
	cfg := &Config{File: name}
	if doc := c.document(b); doc != nil {
		root := c.walk("", "", nil, doc, grammar())
		c.build(cfg, root)
		c.rules(cfg, root)
		for i := range cfg.Sinks {
			if len(c.problems) == 0 {
				cfg.Sinks[i].Settings = c.settings(cfg, root, i)
			}
		}
	}
	if len(c.problems) > 0 {
		c.problems.sort()
		return nil, c.problems
	}
	c.warnings.sort()
	c.localOnly.sort()
	cfg.Warnings, cfg.LocalOnly = c.warnings, c.localOnly
	return cfg, nil
}
