package config

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/rules"
	"github.com/tablewake/tablewake/pipeline/template"
)

// Sink is one entry of `sinks`. Exactly one of View, Aggregate, Search, Archive, Notify and Custom is set.
type Sink struct {
	_    any    `ref:"sink" one:"view,aggregate,search,archive,notify,custom"`
	Name string `key:"*" is:"name"`
	Line int    `key:"@"`

	View      *View      `key:"view" doc:"A row for each item."`
	Aggregate *Aggregate `key:"aggregate" doc:"Counts and sums by group."`
	Search    *Search    `key:"search" doc:"A document for each item."`
	Archive   *Archive   `key:"archive" doc:"Every change, or the newest of each item, as an object."`
	Notify    *Notify    `key:"notify" doc:"Detected events as CloudEvents."`
	Custom    *Custom    `key:"custom" doc:"A Go sink given to sinks.Assemble."`

	// Entities has the names of the entities whose items the sink takes. It is empty if the sink takes every item.
	Entities []string `key:"of,single,first" is:"entity" below:"view,aggregate,search,archive,notify,custom" doc:"Only items of these entities."`
	Filters  []Filter `key:"filters,apart" ref:"filters" below:"view,aggregate,search,archive,notify,custom" doc:"What to drop before this sink alone."`
	// WhenItem is nil if `when` is not set, or if the sink keeps no state.
	WhenItem *expr.Item `key:"when" below:"view,aggregate,search" doc:"Condition of the sink in CEL: over item in state sinks; over old, new, op, keys, time and ttl in the others."`
	// WhenChange is nil if `when` is not set, or if the sink keeps state.
	WhenChange *expr.Change `key:"when" below:"archive,notify,custom" doc:"Condition of the sink in CEL: over item in state sinks; over old, new, op, keys, time and ttl in the others."`
	// Rate is 0 if it is unlimited.
	Rate float64 `key:"rate,apart" below:"view,aggregate,search,archive,notify,custom" doc:"Deliveries a second. Default: unlimited."`
	// Concurrency is 0 if the file does not set it: the pipeline then uses its default.
	Concurrency    int            `key:"concurrency,apart,late" def:"4" below:"view,aggregate,search,archive,notify,custom" doc:"Writes in flight."`
	Batch          Batch          `key:"batch,apart" below:"view,aggregate,search,archive,notify,custom" doc:"Bounds of one write."`
	NoBackfill     bool           `key:"backfill,apart" words:"wait,none" yes:"none" def:"wait" below:"view,aggregate,search" doc:"What to do when the sink is added to a pipeline that has written before: wait until tablewake backfill fills it, or begin with the changes of now (none)."`
	AllowSensitive []item.Pattern `key:"allow_sensitive,apart" below:"view,aggregate,search,archive,notify,custom" doc:"Sensitive paths that this sink may hold."`

	Scope *entity.Scope // scope of Entities; nil if Entities is empty

	// Settings has the settings that shape the output, by path, such as "view.key.PK". It includes settings of other
	// parts of the file, such as "source.tables" or "filters". Secrets are digests.
	Settings map[string]string
}

// Made is called after the keys are read. It sets the filters and the scope. It empties a sink that has no kind or
// several kinds, about which there is a problem already.
func (s *Sink) Made(f *yamlbind.File, v *value) {
	if len(v.Entries) != 1 {
		*s = Sink{Name: s.Name, Line: s.Line}
		return
	}
	c := yamlbind.Context[*checker](f)
	s.Filters = c.filters(v.Entries[0].Get("filters"))
	if len(s.Entities) > 0 {
		s.Scope = c.entitySet().Scope(s.Entities...)
	}
	if s.View != nil {
		s.View.entityUnique = s.Scope.Unique()
	}
	c.sinks = append(c.sinks, s)
}

// FiltersInOrder returns the filters before the sink, in the order of evaluation. The sink receives the changes that
// all of them keep. A dropped change is counted by the name of the filter that drops it. For a sink that keeps state,
// the conditions on items come in addition, from [Sink.ItemCondition].
func (s *Sink) FiltersInOrder() []pipeline.Filter {
	var kept []pipeline.Filter
	switch {
	case s.Scope == nil:
	case s.KeepsState():
		kept = append(kept, rules.Keep("of", rules.OfKeys(s.Scope)))
	default:
		kept = append(kept, rules.Keep("of", rules.OfEntities(s.Scope)))
	}
	for _, f := range s.Filters {
		kept = append(kept, f.Filter)
	}
	if s.WhenChange != nil {
		kept = append(kept, rules.Keep("when", s.WhenChange))
	}
	return kept
}

// ItemCondition returns the condition that an item must meet to be in a sink that keeps state. It returns nil if every
// item that the sink's filters keep is in it.
func (s *Sink) ItemCondition() pipeline.ItemCondition {
	var when pipeline.ItemCondition
	if s.WhenItem != nil {
		when = s.WhenItem
	}
	if s.Scope != nil && !s.Scope.KeysOnly() {
		return rules.ItemOf(s.Scope, when)
	}
	return when
}

// KeepsState reports whether the sink keeps state: it is a view, an aggregate or a search sink. The output of such a
// sink is a function of the table's items, and the sink remembers the versions of the items.
func (s *Sink) KeepsState() bool { return s.View != nil || s.Aggregate != nil || s.Search != nil }

// LocatedByKey reports whether the key of an item is enough to find its row in the view, or its document in the search
// index. If it is not, an image of the item or its guard (the sink's stored note about the item) is needed. It returns
// false for other sinks.
func (s *Sink) LocatedByKey() bool {
	switch {
	case s.View != nil:
		reads := func(c Column) bool { return len(c.Template.Paths()) > 0 }
		return s.View.RowsGuardThemselves() && !slices.ContainsFunc(s.View.Key, reads)
	case s.Search != nil:
		return s.Search.ForEach == nil && len(s.Search.Index.Paths()) == 0
	}
	return false
}

// Batch bounds one write. If a field is zero, the pipeline uses its default.
type Batch struct {
	_      any           `ref:"batch"`
	Count  int           `key:"count,late" def:"500" doc:"Deliveries."`
	Bytes  int64         `key:"bytes,late" is:"size" def:"4MiB" doc:"Bytes of records."`
	Linger time.Duration `key:"linger" def:"0s" doc:"How long a started batch waits to fill; 1h at most."`
}

// Column is a named template.
type Column struct {
	Name     string             `key:"*"`
	Template *template.Template `key:"="`
}

// View keeps one row for each item that `when` takes.
type View struct {
	Table Table `key:"table,required" form:"NAME" doc:"Table of the rows."`
	// ForEach is nil if an item has one row.
	ForEach *ForEach `key:"for_each" doc:"Elements of the item that have a row each; templates read {each.path} and {@each}."`
	Key     []Column `key:"key,required,ordered,shard" form:"{PK: 'NAME#{Attribute}', SK: '{@key}'}" ref:"columns" doc:"Partition key and sort key of a row."`
	Shards  int      `key:"shards" max:"256" def:"1" doc:"Number of shards that {@shard} in the partition key spreads a hot partition over."`
	// Attributes are in the order of the file.
	Attributes []Column `key:"attributes" form:"{NAME: '{Attribute}'}" ref:"all_or_columns" or:"all" doc:"What else a row holds; all copies the item."`
	Collision  string   `key:"on_collision" words:"dead_letter,keep_first,last" def:"dead_letter" doc:"What to do when several items claim a row."`
	InPlace    bool     `key:"tombstones" words:"apart,in_place" yes:"in_place" def:"apart" doc:"Where the tombstone of a removed row is: in the state table, or at the row's key, where readers leave it out."`

	AllAttributes bool // rows have the attributes of the item; Attributes is empty

	entityUnique []string // names of `unique` in the sink's entity, which identify an item; nil if there are none
}

// Made is called after the keys are read. It sets AllAttributes, and the path of ForEach.
func (v *View) Made(_ *yamlbind.File, at *value) {
	v.ForEach.setPath(at.Get("for_each"))
	v.AllAttributes = at.Get("attributes").Text() == "all"
}

// RowsGuardThemselves reports whether the key of each row contains its item's {@key}, or the names that identify the
// item ([View.Unique]). Such a row stores its own guard (the version that refuses older writes). The guards of other
// views can be records of the items in the state table, and with ForEach they always are.
func (v *View) RowsGuardThemselves() bool {
	return v.ForEach == nil && v.keyIdentifiesItem()
}

// keyIdentifiesItem reports whether the key of each row contains its item's {@key} or the names of [View.Unique].
func (v *View) keyIdentifiesItem() bool { return v.keyHasItemKey() || v.Unique() != nil }

// keyMayIdentifyItem reports whether the key of each row identifies its item for at least some source tables. It does
// for a table if the row's key contains all of the table's key attributes.
func (v *View) keyMayIdentifyItem() bool {
	hasEscaped := func(c Column) bool { return len(c.Template.EscPaths()) > 0 }
	return v.keyIdentifiesItem() || slices.ContainsFunc(v.Key, hasEscaped)
}

// keyHasItemKey reports whether the key of each row contains its item's {@key}. Then two items can never claim one row.
func (v *View) keyHasItemKey() bool {
	return slices.ContainsFunc(v.Key, func(c Column) bool { return c.Template.HasKey() })
}

// Unique returns the names that identify an item, if the key of the item's row has all of them. It returns nil if the
// key lacks one of them, if the key has {@key}, or if on_collision decides which item owns a row. Two items that have
// the same row, although the names should identify them, are a collision.
func (v *View) Unique() []string {
	if len(v.entityUnique) == 0 || v.keyHasItemKey() || v.Collision != "dead_letter" {
		return nil
	}
	bound := v.boundNames()
	if slices.ContainsFunc(v.entityUnique, func(name string) bool { return !slices.Contains(bound, name) }) {
		return nil
	}
	return v.entityUnique
}

// boundNames returns the bound names in the key of a row. A bound name is a name that the key of an entity binds.
func (v *View) boundNames() []string {
	var bound []string
	for _, c := range v.Key {
		bound = append(bound, c.Template.BoundNames()...)
	}
	return bound
}

// RowsMayGuardThemselves reports whether rows guard themselves for at least some source tables. They do for a table if
// the row's key contains all of the table's key attributes.
func (v *View) RowsMayGuardThemselves() bool { return v.ForEach == nil && v.keyMayIdentifyItem() }

// guardedParts returns the setting view.guards: whether each row has a guard, or each item. A view cannot continue rows
// that were written with the other kind of guards, because it does not find these guards. If the result depends on the
// key of the source table, which the file does not have, guardedParts returns what it depends on.
func (v *View) guardedParts(tables int) string {
	var escaped []string
	isAmbiguous := false
	for _, c := range v.Key {
		escaped = append(escaped, c.Template.EscPaths()...)
		isAmbiguous = isAmbiguous || c.Template.Ambiguous()
	}
	slices.Sort(escaped)
	switch {
	case v.RowsGuardThemselves():
		return "rows"
	case v.ForEach != nil, isAmbiguous, len(escaped) == 0, tables > 1:
		return "items"
	}
	return "rows, if the key of the table is in " + strings.Join(slices.Compact(escaped), ", ")
}

// Aggregate counts the items that `when` takes, in groups.
type Aggregate struct {
	Table Table `key:"table,required" form:"NAME" doc:"Table of the group rows."`
	// Group has templates that read the item. If ForEach is set, they can also read the element ({each...}).
	Group []Column `key:"group,required,ordered,each" form:"{PK: 'NAME#{Attribute}', SK: ALL}" doc:"Key of a group's row."`
	// Values are in the order of the file.
	Values []AggregateValue `key:"values,required" form:"{NAME: count, NAME: {sum: PATH}}" doc:"What is counted, by attribute."`
	// ForEach is "" if each item counts once.
	ForEach string `key:"for_each" is:"path" doc:"List whose elements count one by one."`
	// Shards is the number of rows that a group is spread over. A reader of the group must read all of them.
	Shards    int  `key:"shards" max:"256" def:"1" doc:"Rows that a hot group is spread over."`
	KeepOnTTL bool `key:"on_ttl_delete,required" words:"keep,retract" yes:"keep" doc:"Whether an expired item still counts."`
}

// AggregateValue is one value of a group's row.
type AggregateValue struct {
	Name string `key:"*"` // attribute of the group's row
	Kind string // count, sum, min, max or distinct
	// Path is a path in the item, or in the element if Each is set. It is "" for a count, and for the element itself.
	Path string
	Each bool // the file has each.Path, or each alone

	Bound *entity.Binding // Path as a name that the keys of the sink's entities bind; nil if Path is a path

	_ string `key:"=" words:"count"`
	_ string `key:"sum" form:"PATH" is:"path" doc:"Exact sum."`
	_ string `key:"min" form:"PATH" is:"path" doc:"Least value."`
	_ string `key:"max" form:"PATH" is:"path" doc:"Greatest value."`
	_ string `key:"distinct" form:"PATH" is:"path" doc:"Count of distinct values."`
	_ any    `one:"sum,min,max,distinct"`
}

// Made is called after the keys are read. It sets the values, with Each for the paths that begin at an element.
func (a *Aggregate) Made(_ *yamlbind.File, v *value) {
	a.Values = nil
	for _, e := range v.Get("values").All() {
		av := AggregateValue{Name: e.Name, Kind: e.Text()}
		if len(e.Entries) == 1 { // {sum: path}
			av.Kind, av.Path = e.Entries[0].Name, e.Entries[0].Source
			if rest, each := cutEachPrefix(av.Path); each && a.ForEach != "" {
				av.Path, av.Each = rest, true
			}
		}
		if av.Kind != "" {
			a.Values = append(a.Values, av)
		}
	}
}

// cutEachPrefix returns the path inside the element. It is PATH for each.PATH, [0].PATH for each[0].PATH, and "" for
// each. ok is false for any other path.
func cutEachPrefix(path string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, "each")
	if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return "", false
	}
	return strings.TrimPrefix(rest, "."), true
}

// Search keeps one document for each item that `when` takes.
type Search struct {
	// Connection is "" if the sink only runs on embedded stores.
	Connection string `key:"connection,apart" is:"name" doc:"One of connections."`
	// ForEach is nil if an item has one document.
	ForEach *ForEach `key:"for_each" doc:"Elements of the item that have a document each, in which the element is in place of its list, set or map."`
	// Index may have placeholders.
	Index  *template.Template `key:"index,required" form:"NAME" doc:"Index of the documents."`
	Fields Fields             `key:"fields" doc:"What a document holds."`
	// Mapping is the JSON of the mapping file. It is nil if the file names none: then the store makes the mapping.
	Mapping json.RawMessage `key:"mapping,apart" doc:"JSON file of the index's mapping, beside this file."`
	// Fast is true if versions are compared as creation times, in whole seconds.
	Fast   bool `key:"mode" words:"exact,fast" yes:"fast" def:"exact" doc:"How versions are compared."`
	HashID bool `key:"id" words:"key,hmac" yes:"hmac" def:"key" doc:"What document ids are made of."`
	// Routing is nil if documents are routed by their id.
	Routing *template.Template `key:"routing" doc:"Routing of the documents, made of keys alone."`
	// OnDemand is true if an index is created when its first document is written.
	OnDemand bool `key:"create,apart" words:"on_start,on_demand" yes:"on_demand" def:"on_start" doc:"When indexes are made."`
	// MaxIndexes is 0 if any number of indexes is allowed.
	MaxIndexes int `key:"max_indexes,apart" doc:"Bound on what an index template may make."`
}

// Made is called after the keys are read. It sets the path of ForEach.
func (s *Search) Made(_ *yamlbind.File, v *value) { s.ForEach.setPath(v.Get("for_each")) }

// Fields defines which attributes a document holds, and how.
type Fields struct {
	// If Include is not empty, it also has the paths of Hash.
	Include []string          `key:"include,apart" is:"path" doc:"Only these. Default: every attribute."`
	Exclude []string          `key:"exclude" is:"path" doc:"All but these."`
	Rename  map[string]string `key:"rename" names:"path" doc:"Field name by path."`
	Numbers map[string]string `key:"numbers" names:"path" words:"string,scaled_float,double" doc:"How long decimals are written, by path."`
	Hash    []string          `key:"hash" is:"path" doc:"Paths that are written as an HMAC; included by that."`
}

// Made is called after the keys are read. It adds the hashed paths to Include.
func (f *Fields) Made(*yamlbind.File, *value) {
	for _, p := range f.Hash {
		if f.Include != nil && !slices.Contains(f.Include, p) {
			f.Include = append(f.Include, p)
		}
	}
}

// Archive writes changes as objects.
type Archive struct {
	Bucket   string             `key:"bucket,apart" is:"bucket" doc:"S3 bucket; may be absent where the store is local."`
	Prefix   string             `key:"prefix" doc:"Prefix of the objects."`
	PerItem  bool               `key:"layout" words:"log,per_item" yes:"per_item" def:"log" doc:"Objects of many changes, or one for each change or item."`
	Kinds    []string           `key:"kinds" words:"ttl_delete,user_delete,change" doc:"What is archived. Default: all kinds."`
	Key      *template.Template `key:"key" doc:"Object key of layout per_item. Without {@version} an object holds the newest change of its item."`
	RawNames bool               `key:"names" words:"escaped,raw" yes:"raw" def:"escaped" doc:"How values are written in the object key of layout per_item: raw keeps # and /."`
	// Partition is the folder between the prefix and the name of an object. It is nil if there is none.
	Partition *template.Template `key:"partition" doc:"Folder of layout log's objects."`
	Roll      Roll               `key:"roll,apart" doc:"When an object of layout log is closed."`
	Format    string             `key:"format" words:"jsonl.zst,jsonl.gz,parquet" def:"jsonl.zst" doc:"Format of the objects."`
	Columns   []Column           `key:"columns" ref:"columns" doc:"Columns of Parquet."` // in the order of the file
	Images    string             `key:"images" words:"dynamodb_json,plain_json" def:"dynamodb_json" doc:"How images are written."`

	// StorageClass is "" if the bucket's default is used.
	StorageClass string `key:"storage_class,apart" words:"STANDARD,STANDARD_IA,ONEZONE_IA,INTELLIGENT_TIERING,GLACIER_IR,GLACIER,DEEP_ARCHIVE,REDUCED_REDUNDANCY" doc:"S3 storage class."`
	// KMSKey is the id or the ARN of a key. It is "" if the bucket's default is used.
	KMSKey string   `key:"kms_key,apart" doc:"KMS key of the objects."`
	Tags   []Column `key:"tags,apart" ref:"columns" doc:"Object tags."`
	// Masked is the author's confirmation that sensitive attributes are masked. They are masked even if it is false.
	Masked bool `key:"masked,apart" def:"false" doc:"Sensitive attributes are masked."`
}

// KeepsNewest reports whether an object holds only the newest change of its item. Such an archive is not a history, so
// no sink can be filled from it.
func (a *Archive) KeepsNewest() bool { return a.PerItem && a.Key != nil && !a.Key.HasVersion() }

// TakesAllKinds reports whether the archive keeps changes of all kinds.
func (a *Archive) TakesAllKinds() bool {
	isLeftOut := func(kind string) bool { return !slices.Contains(a.Kinds, kind) }
	return len(a.Kinds) == 0 || !slices.ContainsFunc([]string{"ttl_delete", "user_delete", "change"}, isLeftOut)
}

// Made is called after the keys are read. It removes the default age of Roll if the layout is per_item, because objects
// of that layout never wait.
func (a *Archive) Made(f *yamlbind.File, _ *value) {
	if a.PerItem && !f.Has(&a.Roll) {
		a.Roll.Age = 0
	}
}

// Roll defines when an object of layout log is closed. The changes in an open object delay the checkpoint. Age bounds
// this delay if a table has few changes.
type Roll struct {
	// Bytes is 0 if the file does not set it: the sink then uses its default.
	Bytes int64         `key:"bytes,late" is:"size" def:"8MiB" doc:"Size of its records, before compression."`
	Age   time.Duration `key:"age" def:"5m" doc:"How long its first change waits for others; 1h at most. A replay ignores it: the input alone cuts its objects."`
}

// Notify sends detected events.
type Notify struct {
	_          any         `most:"region,origin"`
	_          any         `most:"queue,topic,bus"` // without a target, the sink only runs on embedded stores
	Queue      string      `key:"queue,apart" doc:"Name or URL of an SQS queue."`
	Topic      string      `key:"topic,apart" doc:"ARN of an SNS topic."`
	Bus        string      `key:"bus,apart" doc:"Name or ARN of an EventBridge bus."`
	Events     []string    `key:"events,required" form:"[NAME], with names of detect" is:"name" doc:"Names of detectors."`
	Region     string      `key:"region" doc:"Only changes of this Region raise events. A global table has a stream with all changes in each."`
	Origin     item.Path   `key:"origin" doc:"Path of an attribute that names the Region that raises the events of the item."`
	Attributes []item.Path `key:"attributes" doc:"Attributes of the item that each event has: of the new image, else the old."`
	_          string      `key:"format" words:"cloudevents,CloudEvents" def:"cloudevents" doc:"Format of the messages."`

	// Bound has the attributes that are bound names. A bound name is a name that the keys of entities bind. Attributes
	// has the other attributes.
	Bound []*entity.Binding
}

// Custom is a Go sink given to sinks.Assemble by name.
type Custom struct {
	Name string `key:"name,required" form:"NAME" is:"name" doc:"Name of the Go sink."`
	With With   `key:"with" doc:"Settings of the Go sink."`
}
