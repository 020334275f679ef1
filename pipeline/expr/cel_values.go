package expr

import (
	"reflect"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// toCEL converts an attribute value to a value of CEL. Maps, lists and sets become adapters, which convert a member
// only when CEL reads it.
func toCEL(v item.Value) ref.Val {
	switch v.Kind() {
	case item.KindS:
		if text, ok := v.Text(); ok {
			return types.String(text)
		}
	case item.KindN:
		if i, ok := v.Int64(); ok {
			return types.Int(i)
		}
		if d, ok := v.Number(); ok {
			return number{d: d}
		}
	case item.KindBOOL:
		b, ok := v.Bool()
		if ok {
			return boolValue(b)
		}
	case item.KindB:
		if b, ok := v.Bytes(); ok {
			return types.Bytes(b)
		}
	case item.KindM:
		return &mapping{attributeAdapter{v: v}}
	case item.KindL, item.KindSS, item.KindNS, item.KindBS:
		return &list{attributeAdapter{v: v}}
	}
	return types.NullValue
}

// boolValue returns b without allocation.
func boolValue(b bool) ref.Val {
	if b {
		return types.True
	}
	return types.False
}

// instant returns t as a timestamp, or null if t is zero.
func instant(t time.Time) ref.Val {
	if t.IsZero() {
		return types.NullValue
	}
	return types.Timestamp{Time: t}
}

var operations = map[record.Operation]ref.Val{
	record.Unknown:  types.String(record.Unknown.String()),
	record.Insert:   types.String(record.Insert.String()),
	record.Modify:   types.String(record.Modify.String()),
	record.Remove:   types.String(record.Remove.String()),
	record.Snapshot: types.String(record.Snapshot.String()),
}

func operation(o record.Operation) ref.Val { return operations[o] }

// notNative is embedded by values of CEL that cannot be converted to a Go type.
type notNative struct{}

// ConvertToNative implements [ref.Val].
func (notNative) ConvertToNative(reflect.Type) (any, error) {
	return nil, errs.New("a value of an expression has no native form")
}

// attributeAdapter is the common part of the adapters of maps, lists and sets.
type attributeAdapter struct {
	notNative
	v item.Value
}

// Value implements [ref.Val].
func (n attributeAdapter) Value() any { return n.v }

// Size implements [traits.Sizer].
func (n attributeAdapter) Size() ref.Val { return types.Int(n.v.Len()) }

// ConvertToType implements [ref.Val].
func (n attributeAdapter) ConvertToType(t ref.Type) ref.Val {
	return fail("%s cannot become %s", n.v.Kind(), t.TypeName())
}

// mapping is the adapter of an M.
type mapping struct{ attributeAdapter }

var (
	_ traits.Mapper   = (*mapping)(nil)
	_ traits.Foldable = (*mapping)(nil)
)

// Type implements [ref.Val].
func (m *mapping) Type() ref.Type { return types.MapType }

// Find implements [traits.Mapper].
func (m *mapping) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	v, ok := m.v.Get(string(name))
	if !ok {
		return nil, false
	}
	return toCEL(v), true
}

// Get implements [traits.Indexer]. It returns null if the map lacks the name.
func (m *mapping) Get(key ref.Val) ref.Val {
	if v, ok := m.Find(key); ok {
		return v
	}
	return types.NullValue
}

// Contains implements [traits.Container].
func (m *mapping) Contains(key ref.Val) ref.Val {
	name, isText := key.(types.String)
	if !isText {
		return types.False
	}
	_, hasName := m.v.Get(string(name))
	return boolValue(hasName)
}

// Equal implements [ref.Val].
func (m *mapping) Equal(other ref.Val) ref.Val {
	if o, ok := other.(*mapping); ok {
		return boolValue(m.v.Equal(o.v))
	}
	o, ok := other.(traits.Mapper)
	if !ok || o.Size() != m.Size() {
		return types.False
	}
	for name, v := range m.v.Members() {
		w, ok := o.Find(types.String(name))
		if !ok || types.Equal(toCEL(v), w) != types.True {
			return types.False
		}
	}
	return types.True
}

// Iterator implements [traits.Iterable] over the names.
func (m *mapping) Iterator() traits.Iterator {
	names := make([]ref.Val, 0, m.v.Len())
	for name := range m.v.Members() {
		names = append(names, types.String(name))
	}
	return &iterator{members: names}
}

// Fold implements [traits.Foldable], which CEL's loops use.
func (m *mapping) Fold(f traits.Folder) {
	for name, v := range m.v.Members() {
		if !f.FoldEntry(types.String(name), toCEL(v)) {
			return
		}
	}
}

// list is the adapter of an L or a set. A set is a list without order.
type list struct{ attributeAdapter }

var (
	_ traits.Lister   = (*list)(nil)
	_ traits.Foldable = (*list)(nil)
)

// Type implements [ref.Val].
func (l *list) Type() ref.Type { return types.ListType }

// Get implements [traits.Indexer]. It returns null if the index is outside the list.
func (l *list) Get(index ref.Val) ref.Val {
	if i, ok := index.(types.Int); ok && i >= 0 && i < types.Int(l.v.Len()) {
		if v, ok := l.v.Index(int(i)); ok {
			return toCEL(v)
		}
	}
	return types.NullValue
}

// Contains implements [traits.Container].
func (l *list) Contains(member ref.Val) ref.Val {
	for _, v := range l.v.Elements() {
		if types.Equal(toCEL(v), member) == types.True {
			return types.True
		}
	}
	return types.False
}

// Equal implements [ref.Val].
func (l *list) Equal(other ref.Val) ref.Val {
	if o, ok := other.(*list); ok {
		return boolValue(l.v.Equal(o.v))
	}
	o, ok := other.(traits.Lister)
	if !ok || o.Size() != l.Size() {
		return types.False
	}
	isSet := l.v.Kind() != item.KindL
	for i, v := range l.v.Elements() {
		var isEqual ref.Val
		if isSet {
			isEqual = o.Contains(toCEL(v))
		} else {
			isEqual = types.Equal(toCEL(v), o.Get(types.Int(i)))
		}
		if isEqual != types.True {
			return types.False
		}
	}
	return types.True
}

// Add implements [traits.Adder].
func (l *list) Add(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return fail("a list and %s cannot be added", kindOf(other))
	}
	var both []ref.Val
	for _, part := range []traits.Lister{l, o} {
		for it := part.Iterator(); it.HasNext() == types.True; {
			both = append(both, it.Next())
		}
	}
	return types.DefaultTypeAdapter.NativeToValue(both)
}

// Iterator implements [traits.Iterable].
func (l *list) Iterator() traits.Iterator {
	members := make([]ref.Val, 0, l.v.Len())
	for _, v := range l.v.Elements() {
		members = append(members, toCEL(v))
	}
	return &iterator{members: members}
}

// Fold implements [traits.Foldable], which CEL's loops use. Without Fold, the loops would call Get for each member, and
// Get searches from the beginning of the list.
func (l *list) Fold(f traits.Folder) {
	for i, v := range l.v.Elements() {
		if !f.FoldEntry(types.Int(i), toCEL(v)) {
			return
		}
	}
}

// iterator iterates over members. CEL requires an iterator to be a ref.Val, but uses only the iteration.
type iterator struct {
	attributeAdapter
	members []ref.Val
}

var _ traits.Iterator = (*iterator)(nil)

// Type implements [ref.Val].
func (it *iterator) Type() ref.Type { return types.IteratorType }

// Equal implements [ref.Val].
func (it *iterator) Equal(other ref.Val) ref.Val { return boolValue(it == other) }

// HasNext implements [traits.Iterator].
func (it *iterator) HasNext() ref.Val { return boolValue(len(it.members) > 0) }

// Next implements [traits.Iterator].
func (it *iterator) Next() ref.Val {
	if len(it.members) == 0 {
		return nil
	}
	next := it.members[0]
	it.members = it.members[1:]
	return next
}

// kindOf returns DynamoDB's name of a value's type, or CEL's name if DynamoDB has no such type.
func kindOf(v ref.Val) string {
	switch v := v.(type) {
	case types.String:
		return "S"
	case types.Int, number:
		return "N"
	case types.Bool:
		return "BOOL"
	case types.Bytes:
		return "B"
	case types.Null:
		return "null"
	case *mapping:
		return v.v.Kind().String()
	case *list:
		return v.v.Kind().String()
	case *image:
		return "an image"
	default:
		return v.Type().TypeName()
	}
}
