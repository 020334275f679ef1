package unmarshal

import (
	"reflect"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Items are decoded by pointers, and a struct that is decoded by its pointer is allocated. One
// that is returned by value need not be: it is filled in memory that is used again and again.

// fillsScratch tells whether structs of d's type may stand where others stood before: whether
// nothing of the program's gets to see that place.
func (d *typeDecoder) fillsScratch() bool {
	d.once.Do(d.build)
	return d.inScratch
}

// decodeInScratch decodes m, as fillImage does.
func decodeInScratch[T any](d *typeDecoder, m item.Image) (out T, err error) {
	p, _ := d.scratch.Get().(*T)
	if p == nil {
		p = new(T)
	}
	err = d.fillImage(m, unsafe.Pointer(p))
	out = *p
	*p = *new(T)
	d.scratch.Put(p) // not after a panic
	return out, err
}

// decodesItself tells whether a method of the program's decodes some of the memory of a t: it
// could keep the pointer that it is given.
func decodesItself(t reflect.Type) bool {
	if formOf(t) == selfDecoding {
		return true
	}
	switch t.Kind() {
	case reflect.Array:
		return decodesItself(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if decodesItself(t.Field(i).Type) {
				return true
			}
		}
	default: // what it leads to is allocated for each
	}
	return false
}
