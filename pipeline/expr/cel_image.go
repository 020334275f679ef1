package expr

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
)

// imageType is the type of item, old, new and keys. It is a struct whose fields are the attributes,
// so that CEL reads an attribute directly with [item.Image.Get].
var imageType = types.NewObjectType("image")

// image is an image as a value of CEL.
type image struct {
	notNative
	m item.Image
}

var _ ref.Val = (*image)(nil)

// Type implements [ref.Val].
func (i *image) Type() ref.Type { return imageType }

// Value implements [ref.Val]. CEL passes the result to field access.
func (i *image) Value() any { return i }

// Equal implements [ref.Val].
func (i *image) Equal(other ref.Val) ref.Val {
	o, ok := other.(*image)
	return boolValue(ok && i.m.Exists() == o.m.Exists() && i.m.Equal(o.m))
}

// ConvertToType implements [ref.Val].
func (i *image) ConvertToType(t ref.Type) ref.Val {
	return fail("an image cannot become %s", t.TypeName())
}

// provider describes images to CEL's checker and planner. An image has the declared attributes, or any attributes if
// attributes is nil.
type provider struct {
	types.Provider
	attributes map[string]item.Kind
}

// FindStructType implements [types.Provider].
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if name != imageType.TypeName() {
		return nil, false
	}
	return types.NewTypeTypeWithParam(imageType), true
}

// FindStructFieldNames implements [types.Provider].
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if name != imageType.TypeName() {
		return nil, false
	}
	return slices.Collect(maps.Keys(p.attributes)), true
}

// FindStructFieldType implements [types.Provider].
func (p *provider) FindStructFieldType(structType, name string) (*types.FieldType, bool) {
	if structType != imageType.TypeName() {
		return nil, false
	}
	t := types.DynType
	if p.attributes != nil {
		kind, ok := p.attributes[name]
		if !ok {
			return nil, false
		}
		t = celTypeOf(kind)
	}
	return &types.FieldType{
		Type:    t,
		IsSet:   func(target any) bool { return hasAttribute(target, name) },
		GetFrom: func(target any) (any, error) { return attributeIn(target, name) },
	}, true
}

// hasAttribute reports whether target is an image that has an attribute.
func hasAttribute(target any, name string) bool {
	i, isImage := target.(*image)
	if !isImage {
		return false
	}
	_, ok := i.m.Get(name)
	return ok
}

// attributeIn returns an attribute of the image target as a value of CEL; null if the image lacks the attribute.
func attributeIn(target any, name string) (any, error) {
	i, isImage := target.(*image)
	if !isImage {
		return nil, &evalError{"what attributes are read from is not an image"}
	}
	v, ok := i.m.Get(name)
	if !ok {
		return types.NullValue, nil
	}
	return toCEL(v), nil
}

// celTypeOf returns the type that CEL's checker uses for an attribute of the declared type k. Types inside maps and
// lists are not declared.
func celTypeOf(k item.Kind) *types.Type {
	switch k {
	case item.KindS:
		return types.StringType
	case item.KindN:
		return types.IntType
	case item.KindB:
		return types.BytesType
	case item.KindBOOL:
		return types.BoolType
	case item.KindM:
		return types.NewMapType(types.StringType, types.DynType)
	case item.KindL:
		return types.NewListType(types.DynType)
	case item.KindSS:
		return types.NewListType(types.StringType)
	case item.KindNS:
		return types.NewListType(types.IntType)
	case item.KindBS:
		return types.NewListType(types.BytesType)
	default:
		return types.DynType
	}
}
