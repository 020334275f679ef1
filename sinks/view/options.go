package view

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/elements"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
)

// Options configure one view.
type Options struct {
	Name     string // required: name of the sink. The sink owns its rows: no other view may write them
	Pipeline string // required: name of the pipeline
	Birth    string // id of the sink's output, which each row has. Default: none
	Table    string // required: table of the rows; several views may share it

	PK Attribute // required: partition key of the row
	SK Attribute // sort key of the row. Default: the table has none

	// Shards is the number of shards that {@shard} in PK spreads the items of a partition over. SK is then required. It
	// must contain {@key}, unless Unique or ForEach make the row key identify the item. See [Partition]. Default: PK
	// has no {@shard}.
	Shards int

	// Unique are names that entity keys bind (pipeline/entity) and that together identify the item. If the row key has
	// all of them and Collision is the default, the row guards itself. If two items have the same row key, the change
	// of the second item is a collision. Default: none.
	Unique []string

	// ForEach selects elements of an item. Each of them has a row. Templates may then read {each}, the element, and
	// {@each}, its identity. When may be a pipeline.ElementCondition. The row key must identify the item, like the key
	// of a row that guards itself, and must contain {@each}. Default: an item has one row.
	ForEach *elements.Spec

	When       pipeline.ItemCondition // condition for the items that have a row. Default: all items have one
	Attributes []Attribute            // attributes of a row besides its key, in order. Default: none
	All        *CopyAll               // replaces Attributes by a copy of the item's attributes. Default: nil

	Collision Collision // rule for a claim on a row that another item owns. Default: DeadLetterCollision

	// Backfill is true while a backfill runs. A change whose claim waits is then not dead-lettered, whatever Collision
	// is, because the claim may still get the row. The outcome of such a change is NoEffect with ReasonCollision.
	// Default: Collision decides.
	Backfill bool

	// InPlace means that the tombstones of rows that guard themselves are at the rows' keys. Default: they are in the
	// store's state, apart from the rows.
	InPlace bool

	// Mask hides attributes in displayed ops and errors. The stored rows are not masked. Default: nothing is hidden.
	Mask *mask.Mask

	// Store writes the rows. It must be an [ItemStore] for rows guarded by item, and an [ItemRowsStore] with ForEach.
	// Default: none; then the sink only plans, and its Write fails.
	Store Store

	// Retention is how long Store keeps tombstones and guards. Older changes are refused. Default: no limit.
	Retention state.Retention

	// NoTTLDeletes means that a filter drops TTL deletes before they reach the sink. Then an item can expire without
	// notice: its row stays, and an insert of the same key follows. So each insert gets a guard or a tombstone, even if
	// it has no row. Default: the sink receives all deletes.
	NoTTLDeletes bool
}

// Attribute is one attribute of a row. If the template is exactly one {path}, the value keeps its DynamoDB type.
// Otherwise the value is a string. In a key the value must be an S, N or B.
type Attribute struct {
	Name     string
	Template *template.Template
}

// CopyAll copies the attributes of an item into its row, as the projection ALL of a global secondary index does. It
// leaves out attributes with the names of the row's key attributes, attributes whose names begin with _tw, and the
// attributes of replication (aws:rep:*).
type CopyAll struct {
	Hidden *mask.Mask // attributes that Hidden hides, completely or in part, are left out too. Default: none
}

// reserved is the attribute that holds the version and the owner of a row. Other names with this prefix are
// reserved for the store.
const reserved = "_tw"

func (o Options) validate() error {
	switch {
	case o.Name == "":
		return errors.New("Name is empty: a view is known by its name")
	case o.Pipeline == "":
		return errors.New("Pipeline is empty: rows carry the name of their pipeline")
	case o.Table == "":
		return errors.New("Table is empty: name the table that the rows go to")
	case o.PK.Name == "" || o.PK.Template == nil:
		return errors.New("PK needs a name and a template")
	case o.All != nil && len(o.Attributes) > 0:
		return errors.New("All copies the item's attributes: Attributes must be empty")
	case (o.SK.Name == "") != (o.SK.Template == nil):
		return errors.New("SK needs a name and a template, or neither")
	}
	if err := o.validateShards(); err != nil {
		return err
	}
	for _, a := range o.key() {
		if !a.Template.Stable() {
			return fmt.Errorf(
				"key attribute %s: '%s' differs from change to change, so that the row of an older one could not be found again: a row key is made of the item, {@key} and {@table}", a.Name, a.Template)
		}
	}

	objections := map[string]string{reserved: "holds the row's version"} // why a name cannot be given, by name
	for _, a := range append(o.key(), o.Attributes...) {
		if err := a.checkName(objections); err != nil {
			return err
		}
		objections[a.Name] = "is given twice"
	}
	switch o.Collision {
	case "", DeadLetterCollision, KeepFirst, KeepLast:
		return nil
	default:
		return fmt.Errorf("Collision is %q: it is %s, %s or %s", o.Collision, DeadLetterCollision, KeepFirst, KeepLast)
	}
}

// checkName returns an error if the attribute is incomplete, or if its name cannot be given.
func (a Attribute) checkName(objections map[string]string) error {
	if a.Name == "" || a.Template == nil {
		return errors.New("Attributes: each needs a name and a template")
	}
	if objection, ok := objections[a.Name]; ok {
		return fmt.Errorf("attribute %q %s", a.Name, objection)
	}
	if strings.HasPrefix(a.Name, reserved) {
		return fmt.Errorf("attribute %q: names that begin with %s are the store's", a.Name, reserved)
	}
	return nil
}

// validateShards returns an error if Shards cannot spread the row key. The key must identify the item: SK contains
// {@key}, the key contains the names of Unique, or ForEach is set. Otherwise two items that should claim one row could
// be in different shards, where they would get two rows.
func (o Options) validateShards() error {
	hasSK := o.SK.Template != nil
	isSpread := o.PK.Template.HasShard()
	switch {
	case o.Shards < 0:
		return errs.Errorf("Shards is %d: it is a number of shards", o.Shards)
	case hasSK && o.SK.Template.HasShard():
		return errs.New("SK has {@shard}: only PK can have it")
	case !isSpread && o.Shards > 1:
		return errs.Errorf("Shards is %d, and PK has no {@shard}", o.Shards)
	case !isSpread:
		return nil
	case o.Shards == 0:
		return errs.New("PK has {@shard}, and Shards is 0: give the number of shards")
	}

	identifiesItem := hasSK && (o.SK.Template.HasKey() || o.namesIdentifyItem() || o.ForEach != nil)
	if !identifiesItem {
		return errs.New(
			"PK has {@shard}, SK has no {@key}, the key not all names of Unique, and no ForEach is set: two items in different shards could not claim one row")
	}
	return nil
}

// key returns the one or two attributes of the row key.
func (o Options) key() []Attribute {
	if o.SK.Name == "" {
		return []Attribute{o.PK}
	}
	return []Attribute{o.PK, o.SK}
}

// keyPaths returns the paths of the attributes that the row key reads.
func (o Options) keyPaths() ([]item.Path, error) {
	var paths []item.Path
	for _, a := range o.key() {
		for _, text := range a.Template.Paths() {
			path, err := item.ParsePath(text)
			if err != nil {
				return nil, err
			}
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// readsItem reports whether the rows depend on any attribute of the item except {@key}.
func (o Options) readsItem() bool {
	readsAttribute := func(a Attribute) bool { return len(a.Template.Paths()) > 0 }
	return o.When != nil || o.All != nil || o.ForEach != nil || slices.ContainsFunc(o.key(), readsAttribute) ||
		slices.ContainsFunc(o.Attributes, readsAttribute)
}

// checkForEach returns an error if ForEach cannot be used with the other options. mode is the GuardMode of the row key.
func (o Options) checkForEach(mode GuardMode) error {
	hasIdentity := func(a Attribute) bool { return a.Template.HasIdentity() }
	keyIdentifiesItem := !mode.ByItem
	switch {
	case !keyIdentifiesItem:
		return errs.Errorf("ForEach needs the item in the row key, and %s: put {@key} into it", redact.Safe(mode.Why))
	case !slices.ContainsFunc(o.key(), hasIdentity):
		return errs.New("ForEach needs the element in the row key, where its end is certain: put {@each} into it")
	case o.InPlace:
		return errs.New("InPlace is for rows that guard themselves, and with ForEach the item guards its rows")
	case o.Collision != "" && o.Collision != DeadLetterCollision:
		return errs.Errorf("Collision is %s, and with ForEach each row belongs to one item", redact.Safe(o.Collision))
	}
	return nil
}

// forEachPath returns the path of the list, set or map of ForEach; "" if an item has one row.
func (o Options) forEachPath() string {
	if o.ForEach == nil {
		return ""
	}
	return o.ForEach.Path.String()
}
