package view

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/sinks/state"
)

// AggregateOptions configure one aggregate.
type AggregateOptions struct {
	Name     string // required: name of the sink. The sink owns its rows: no other sink may write them
	Pipeline string // required: name of the pipeline
	Birth    string // id of the sink's output, which each row has. Default: none
	Table    string // required: table of the groups' rows; views and other aggregates may share it

	PK Attribute // required: partition key of a group's row. With ForEach, templates may read {each}
	SK Attribute // sort key of a group's row. Default: the table has none

	When    pipeline.ItemCondition // condition for the items that count. Default: all items count
	ForEach string                 // path of a list whose elements count separately. Default: the item counts as one
	Values  []Value                // required: values of a group's row besides its key

	Shards int // number of rows that the items of a group are spread over; see [GroupRows]. Default: 1

	// KeepOnTTL keeps an item counted permanently after TTL deletes it, with the shares of its last image. Default: a
	// TTL delete removes the item from its groups, as any delete does.
	KeepOnTTL bool

	Mask  *mask.Mask // hides attributes in displayed ops; the stored rows are not masked. Default: nothing is hidden
	Store GroupStore // writes the rows. Default: none; then the sink only plans, and its Write fails

	Retention state.Retention // how long Store keeps contributions; older changes are refused. Default: no limit

	// NoTTLDeletes means that a filter drops TTL deletes before they reach the sink, so an expired item stays counted
	// until its key is inserted again. To replace the old contribution, each inserted item gets one, even if it counts
	// for nothing. Default: the sink receives all deletes.
	NoTTLDeletes bool
}

// Value is one value of a group's row.
type Value struct {
	Name string // name of the attribute
	Kind string // "count", "sum", "min", "max" or "distinct"
	Path string // path of the value in the item, or in the element if Each is set; "" for a count
	Each bool   // Path starts at the element of ForEach; "" is the element itself

	// Bound is set if the value is a part of a key, to which the keys of entities bind a name (pipeline/entity). Path
	// is then this name, for display only. Default: nil.
	Bound *entity.Binding
}

// Aggregate plans and writes one aggregate: a row for each group of items, with the values of the group. It is safe for
// concurrent use. It has no state, so each consumer may have an Aggregate of its own.
type Aggregate struct {
	base
	forEach   item.Path // zero if the item counts as one
	values    []parsedValue
	shards    int
	keepOnTTL bool
	store     GroupStore
}

// parsedValue is a Value after parsing.
type parsedValue struct {
	Value
	kind aggregateKind
	// shareIndex is the index of the value in Share.Values. Share.Values is sorted by name, because the order of the
	// values in the configuration may change.
	shareIndex int
	path       item.Path // path in the item; zero for a count, or if Each is set
	masked     bool      // the mask hides the attribute of the value
}

// aggregateKind is the function that computes a value of a group from its shares. A share is what one item counts for.
type aggregateKind uint8

const (
	countKind aggregateKind = iota
	sumKind
	minKind
	maxKind
	distinctKind
)

// kindNames are the names of the kinds in [Value.Kind].
var kindNames = []string{countKind: "count", sumKind: "sum", minKind: "min", maxKind: "max", distinctKind: "distinct"}

// memberKind returns the kind of the members of a min, max or distinct. A min, max or distinct is computed from stored
// values, its members. A count or a sum has no members, so memberKind returns false.
func (k aggregateKind) memberKind() (state.MemberKind, bool) {
	switch k {
	case minKind:
		return state.Min, true
	case maxKind:
		return state.Max, true
	case distinctKind:
		return state.Distinct, true
	default:
		return 0, false
	}
}

// MemberKind returns the kind of the value's members. It returns false for a count or a sum, which have no members.
func (v Value) MemberKind() (state.MemberKind, bool) {
	kind := slices.Index(kindNames, v.Kind)
	if kind < 0 {
		return 0, false
	}
	return aggregateKind(kind).memberKind()
}

var (
	_ pipeline.Sink     = (*Aggregate)(nil)
	_ pipeline.Planner  = (*Aggregate)(nil)
	_ pipeline.Requirer = (*Aggregate)(nil)
)

// NewAggregate returns the sink of an aggregate. The error names the wrong option.
func NewAggregate(o AggregateOptions) (*Aggregate, error) {
	table := Table{Name: o.Table, PK: o.PK.Name, SK: o.SK.Name}
	a := &Aggregate{
		base: base{
			target: Target{Table: table, View: o.Name, Pipeline: o.Pipeline, Birth: o.Birth},
			pk:     o.PK, sk: o.SK, when: o.When, mask: o.Mask, masksKey: masksKey(o.Mask, o.ForEach, o.PK, o.SK),
			retention: o.Retention, noTTLDeletes: o.NoTTLDeletes, readsItem: o.readsItem(),
		},
		shards: cmp.Or(o.Shards, 1), keepOnTTL: o.KeepOnTTL, store: o.Store,
	}
	if err := a.parseValues(o); err != nil {
		return nil, fmt.Errorf("aggregate %q: %w", o.Name, err)
	}
	return a, nil
}

// readsItem reports whether the rows depend on any attribute of the item except {@key}.
func (o AggregateOptions) readsItem() bool {
	keyReadsItem := func(a Attribute) bool { return a.Template != nil && len(a.Template.Paths()) > 0 }
	valueReadsItem := func(v Value) bool { return v.Kind != kindNames[countKind] }
	return o.When != nil || o.ForEach != "" || keyReadsItem(o.PK) || keyReadsItem(o.SK) ||
		slices.ContainsFunc(o.Values, valueReadsItem)
}

// parseValues validates o, and sets a.forEach and a.values.
func (a *Aggregate) parseValues(o AggregateOptions) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	if o.ForEach != "" {
		if a.forEach, err = item.ParsePath(o.ForEach); err != nil {
			return fmt.Errorf("ForEach: %w", err)
		}
	}
	for i := range o.Values {
		v, err := o.Values[i].parse()
		if err != nil {
			return err
		}
		v.masked = v.kind != countKind && slices.ContainsFunc(v.itemPaths(o.ForEach), o.Mask.Hides)
		v.shareIndex = countBefore(v.Name, o.Values)
		a.values = append(a.values, v)
	}
	return nil
}

// countBefore returns the number of values whose names come before name.
func countBefore(name string, values []Value) (n int) {
	for _, v := range values {
		if v.Name < name {
			n++
		}
	}
	return n
}

func (o AggregateOptions) validate() error {
	row := Options{Name: o.Name, Pipeline: o.Pipeline, Table: o.Table, PK: o.PK, SK: o.SK}
	if err := row.validate(); err != nil {
		return err
	}
	if len(o.Values) == 0 {
		return errors.New("Values is empty: name what to count")
	}
	if o.Shards < 0 {
		return fmt.Errorf("Shards is %d: a group has at least one row", o.Shards)
	}

	taken := []string{o.PK.Name, o.SK.Name, reserved}
	for _, v := range o.Values {
		switch {
		case v.Name == "":
			return errors.New("Values: each needs a name")
		case slices.Contains(taken, v.Name):
			return fmt.Errorf("value %q: the row has an attribute of that name already", v.Name)
		case strings.HasPrefix(v.Name, reserved):
			return fmt.Errorf("value %q: names that begin with %s are the store's", v.Name, reserved)
		case v.Each && o.ForEach == "":
			return fmt.Errorf("value %q is of an element, and there is none without ForEach", v.Name)
		}
		taken = append(taken, v.Name)
	}
	return nil
}

// parse checks and parses one value.
func (v Value) parse() (parsedValue, error) {
	kind := slices.Index(kindNames, v.Kind)
	if kind < 0 {
		return parsedValue{}, errs.Errorf("value %q is of %q: it must be one of %q", v.Name, v.Kind, kindNames)
	}
	parsed := parsedValue{Value: v, kind: aggregateKind(kind)}
	if parsed.kind == countKind {
		if v.Path != "" || v.Each {
			return parsed, errs.Errorf("value %q: a count has no path: it counts what `when` takes", v.Name)
		}
		return parsed, nil
	}

	isElement := v.Each && v.Path == ""
	if isElement || v.Bound != nil {
		return parsed, nil
	}
	path := v.Path
	if beginsWithIndex := strings.HasPrefix(path, "["); v.Each && beginsWithIndex {
		path = "each" + path // ParsePath accepts only paths that begin with a name
	}
	parsedPath, err := item.ParsePath(path)
	if err != nil {
		return parsed, fmt.Errorf("value %q: %w", v.Name, err)
	}
	if !v.Each {
		parsed.path = parsedPath
	}
	return parsed, nil
}

// itemPaths returns the paths of an item that the value is read from. forEach is the path of the list.
func (v Value) itemPaths(forEach string) []string {
	switch {
	case v.Bound != nil:
		var paths []string
		for _, name := range v.Bound.Attributes() {
			paths = append(paths, item.PathText([]string{name}))
		}
		return paths
	case !v.Each:
		return []string{v.Path}
	case v.Path == "" || v.Path[0] == '[':
		return []string{forEach + "[*]" + v.Path}
	default:
		return []string{forEach + "[*]." + v.Path}
	}
}

// Requires returns the images that the sink needs. It needs the new image if it reads any attribute except {@key}. It
// needs the old image only if expired items stay counted. It does not need old images to update groups, because the
// store has the contributions.
func (a *Aggregate) Requires() pipeline.Needs {
	return pipeline.Needs{New: a.readsItem, Old: a.readsItem && a.keepOnTTL}
}

// Batch returns a larger batch than that of other sinks, because many changes of one group then write its row once.
func (a *Aggregate) Batch() pipeline.Batch { return pipeline.Batch{Count: 2000} }
