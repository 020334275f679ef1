package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Config is a file that was read, checked and compiled. Keys are read in the order of these fields. Attributes come
// before expressions, because expressions are checked against the types of the attributes.
type Config struct {
	File   string // name given to Parse
	_      int    `key:"version,required" form:"1" max:"1" doc:"Version of the file's format."`
	Name   string `key:"name,required" form:"NAME" is:"name" doc:"Name of the pipeline: keeps leases, state and fingerprints apart, and names its own writes."`
	Source Source `key:"source,required" form:"{table: NAME}" doc:"The table whose changes the pipeline reads."`
	// Attributes is nil if no attributes are declared.
	Attributes  map[string]item.Kind `key:"attributes" words:"S,N,B,BOOL,NULL,M,L,SS,NS,BS" doc:"Types of top-level attributes: makes a typo or a type error in an expression an error when the file is loaded, and a typo elsewhere a warning. An N is a double in a search index that is made, unless its mapping says otherwise."`
	Entities    []Entity             `key:"entities" form:"{NAME: {key: {PK: 'NAME#{Id}'}}}" doc:"Kinds of items, by name: patterns of their keys, and what these bind."`
	Connections []Connection         `key:"connections" doc:"Servers that sinks write to; secrets by ${ENV} or by reference."`
	Leases      *Leases              `key:"leases" doc:"Where consumers agree on who reads which shard, and store their checkpoints."`
	State       *State               `key:"state" doc:"What sinks remember of items."`
	HMACKey     string               `key:"hmac_key" is:"secret" doc:"Secret behind masked values, hashed fields and hashed ids; 16 bytes at least."`
	// Sensitive is empty if the file has no hmac_key.
	Sensitive []item.Pattern `key:"sensitive" doc:"Paths that are masked and reach no sink unless it says so; ** for a subtree."`
	Filters   []Filter       `key:"filters" ref:"filters" doc:"What to drop before any sink, in order; each drop is counted by its name."`
	Detectors []Detector     `key:"detect" form:"{NAME: {op: [INSERT]}}" doc:"Events to raise, by name."`
	// Sinks has at least one sink.
	Sinks       []Sink       `key:"sinks,required" form:"{NAME: {view: {table: NAME, key: {PK: '{@key}'}}}}" doc:"Where changes go, by name."`
	DeadLetters *DeadLetters `key:"dead_letters" doc:"Where records and changes go that cannot be decoded or delivered."`
	Metrics     Metrics      `key:"metrics" words:"emf,otlp,none" doc:"How metrics leave the process. Default: emf on Lambda, else otlp."`
	Warnings    Problems     // problems that are allowed, but possibly not intended
	// LocalOnly has the problems with which the pipeline can run on embedded stores, but not on real servers, such as a
	// missing state table.
	LocalOnly Problems
	// NotLive has the problems with which no process may open real stores: a table name that is too short, or a default
	// for hmac_key that is written into the file.
	NotLive Problems

	entities *entity.Set // nil if the file has no entities
	checker  *checker    // used by CheckSample
}

// Made is called after the keys are read. It sets the filters.
func (cfg *Config) Made(f *yamlbind.File, v *value) {
	cfg.Filters = yamlbind.Context[*checker](f).filters(v.Get("filters"))
}

// Source is the table or the tables whose changes the pipeline carries.
type Source struct {
	_    any   `one:"table,stream,tables"`
	Line int   `key:"@"`
	_    Table `key:"table" doc:"Name or ARN of the table."`
	_    Table `key:"stream" is:"stream" doc:"ARN of the table's stream."`
	// Tables includes the table of the key `table` or `stream`.
	Tables        []Table  `key:"tables" doc:"Several tables; canonical keys then hold the table's name."`
	TTLAttribute  string   `key:"ttl_attribute" doc:"Attribute of the table's TTL, epoch seconds."`
	DynamoDBLocal bool     `key:"emulator" words:"dynamodb-local" yes:"dynamodb-local" doc:"Records come from DynamoDB Local: {} is the empty map."`
	Start         Start    `key:"start" def:"trim_horizon" doc:"Where reading begins in a stream that was never read."`
	OnGap         OnGap    `key:"on_gap" words:"stop,continue,repair" def:"stop" doc:"What becomes of a shard that lost records before they were read, and of the sinks that missed them."`
	RepairSinks   []string `key:"repair_sinks" is:"name" doc:"Names of the sinks that on_gap: repair repairs. Default: all views, aggregates and search sinks."`
	Polling       Polling  `key:"polling" doc:"How often shards are read."`
	Kinesis       string   `key:"kinesis" is:"kinesis" doc:"ARN of the Kinesis stream that source.table writes to, which a Lambda reads instead of the table's own."`
}

// Made adds the table of the key `table` or `stream` to Tables.
func (s *Source) Made(_ *yamlbind.File, v *value) {
	for _, k := range []string{"table", "stream"} {
		if t := yamlbind.As[Table](v.Get(k)); t.Name != "" {
			s.Tables = append(s.Tables, t)
		}
	}
}

// OnGap is what a consumer does after a gap, a range of records that were lost before they were read. The zero OnGap
// has the effect of OnGapStop.
type OnGap string

// The actions after lost records.
const (
	OnGapStop     OnGap = "stop"     // reading of the shard and its descendants stops
	OnGapContinue OnGap = "continue" // reading continues after the gap
	OnGapRepair   OnGap = "repair"   // reading continues, and the consumer audits and repairs the sinks
)

// Continues reports whether reading continues after a gap.
func (g OnGap) Continues() bool { return g == OnGapContinue || g == OnGapRepair }

// Sink returns the sink with that name. It returns false if there is none.
func (cfg *Config) Sink(name string) (Sink, bool) {
	i := slices.IndexFunc(cfg.Sinks, func(s Sink) bool { return s.Name == name })
	if i < 0 {
		return Sink{}, false
	}
	return cfg.Sinks[i], true
}

// SinksToRepair returns the names of the sinks that a repair of gaps makes equal to the table. These are the sinks of
// repair_sinks, or all sinks that keep state if repair_sinks is empty.
func (cfg *Config) SinksToRepair() []string {
	if names := cfg.Source.RepairSinks; len(names) > 0 {
		return names
	}
	var names []string
	for i := range cfg.Sinks {
		if s := &cfg.Sinks[i]; s.KeepsState() {
			names = append(names, s.Name)
		}
	}
	return names
}

// Table is a DynamoDB table.
type Table struct {
	Name      string // set even if the file has an ARN
	ARN       string // "" if the file has only a name, or a stream's ARN
	StreamARN string // "" if the file has no stream's ARN
}

// parseTable parses a table's name, a table's ARN, or a stream's ARN.
func parseTable(text string) Table {
	_, rest, isARN := strings.Cut(text, ":table/")
	name, _, isStream := strings.Cut(rest, "/stream/")
	switch {
	case isStream:
		return Table{Name: name, StreamARN: text}
	case isARN:
		return Table{Name: name, ARN: text}
	}
	return Table{Name: text}
}

// Start is the position at which the first read of a stream begins. The zero Start is the oldest record of the stream.
type Start struct {
	Latest bool      // begin at the newest records
	Time   time.Time // begin at the first record created at this time or later, UTC; zero if not set
}

// Polling defines how often shards are read.
type Polling struct {
	MaxIdle       time.Duration `key:"max_idle" def:"5s" doc:"Longest pause between two polls of an idle shard; 5m at most."`
	CallsPerMonth int64         `key:"calls_per_month" doc:"Budget of GetRecords calls of all consumers together, in 30 days. Default: none."`
}

// Leases is the table or the file in which consumers agree on who reads which shard.
type Leases struct {
	_        any           `one:"table,file"`
	Line     int           `key:"@"`
	Table    Table         `key:"table" doc:"DynamoDB table of leases, which Amazon's KCL can take over. Not used by --local, whose folder holds them."`
	File     string        `key:"file" doc:"File of leases, for one process."` // path as the file spells it
	Duration time.Duration `key:"duration" def:"6s" doc:"How long a consumer may be silent before others take its shards; 3s to 5m."`
}

// State is the DynamoDB table in which sinks remember versions, rows and contributions of items.
type State struct {
	Line           int           `key:"@"`
	Table          Table         `key:"table,required" form:"NAME" doc:"DynamoDB table of guards, contributions and quarantine, of consumers and gaps. Not used by --local, whose folder holds them."`
	GuardRetention time.Duration `key:"guard_retention" def:"30d" doc:"How long the tombstone or guard of a removed row lives; 24h at least."`
}

// Connection is a server that sinks write to.
type Connection struct {
	Name       string `key:"*" is:"name"`
	Line       int    `key:"@"`
	OpenSearch string `key:"opensearch,required" form:"https://HOST" doc:"URL of the OpenSearch cluster."`
	Auth       string `key:"auth" words:"sigv4,basic,none" def:"sigv4" doc:"How requests are signed."`
	Region     string `key:"region" doc:"AWS Region that requests are signed for."` // "": the Region of the process
	AssumeRole string `key:"assume_role" doc:"ARN of the role to assume."`
	CA         string `key:"ca" doc:"File of the certificate authority."` // "": the authorities of the system
	User       string `key:"user" doc:"User of basic authentication."`
	Password   string `key:"password" is:"secret" doc:"Password of basic authentication, by ${ENV} or reference."`
}

// DeadLetters defines where dead letters are stored, and when a change becomes a dead letter.
type DeadLetters struct {
	_                any           `most:"bucket,dir"`
	_                any           `most:"queue,dir"`
	Line             int           `key:"@"`
	Bucket           string        `key:"bucket" is:"bucket" doc:"S3 bucket; beside queue, of letters that are too large for a message."`
	Prefix           string        `key:"prefix" doc:"Prefix of the objects in the bucket."`
	Queue            string        `key:"queue" doc:"Name or URL of an SQS queue."`
	Dir              string        `key:"dir" doc:"Local directory."`
	MaxHold          time.Duration `key:"max_hold" def:"12h" doc:"How long a change may fail temporarily before it becomes a dead letter; below 24h."`
	NoQuarantine     bool          `key:"quarantine" words:"key,none" yes:"none" def:"key" doc:"What waits behind a dead letter: later changes of its key, or nothing."`
	AutoRedrive      bool          `key:"redrive" words:"manual,auto" yes:"auto" def:"manual" doc:"How dead letters are redriven: by the command, or by the consumer itself."`
	BlockUndecodable bool          `key:"undecodable" words:"dead_letter,block" yes:"block" def:"dead_letter" doc:"What becomes of a record that cannot be decoded."`
}

// Metrics is the way in which the process exports its metrics.
type Metrics string

// The ways to export metrics.
const (
	MetricsDefault Metrics = ""     // EMF on Lambda, else OTLP
	MetricsEMF     Metrics = "emf"  // CloudWatch's embedded metric format, as lines of the log
	MetricsOTLP    Metrics = "otlp" // the OpenTelemetry protocol
	MetricsNone    Metrics = "none"
)

// Load reads the file at path. It takes the values of ${NAME} from the environment of the process. The error is
// [Problems], or an error of reading the file.
func Load(path string) (*Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(path, b, os.LookupEnv)
}

// Parse reads the bytes of a file. name is the file's name in messages. Relative paths in the file (search.mapping) are
// relative to the folder of name. getenv returns the value of ${NAME}, and false if the variable is not set. The error
// is [Problems].
func Parse(name string, b []byte, getenv func(string) (string, bool)) (*Config, error) {
	return ParseFrom(name, b, getenv, func(path string) ([]byte, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(name), path)
		}
		return readFile(path)
	})
}

// isRecords reports whether the first line of a file is JSON of a record or an item. Such a file is not a
// configuration.
func isRecords(b []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	var first map[string]json.RawMessage
	if json.Unmarshal(line, &first) != nil || first["version"] != nil {
		return false
	}
	for _, name := range []string{"eventName", "dynamodb", "Records", "Item", "NewImage"} {
		if _, hasName := first[name]; hasName {
			return true
		}
	}
	return false
}

// ParseFrom does the same as [Parse] for a file that is not in a folder, such as an object in a bucket. read returns
// the content of another file that the configuration names. It receives the path as the configuration spells it.
func ParseFrom(
	name string, b []byte, getenv func(string) (string, bool), read func(path string) ([]byte, error),
) (*Config, error) {
	if isRecords(b) {
		return nil, Problems{{File: name, Line: 1, Column: 1, Message: "this is not a configuration: it is a file of records",
			Hint: "name the configuration with -c, and the records without it, or with --sample"}}
	}
	cfg := &Config{File: name}
	c := &checker{
		cfg: cfg, readFile: read, ofNames: make(map[string][]string), hasForEach: make(map[string]bool),
		wrongOfFields: make(map[string]bool), undeclared: make(map[*value]bool), constants: make(map[*value]bool),
		lacksPlaceholder: make(map[*value]bool),
	}
	c.File = yamlbind.New(name, b, yamlbind.Options{Words: fileHints, MaxNodes: maxNodes, Getenv: getenv, Context: c})
	c.Read(grammar(), cfg)
	if isDocument := c.Has(cfg); isDocument {
		c.checkRules()
	}
	if len(c.Problems) > 0 {
		c.Problems.Sort()
		return nil, c.Problems
	}
	c.entitySet() // also sets cfg.entities
	for i := range cfg.Sinks {
		cfg.Sinks[i].Settings = c.settingsOf(&cfg.Sinks[i])
	}
	c.Warnings.Sort()
	c.localOnly.Sort()
	cfg.Warnings, cfg.LocalOnly, cfg.NotLive, cfg.checker = c.Warnings, c.localOnly, c.notLive, c
	return cfg, nil
}
