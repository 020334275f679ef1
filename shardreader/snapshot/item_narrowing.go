package snapshot

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// NarrowingOptions select items. An item must meet all options that are set.
type NarrowingOptions struct {
	// Types are alternatives. "Order" selects the items whose attribute Type is the string Order, and "kind=Order" the
	// items whose attribute kind is the string Order. A type that contains = must be written with its attribute.
	// Default: all types
	Types []string

	KeyPrefix    string // prefix of the partition key, an S or a B. Default: all keys
	PartitionKey string // name of the partition key; KeyPrefix needs it

	Filter string   // CEL expression over item. Default: all items
	Env    expr.Env // environment of Filter
}

// ItemSelection is a narrowing: it selects the items of a table that a backfill reads. A nil ItemSelection selects all
// items. It is a [pipeline.Condition] for the changes of a snapshot, and is safe for concurrent use.
//
// A sink that is filled from a narrowed snapshot is complete only if the narrowing selects every item that the sink
// takes. So the sink's `when`, entities and filters must be as narrow as the narrowing, or narrower. Otherwise an item
// that was not selected is missing until the stream shows a change of the item. A narrowing that is too wide only costs
// time, because the sink decides again.
//
// A backfill never deletes items that are not selected, because a snapshot does not show absent items. So use a
// narrowing only for a sink that is empty, or that was filled with the same narrowing.
//
// A line of an incremental export is selected if its old or its new image meets the options. The old image counts
// because an item that leaves the selection must leave the sink. A line without an old image is selected if its key is
// selected.
type ItemSelection struct {
	types     []entityType
	keyPrefix pipeline.Condition // nil selects all keys
	prefix    string
	key       string // name of the partition key
	filter    *expr.Item
}

var _ pipeline.Condition = (*ItemSelection)(nil)

// entityType selects the items whose attribute is an S with one of the names.
type entityType struct {
	attribute string
	names     []string // sorted
}

// defaultTypeAttribute is the attribute with the type of an item, unless a type names another attribute.
const defaultTypeAttribute = "Type"

// NewItemSelection returns the narrowing that o describes; nil if o selects all items. An error names the field of o.
func NewItemSelection(o NarrowingOptions) (*ItemSelection, error) {
	n := &ItemSelection{}
	for _, t := range o.Types {
		attribute, name, err := ParseType(t)
		if err != nil {
			return nil, err
		}
		n.addType(attribute, name)
	}
	slices.SortFunc(n.types, func(a, b entityType) int { return cmp.Compare(a.attribute, b.attribute) })
	if o.KeyPrefix != "" {
		if o.PartitionKey == "" {
			return nil, errors.New("snapshot: KeyPrefix needs PartitionKey, the name of the table's partition key")
		}
		n.keyPrefix, n.prefix, n.key = rules.KeyPrefix(o.PartitionKey, o.KeyPrefix), o.KeyPrefix, o.PartitionKey
	}
	if o.Filter != "" {
		filter, err := o.Env.CompileItem(o.Filter)
		if err != nil {
			return nil, fmt.Errorf("snapshot: Filter: %w", err)
		}
		n.filter = filter
	}
	if len(n.types) == 0 && n.keyPrefix == nil && n.filter == nil {
		return nil, nil
	}
	return n, nil
}

// ParseType parses a type of [NarrowingOptions], which is "NAME" or "ATTRIBUTE=NAME".
func ParseType(t string) (attribute, name string, err error) {
	attribute, name, hasAttribute := strings.Cut(t, "=")
	if !hasAttribute {
		attribute, name = defaultTypeAttribute, t
	}
	if attribute == "" || name == "" {
		return "", "", fmt.Errorf("snapshot: Types: %q is neither NAME nor ATTRIBUTE=NAME", t)
	}
	return attribute, name, nil
}

func (n *ItemSelection) addType(attribute, name string) {
	i := slices.IndexFunc(n.types, func(t entityType) bool { return t.attribute == attribute })
	if i < 0 {
		i = len(n.types)
		n.types = append(n.types, entityType{attribute: attribute})
	}
	t := &n.types[i]
	if position, found := slices.BinarySearch(t.names, name); !found {
		t.names = slices.Insert(t.names, position, name)
	}
}

// Match reports whether the change is selected. It returns an error if Filter fails for an image; the error is
// permanent.
func (n *ItemSelection) Match(c *record.Change) (bool, error) {
	if n == nil {
		return true, nil
	}
	if n.keyPrefix != nil {
		if ok, err := n.keyPrefix.Match(c); !ok || err != nil {
			return false, err
		}
	}
	isChange := c.Op != record.Snapshot // a line of an incremental export
	if isChange && !c.ViewType.HasOld() {
		return true, nil
	}
	newMatches, err := n.matchImage(c.New)
	if newMatches {
		return true, nil
	}
	oldMatches, oldErr := n.matchImage(c.Old)
	if oldMatches {
		return true, nil
	}
	return false, cmp.Or(err, oldErr)
}

// MayMatch reports whether a record that cannot be decoded counts as selected. It does if its known key has the prefix,
// and its text has one of the types. A filter cannot be evaluated. So a filter alone selects no such record: otherwise
// one bad line would hide that a mistyped filter selects nothing.
func (n *ItemSelection) MayMatch(e *record.RecordError) bool {
	if n == nil {
		return true
	}
	if n.keyPrefix != nil {
		matches, err := n.keyPrefix.Match(&record.Change{Keys: e.Keys})
		hasPrefix := e.Keys.Exists() && matches && err == nil
		if !hasPrefix {
			return false
		}
	}
	if len(n.types) == 0 {
		return n.keyPrefix != nil || n.filter == nil
	}
	mayHideName := bytes.Contains(e.Raw, []byte(`\u`)) // an escape for letters of a name
	hasName := func(name string) bool { return bytes.Contains(e.Raw, []byte(`"`+name+`"`)) }
	return mayHideName ||
		slices.ContainsFunc(n.types, func(t entityType) bool { return slices.ContainsFunc(t.names, hasName) })
}

// matchImage reports whether an image exists and is selected by its type and by the filter.
func (n *ItemSelection) matchImage(m item.Image) (bool, error) {
	if !m.Exists() {
		return false, nil
	}
	hasType := len(n.types) == 0 || slices.ContainsFunc(n.types, func(t entityType) bool { return t.match(m) })
	if !hasType || n.filter == nil {
		return hasType, nil
	}
	return n.filter.Match(m)
}

func (t entityType) match(m item.Image) bool {
	v, _ := m.Get(t.attribute)
	s, ok := v.Text()
	return ok && slices.Contains(t.names, s)
}

// String returns a canonical text: two narrowings with the same text select the same items. The text is "" if all items
// are selected.
func (n *ItemSelection) String() string {
	if n == nil {
		return ""
	}
	var parts []string
	for _, t := range n.types {
		for _, name := range t.names {
			parts = append(parts, fmt.Sprintf("type %q=%q", t.attribute, name))
		}
	}
	if n.keyPrefix != nil {
		parts = append(parts, fmt.Sprintf("key prefix %q=%q", n.key, n.prefix))
	}
	if n.filter != nil {
		parts = append(parts, fmt.Sprintf("filter %q", n.filter.String()))
	}
	return strings.Join(parts, " ")
}
