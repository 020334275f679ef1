package view

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/sinks/state"
)

// AggregateOptions describe one aggregate.
type AggregateOptions struct {
	Name     string // required: name of the sink. It owns its rows: no other sink may write them
	Pipeline string // required: name of the pipeline
	Birth    string // of the sink's output, which its rows bear. Default: none
	Table    string // required: table that the groups' rows are in; views and other aggregates may share it

	PK Attribute // required: partition key of a group's row. With ForEach, templates may read {each}
	SK Attribute // sort key of a group's row. Default: the table has none

	When    pipeline.ItemCondition // items that count. Default: all
	ForEach string                 // path of a list whose elements count one by one. Default: the item counts as one
	Values  []Value                // required: what a group's row holds besides its key

	Shards    int  // rows that a group is spread over, by item; see [Groups]. Default: 1
	KeepOnTTL bool // what TTL deletes stays counted for ever. Default: it is taken out, as for any delete

	Mask  *mask.Mask // hides attributes in what ops show of groups; what is written is not masked. Default: nothing is hidden
	Store GroupStore // where rows are written. Default: none; the sink then plans, and refuses to write

	Retention state.Retention // of what Store remembers: a change that is older is refused. Default: it forgets nothing
}

// Value is one value of a group's row.
type Value struct {
	Name string // of the attribute
	Of   string // "count", "sum", "min", "max" or "distinct"
	Path string // what it is of: a path in the item, or in the element where Each is set; "" of a count
	Each bool   // Path is in the element of ForEach; the element itself where Path is ""
}

// Aggregate plans and writes one aggregate: a row for each group of items, with
// what they come to together. It is safe for concurrent use and holds no state of
// its own: every worker may have one.
type Aggregate struct {
	base
	forEach item.Path // zero: the item counts
	values  []value
	shards  int
	keep    bool
	store   GroupStore
}

// value is a Value, ready for use.
type value struct {
	Value
	of     of
	at     int       // its place in a share, by name: that in the file may change
	path   item.Path // in the item; zero where Each is set, or there is none
	hidden bool      // the mask hides what it is of
}

// of is what is made of the shares of a group.
type of uint8

const (
	count of = iota
	sum
	least
	greatest
	distinct
)

// ofs are the names in [Value.Of].
var ofs = []string{count: "count", sum: "sum", least: "min", greatest: "max", distinct: "distinct"}

// member is the kind of a value that is made of members; false of a count and a sum.
func (o of) member() (state.MemberKind, bool) {
	switch o {
	case least:
		return state.Min, true
	case greatest:
		return state.Max, true
	case distinct:
		return state.Distinct, true
	default:
		return 0, false
	}
}

var (
	_ pipeline.Sink       = (*Aggregate)(nil)
	_ pipeline.Planner    = (*Aggregate)(nil)
	_ pipeline.Requirer   = (*Aggregate)(nil)
	_ pipeline.KeyOrderer = (*Aggregate)(nil)
	_ pipeline.Guarded    = (*Aggregate)(nil)

	_ pipeline.EventIgnorer = (*Aggregate)(nil)
)

// NewAggregate makes the sink of an aggregate. The error names the option that is wrong.
func NewAggregate(o AggregateOptions) (*Aggregate, error) {
	a := &Aggregate{
		base: base{
			target: Target{Table: Table{Name: o.Table, PK: o.PK.Name, SK: o.SK.Name}, View: o.Name, Pipeline: o.Pipeline, Birth: o.Birth},
			pk:     o.PK, sk: o.SK, when: o.When, mask: o.Mask, masksKey: masksKey(o.Mask, o.ForEach, o.PK, o.SK),
			retention: o.Retention, readsItem: o.When != nil || o.ForEach != "",
		},
		shards: cmp.Or(o.Shards, 1), keep: o.KeepOnTTL, store: o.Store,
	}
	err := o.validate()
	if err == nil && o.ForEach != "" {
		if a.forEach, err = item.ParsePath(o.ForEach); err != nil {
			err = fmt.Errorf("ForEach: %w", err)
		}
	}
	for i := 0; i < len(o.Values) && err == nil; i++ {
		var v value
		v, err = o.Values[i].ready()
		v.hidden = v.of != count && o.Mask.Hides(v.place(o.ForEach))
		for _, other := range o.Values {
			if other.Name < v.Name {
				v.at++
			}
		}
		a.values = append(a.values, v)
		a.readsItem = a.readsItem || v.of != count
	}
	if err != nil {
		return nil, fmt.Errorf("aggregate %q: %w", o.Name, err)
	}
	for _, k := range []Attribute{o.PK, o.SK} {
		a.readsItem = a.readsItem || k.Template != nil && len(k.Template.Paths()) > 0
	}
	return a, nil
}

func (o AggregateOptions) validate() error {
	row := Options{Name: o.Name, Pipeline: o.Pipeline, Table: o.Table, PK: o.PK, SK: o.SK}
	switch err := row.validate(); {
	case err != nil:
		return err
	case len(o.Values) == 0:
		return errors.New("Values is empty: say what to count")
	case o.Shards < 0:
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

// ready checks the value by itself.
func (v Value) ready() (value, error) {
	i := slices.Index(ofs, v.Of)
	if i < 0 {
		return value{}, errs.Errorf("value %q is of %q: it must be one of %q", v.Name, v.Of, ofs)
	}
	r := value{Value: v, of: of(i)}
	switch {
	case r.of == count && (v.Path != "" || v.Each):
		return r, errs.Errorf("value %q: a count has no path: it counts what `when` takes", v.Name)
	case r.of == count, v.Each && v.Path == "":
		return r, nil
	}
	if v.Each && v.Path[0] == '[' {
		// A path of an item begins with a name; one of an element that is a list itself need not.
		if _, err := item.ParsePath("each" + v.Path); err != nil {
			return r, fmt.Errorf("value %q: %w", v.Name, err)
		}
		return r, nil
	}
	p, err := item.ParsePath(v.Path)
	if err != nil {
		return r, fmt.Errorf("value %q: %w", v.Name, err)
	}
	if !v.Each {
		r.path = p
	}
	return r, nil
}

// place is the path of what the value is of, in the item.
func (v Value) place(forEach string) string {
	switch {
	case !v.Each:
		return v.Path
	case v.Path == "" || v.Path[0] == '[':
		return forEach + "[*]" + v.Path
	default:
		return forEach + "[*]." + v.Path
	}
}

// Requires names the new image where anything but {@key} is read. What an item
// counted for before is in the store, never in an old image.
func (a *Aggregate) Requires() pipeline.Needs { return pipeline.Needs{New: a.readsItem} }

// Batch is larger than that of other sinks: of many changes in a group each row
// and each page of the state is written once.
func (a *Aggregate) Batch() pipeline.Batch { return pipeline.Batch{Count: 2000} }
