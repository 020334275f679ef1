// Package archive stores changes as immutable objects.
//
// In the layout [Log], each Write takes a batch of changes. It writes one object for each value of the partition
// template. An object has JSON lines or Parquet rows. It is compressed, sorted by item and version, and named by its
// versions and its content. In the layout [PerItem] each change becomes one object, whose name has a template with
// {@version}.
//
// Neither layout overwrites an object that is intact. The same batch makes the same objects, and an object that already
// exists counts as success. Several objects may contain the same version of an item; [Read] returns it once.
//
// In the layout PerItem with a template without {@version}, an object holds the newest change of its item
// (newest_per_item.go). A newer change replaces the object, on the condition that the object did not change after it
// was described. An object of another item is never replaced.
//
// An object that was cut or damaged is never taken for a whole one. A reader recognizes lines by the trailer of their
// compression, Parquet by its footer at the end, and an object of one change by its JSON, which must be closed. It then
// fails with the name of the object. A sink that finds its object already there compares size and checksum, and reads
// the object if they differ. An object of a log is whole if it has the lines whose digest is in its name (verifyLog),
// and an object of one change if it can be parsed. A sink replaces an object of its own that is not whole
// (replaceDamaged).
//
// With [DynamoDBJSON] a line is the record itself, and a Parquet row can be turned back into a record. So an archive
// can be replayed like the stream that it came from, unless it has only the newest change of each item.
//
// A change goes through Sink.Plan, which sets its folder or its object, and then through Sink.Write. Reading goes
// through [Read], runBuilder.build and merge. Read archive.go, put_plan.go, object_write.go, archive_read.go and
// sorted_run_builder.go in this order.
package archive

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/template"
)

// errs makes the errors of this package. Their redacted text holds no data.
const errs = redact.Class("archive")

// Options configure an archive sink.
type Options struct {
	Store  Store      // required
	Prefix string     // beginning of every object name, such as "changes/". Default: none
	Layout Layout     // Default: Log
	Kinds  []Kind     // kinds of changes that are archived. Default: all kinds
	Format Format     // format of Log objects; an error with PerItem, which writes JSON. Default: JSONLZstd
	Images LineFormat // Default: DynamoDBJSON

	// Mask hides attributes in archived changes and in object names. If it hides a key attribute, [Read] identifies
	// items by their masked keys. Default: nothing is hidden
	Mask *mask.Mask

	// Key is the template of a PerItem object's name. It is required with PerItem, and an error with Log. Without
	// {@version} an object holds the newest change of its item, and Store must be a [Replacer].
	Key      *template.Template
	RawNames bool // values in Key are not escaped, so they keep # and /. An error with Log

	// Partition is the template of a Log object's folder, after Prefix, such as "dt={@time|date:2006-01-02}". It is an
	// error with PerItem. Default: none
	Partition *template.Template
	Roll      RollLimits    // size and age at which a Log object is full; see Sink.Batch
	Columns   []Column      // columns of Parquet objects; an error with other formats. Default: none
	Tags      []TagTemplate // tags of every object; a tag whose value is missing is left out. Default: none
}

// Layout says how changes become objects.
type Layout string

// The layouts.
const (
	Log     Layout = "log"      // batches of JSON lines
	PerItem Layout = "per_item" // one object per change, or per item
)

// LineFormat says how a line shows a change.
type LineFormat string

// The forms of a line.
const (
	DynamoDBJSON LineFormat = "dynamodb_json" // the record as received, with its stream ARN; it can be replayed
	PlainJSON    LineFormat = "plain_json"    // key, version, operation and plain images, for people and query engines
)

// RollLimits defines when an object of a log is full. An object is also full when its waiting changes reach
// pipeline.Options.MaxPacked. The pipeline compresses waiting changes if their pages would exceed its memory bounds,
// and MaxPacked limits the compressed bytes.
//
// While an object is built, only some records of each page are in memory. The finished object is in memory, compressed,
// and is sent in parts.
type RollLimits struct {
	Bytes int64 // bytes of its records, uncompressed. Default: 8 MiB
	// Age is the longest time that a change waits for other changes. A Live pipeline should set it. Default: until the
	// object is full or the source ends
	Age time.Duration
}

// Sink plans and writes the objects of one archive. It is safe for concurrent use.
type Sink struct {
	o            Options  // with its defaults
	newestOnly   bool     // o.Key has no version: an object has the newest change of its item
	replacer     Replacer // o.Store; nil if it cannot replace objects
	splitByTable bool     // tags name the table, so all changes of an object belong to one table
	compressors  compressorPool
	recent       putCache
}

var (
	_ pipeline.Sink       = (*Sink)(nil)
	_ pipeline.Planner    = (*Sink)(nil)
	_ pipeline.KeyOrderer = (*Sink)(nil)
	_ pipeline.Guarded    = (*Sink)(nil)

	_ pipeline.EventIgnorer = (*Sink)(nil)
	_ pipeline.SortedWriter = (*Sink)(nil)
)

// New checks the options and returns a sink. Its error names the wrong option.
func New(o Options) (*Sink, error) {
	givenFormat := o.Format
	o.Layout = cmp.Or(o.Layout, Log)
	o.Images = cmp.Or(o.Images, DynamoDBJSON)
	o.Format = cmp.Or(o.Format, JSONLZstd)
	o.Roll.Bytes = cmp.Or(o.Roll.Bytes, 8<<20)
	o.Tags, o.Columns, o.Kinds = slices.Clone(o.Tags), slices.Clone(o.Columns), slices.Clone(o.Kinds)
	if len(o.Kinds) == 0 {
		o.Kinds = []Kind{TTLDelete, UserDelete, AnyChange}
	}
	if err := o.validate(givenFormat); err != nil {
		return nil, err
	}
	s := &Sink{o: o, compressors: compressorPool{format: o.Format}}
	s.newestOnly = o.Layout == PerItem && !o.Key.HasVersion()
	s.replacer, _ = o.Store.(Replacer)
	namesErr := errors.Join(s.checkNames(), s.checkNewest())
	if err := cmp.Or(namesErr, checkTags(o.Tags, o.Layout), checkColumns(o.Columns)); err != nil {
		return nil, err
	}
	tagNamesTable := func(t TagTemplate) bool { return len(t.Value.Literals()) > 1 } // its only placeholder is {@table}
	s.splitByTable = o.Layout == Log && slices.ContainsFunc(o.Tags, tagNamesTable)
	s.recent.timeOnly = s.timeOnly()
	return s, nil
}

// validate returns an error if options are missing, unknown or do not go together. It is called after the defaults are
// set. givenFormat is the format before that.
func (o *Options) validate(givenFormat Format) error {
	switch {
	case o.Store == nil:
		return errors.New("archive: Store is nil: give the store that holds the objects")
	case o.Layout != Log && o.Layout != PerItem:
		return fmt.Errorf("archive: Layout %q is unknown: give %q or %q", o.Layout, Log, PerItem)
	case !slices.Contains(formats, o.Format):
		return fmt.Errorf("archive: Format %q is unknown: give %q, %q or %q", o.Format, JSONLZstd, JSONLGzip, Parquet)
	case o.Layout == PerItem && givenFormat != "":
		return fmt.Errorf("archive: Format belongs to the layout %q: objects of the layout %q are JSON as it is", Log,
			PerItem)
	case len(o.Columns) > 0 && o.Format != Parquet:
		return fmt.Errorf("archive: Columns belong to the format %q", Parquet)
	case o.Images != DynamoDBJSON && o.Images != PlainJSON:
		return fmt.Errorf("archive: Images %q is unknown: give %q or %q", o.Images, DynamoDBJSON, PlainJSON)
	case o.Layout == PerItem && o.Key == nil:
		return fmt.Errorf("archive: Key is nil: the layout %q needs the template of its object names", PerItem)
	case o.Layout == PerItem && o.Partition != nil:
		return fmt.Errorf("archive: Partition belongs to the layout %q: make it part of Key", Log)
	case o.Key != nil && isLog(o.Key.String()):
		return fmt.Errorf("archive: Key ends in %s, by which objects of the layout %q are known: name the objects .json",
			path.Ext(o.Key.String()), Log)
	case o.Layout == Log && o.Key != nil:
		return fmt.Errorf("archive: Key belongs to the layout %q: objects of a log are named by their content", PerItem)
	case o.Layout == Log && o.RawNames:
		return fmt.Errorf("archive: RawNames belongs to the layout %q", PerItem)
	case o.Roll.Bytes < 0 || o.Roll.Age < 0:
		return fmt.Errorf("archive: Roll is negative: %d bytes, %v", o.Roll.Bytes, o.Roll.Age)
	}
	for _, k := range o.Kinds {
		if k != TTLDelete && k != UserDelete && k != AnyChange {
			return fmt.Errorf("archive: Kinds holds %q: give some of %q, %q and %q", k, TTLDelete, UserDelete, AnyChange)
		}
	}
	return nil
}

// checkNames returns an error if the constant part of all object names is invalid.
func (s *Sink) checkNames() error {
	switch {
	case s.o.Layout == PerItem:
		return checkName("Prefix and Key", s.o.Prefix, s.o.Key, "")
	case s.o.Partition != nil:
		return checkName("Prefix and Partition", s.o.Prefix, s.o.Partition, "/x")
	}
	return checkName("Prefix", s.o.Prefix, nil, "x")
}

// Batch returns the batch settings for the route to this sink. With Log a batch becomes objects, limited by Roll. With
// PerItem the settings are the pipeline's defaults.
func (s *Sink) Batch() pipeline.Batch {
	if s.o.Layout == PerItem {
		return pipeline.Batch{}
	}
	return pipeline.Batch{Count: 1 << 20, Bytes: s.o.Roll.Bytes, Linger: s.o.Roll.Age, Fill: true}
}

// Concurrency returns the number of concurrent Writes for the route to this sink. With Log it is one. Then the objects
// depend only on the input, and a second replay makes the same objects. With PerItem it is 0, the pipeline's default.
func (s *Sink) Concurrency() int {
	if s.o.Layout == PerItem {
		return 0
	}
	return 1
}

// KeepsKeyOrder returns true: no change overwrites a newer change.
func (s *Sink) KeepsKeyOrder() bool { return true }

// IgnoresEvents returns true, because archived changes have no detected events.
func (s *Sink) IgnoresEvents() bool { return true }

// Guarded returns true: versions order an item's changes.
func (s *Sink) Guarded() bool { return true }
