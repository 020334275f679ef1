// Package archive keeps changes as immutable objects.
//
// In the layout [Log] a Write is a batch, and a batch is one object of JSON lines
// or Parquet rows for each value of the partition template: compressed, ordered by item
// and version, named by its versions and its content. In the layout [PerItem]
// each change is an object of its own, named by a template. No object is ever
// overwritten: the same batch makes the same objects, and finding them there is
// success. As objects the archive is at least once; [Read] gives each version of
// an item once.
//
// Under [DynamoDBJSON] a line is the record itself, and a record is made of a row
// again, so an archive replays like the stream that it came from.
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
	"github.com/tablewake/tablewake/pipeline/template"
)

// Options describe one archive sink.
type Options struct {
	Store  Store  // required
	Prefix string // text before every object name: "changes/". Default: none
	Layout Layout // Default: Log
	Kinds  []Kind // classes of change that are kept. Default: all
	Format Format // of Log objects; refused under PerItem, whose objects are one line of JSON. Default: JSONLZstd
	Images Images // Default: DynamoDBJSON

	// Mask hides attributes: what is archived, and the names of the objects, are of the
	// masked change. A key attribute that is hidden makes [Read] know items by their
	// masked keys. Default: nothing is hidden
	Mask *mask.Mask

	Key       *template.Template // name of a PerItem object: required there, refused under Log
	Partition *template.Template // folder of a Log object, behind Prefix; refused under PerItem: "dt={@time|date:2006-01-02}". Default: none
	Roll      Roll               // when a Log object is full; see Sink.Batch
	Columns   []Column           // of Parquet objects; refused in other formats. Default: none
	Tags      []TagTemplate      // of every object; one whose value misses is left out. Default: none
}

// Layout says how changes become objects.
type Layout string

// The layouts.
const (
	Log     Layout = "log"      // batches of JSON lines
	PerItem Layout = "per_item" // one object a change
)

// Images says how a line shows a change.
type Images string

// The forms of a line.
const (
	DynamoDBJSON Images = "dynamodb_json" // the record as it came, with its stream ARN: every type is kept, and it replays
	PlainJSON    Images = "plain_json"    // key, version, operation and plain images, for people and query engines
)

// Roll says when an object of the log is full. It is also full when the changes that wait for
// it take pipeline.Options.MaxPacked, compressed: to that they are when their pages would
// take the bounds of the pipeline. An object is made of them with some of each page in memory at a
// time, and is itself in memory, compressed, from where it is sent in parts.
type Roll struct {
	Bytes int64         // raw bytes of the records in it. Default: 8 MiB
	Age   time.Duration // how long a change may wait for others; a Live pipeline wants one. Default (0): until the object is full or the source ends
}

// Sink plans and writes the objects of one archive. It is safe for concurrent use.
type Sink struct {
	store     Store
	prefix    string
	layout    Layout
	images    Images
	mask      *mask.Mask
	kinds     map[Kind]bool
	key       *template.Template
	partition *template.Template // nil: none
	roll      Roll
	tags      []TagTemplate
	columns   []Column
	byTable   bool // tags name the table: an object is of one
	packers   compressors
	recent    recent
}

var (
	_ pipeline.Sink       = (*Sink)(nil)
	_ pipeline.Planner    = (*Sink)(nil)
	_ pipeline.KeyOrderer = (*Sink)(nil)
	_ pipeline.Guarded    = (*Sink)(nil)

	_ pipeline.EventIgnorer = (*Sink)(nil)
	_ pipeline.SortedWriter = (*Sink)(nil)
)

// New checks the options and makes a sink. The error names the option.
func New(o Options) (*Sink, error) {
	s := &Sink{
		store:     o.Store,
		prefix:    o.Prefix,
		layout:    cmp.Or(o.Layout, Log),
		images:    cmp.Or(o.Images, DynamoDBJSON),
		mask:      o.Mask,
		kinds:     make(map[Kind]bool),
		key:       o.Key,
		partition: o.Partition,
		roll:      Roll{Bytes: cmp.Or(o.Roll.Bytes, 8<<20), Age: o.Roll.Age},
		tags:      slices.Clone(o.Tags),
		columns:   slices.Clone(o.Columns),
		packers:   compressors{format: cmp.Or(o.Format, JSONLZstd)},
	}
	switch {
	case s.store == nil:
		return nil, errors.New("archive: Store is nil: give the store that holds the objects")
	case s.layout != Log && s.layout != PerItem:
		return nil, fmt.Errorf("archive: Layout %q is unknown: give %q or %q", s.layout, Log, PerItem)
	case !slices.Contains(formats, s.packers.format):
		return nil, fmt.Errorf("archive: Format %q is unknown: give %q, %q or %q", o.Format, JSONLZstd, JSONLGzip, Parquet)
	case s.layout == PerItem && o.Format != "":
		return nil, fmt.Errorf("archive: Format belongs to the layout %q: objects of the layout %q are JSON as it is", Log, PerItem)
	case len(s.columns) > 0 && s.packers.format != Parquet:
		return nil, fmt.Errorf("archive: Columns belong to the format %q", Parquet)
	case s.images != DynamoDBJSON && s.images != PlainJSON:
		return nil, fmt.Errorf("archive: Images %q is unknown: give %q or %q", s.images, DynamoDBJSON, PlainJSON)
	case s.layout == PerItem && s.key == nil:
		return nil, fmt.Errorf("archive: Key is nil: the layout %q needs the template of its object names", PerItem)
	case s.layout == PerItem && s.partition != nil:
		return nil, fmt.Errorf("archive: Partition belongs to the layout %q: make it part of Key", Log)
	case s.key != nil && isLog(s.key.String()):
		return nil, fmt.Errorf("archive: Key ends in %s, by which objects of the layout %q are known: name the objects .json", path.Ext(s.key.String()), Log)
	case s.layout == Log && s.key != nil:
		return nil, fmt.Errorf("archive: Key belongs to the layout %q: objects of a log are named by their content", PerItem)
	case s.roll.Bytes < 0 || s.roll.Age < 0:
		return nil, fmt.Errorf("archive: Roll is negative: %d bytes, %v", s.roll.Bytes, s.roll.Age)
	}
	if err := s.checkNames(); err != nil {
		return nil, err
	}
	if err := checkTags(s.tags, s.layout); err != nil {
		return nil, err
	}
	if err := checkColumns(s.columns); err != nil {
		return nil, err
	}
	for _, t := range s.tags {
		s.byTable = s.byTable || s.layout == Log && len(t.Value.Literals()) > 1
	}
	s.recent.timely = s.timely()
	kinds := o.Kinds
	if len(kinds) == 0 {
		kinds = []Kind{TTLDelete, UserDelete, AnyChange}
	}
	for _, k := range kinds {
		if k != TTLDelete && k != UserDelete && k != AnyChange {
			return nil, fmt.Errorf("archive: Kinds holds %q: give some of %q, %q and %q", k, TTLDelete, UserDelete, AnyChange)
		}
		s.kinds[k] = true
	}
	return s, nil
}

// checkNames checks what is the same in all names.
func (s *Sink) checkNames() error {
	switch {
	case s.layout == PerItem:
		return checkName("Prefix and Key", s.prefix, s.key, "")
	case s.partition != nil:
		return checkName("Prefix and Partition", s.prefix, s.partition, "/x")
	}
	return checkName("Prefix", s.prefix, nil, "x")
}

// Batch is what the route to this sink should have. Under Log a batch is an
// object: it is cut by Roll. Under PerItem it is the pipeline's default.
func (s *Sink) Batch() pipeline.Batch {
	if s.layout == PerItem {
		return pipeline.Batch{}
	}
	return pipeline.Batch{Count: 1 << 20, Bytes: s.roll.Bytes, Linger: s.roll.Age, Fill: true}
}

// Concurrency is how many Writes the route to this sink should have in flight:
// under Log one, so that objects are cut by the input alone and a second replay
// makes the same; under PerItem 0, the pipeline's default.
func (s *Sink) Concurrency() int {
	if s.layout == PerItem {
		return 0
	}
	return 1
}

// KeepsKeyOrder is true: every change has its own place, which no other overwrites.
func (s *Sink) KeepsKeyOrder() bool { return true }

// IgnoresEvents is true.
func (s *Sink) IgnoresEvents() bool { return true }

// Guarded is true: the order of an item's changes is in their versions.
func (s *Sink) Guarded() bool { return true }
