package config

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/template"
)

// Sink is one entry of `sinks`. Exactly one of View, Aggregate, Search, Archive,
// Notify and Custom is set.
type Sink struct {
	Name        string
	Line        int      // of the entry in the file
	Filters     []Filter // of this sink alone, in order
	Rate        float64  // deliveries a second; 0: unlimited
	Concurrency int      // 0: the pipeline's default
	Batch       pipeline.Batch

	AllowSensitive []pipeline.Pattern // sensitive attributes that the sink may hold
	Settings       map[string]string  // what shapes its output, by the setting's path: "view.key.PK"; also what does from outside: "source.tables", "filters", "sensitive". Without secrets

	View      *View
	Aggregate *Aggregate
	Search    *Search
	Archive   *Archive
	Notify    *Notify
	Custom    *Custom
}

// View keeps one row for each item that `when` takes.
type View struct {
	Table      string     // its name, also where the file gives the ARN
	ARN        string     // "" where the file gives the name
	When       *expr.Item // nil: every item
	Key        []Column   // partition key, then the sort key if there is one
	Attributes []Column   // in the order of the file
	Collision  Collision  // never ""
	InPlace    bool       // tombstones: in_place
}

// RowsGuardThemselves tells whether each row names its item by {@key}, so that no two items
// can claim one, whatever the table's key is; else rows are guarded by item, or may be.
func (v *View) RowsGuardThemselves() bool {
	return slices.ContainsFunc(v.Key, func(c Column) bool { return c.Template.HasKey() })
}

// RowsMayGuardThemselves reports whether rows guard themselves for certain, or for tables of
// which the key attributes are those that the row's key has.
func (v *View) RowsMayGuardThemselves() bool {
	return slices.ContainsFunc(v.Key, func(c Column) bool { return c.Template.HasKey() || len(c.Template.EscPaths()) > 0 })
}

// Collision says what becomes of an item whose row another item holds.
type Collision string

// What can become of such an item.
const (
	DeadLetterCollision Collision = "dead_letter"
	KeepFirst           Collision = "keep_first"
	Last                Collision = "last"
)

// Aggregate counts the items that `when` takes, in groups.
type Aggregate struct {
	Table     string           // of the group rows; its name, also where the file gives the ARN
	ARN       string           // "" where the file gives the name
	When      *expr.Item       // nil: every item
	Group     []Column         // partition key, then the sort key if there is one; over the item, and {each...} under for_each
	Values    []AggregateValue // in the order of the file
	ForEach   string           // path of a list whose elements count one by one; "": the item counts
	Shards    int              // rows that a group is spread over; at least 1
	KeepOnTTL bool             // on_ttl_delete: keep
}

// AggregateValue is one value of a group's row.
type AggregateValue struct {
	Name string // attribute
	Of   string // count, sum, min, max or distinct
	Path string // in the item, or in the element where Each is set; "" of a count, and of the element itself
	Each bool   // written as each.Path, or each alone
}

// Column is a named template.
type Column struct {
	Name     string
	Template *template.Template
}

// Search keeps one document for each item that `when` takes.
type Search struct {
	Index   *template.Template // of the name; with placeholders where it differs from item to item
	When    *expr.Item         // nil: every item
	Include []string           // paths, with those of Hash; nil: every attribute
	Exclude []string           // paths
	Rename  map[string]string
	Hash    []string          // paths that are written as an HMAC
	HashID  bool              // id: hmac
	Numbers map[string]string // how the numbers at a path are written: "string", "scaled_float" or "double"

	Fast       bool               // mode: fast: versions are creation times in whole seconds
	Routing    *template.Template // of keys alone; nil: by document id
	OnDemand   bool               // create: on_demand: an index is made when its first document comes
	MaxIndexes int                // that an index template may make; 0: any number
	Connection string             // one of Config.Connections; "": local only
	Mapping    json.RawMessage    // of the index; nil: the store's own
}

// Archive writes changes as immutable objects.
type Archive struct {
	Bucket    string // "" where the file names none: local only
	Prefix    string
	PerItem   bool               // layout: per_item
	When      *expr.Change       // nil: every change
	Kinds     []ArchiveKind      // nil: every kind
	Key       *template.Template // of per_item objects
	Partition *template.Template // of the log's objects, between prefix and name; nil: none
	Roll      Roll
	Format    Format
	Columns   []Column // of Parquet, in the order of the file
	Images    Images
	Masked    bool // what the sink may not hold is masked: it is anyway, and a file with sensitive attributes says that it knows

	StorageClass string   // "": the bucket's default
	KMSKey       string   // id or ARN; "": the bucket's default
	Tags         []Column // of the objects
}

// Format is the format of an archive's objects.
type Format string

// The formats of a log's objects. Those of layout per_item are plain JSON.
const (
	JSONLinesZstd Format = "jsonl.zst"
	JSONLinesGzip Format = "jsonl.gz"
	Parquet       Format = "parquet"
)

// ArchiveKind is a class of change that an archive takes.
type ArchiveKind string

// The classes of change.
const (
	TTLDelete  ArchiveKind = "ttl_delete"
	UserDelete ArchiveKind = "user_delete"
	AnyChange  ArchiveKind = "change" // neither of the two
)

// Roll says when an object of the log is closed.
type Roll struct {
	Bytes int64         // 0: the sink's default
	Age   time.Duration // how long the first change waits on a live stream; 0 under PerItem only
}

// Images is how an archive writes images.
type Images string

// The forms of an image.
const (
	DynamoDBJSON Images = "dynamodb_json" // {"S":"x"}: keeps every type
	PlainJSON    Images = "plain_json"
)

// Notify sends detected events.
type Notify struct {
	Queue  string // at most one of Queue, Topic and Bus is set; none: local only
	Topic  string
	Bus    string
	Events []string     // names of detectors
	When   *expr.Change // nil: every change
}

// Custom is a Go sink given to sinks.Assemble by name.
type Custom struct {
	Name string
	When *expr.Change // nil: every change
	With With
}
