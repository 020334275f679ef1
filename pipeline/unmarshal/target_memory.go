package unmarshal

import (
	"reflect"
	"unsafe"
)

// target is the memory of one Go value. A target has no type. The typePlan that is passed with a target has the type of
// the memory.
//
// This file has all unsafe code of the package. The code is sound for these reasons:
//   - Each target begins as a pointer that Go made (newTarget, targetOf). field adds an offset that reflect reports
//     for a field of the same struct type. element stays below the length of the slice or array. pointee follows a
//     pointer that is not nil. So a target is always inside one live object, and its plan has the type of that memory.
//   - as[T] is called only if the plan's form or kind implies the memory layout of a T.
//   - A target is a pointer, never an integer: the collector sees it, and a write through a *T has its write barrier.
//   - Decode uses the memory of a T again only if the program never gets a pointer into it (typePlan.hasUnmarshaler).
type target struct{ p unsafe.Pointer }

// newTarget allocates a zero value.
func newTarget(t reflect.Type) target { return target{reflect.New(t).UnsafePointer()} }

// targetOf returns the memory that p points to.
func targetOf(p reflect.Value) target { return target{p.UnsafePointer()} }

// as returns the value as a T.
func as[T any](t target) *T { return (*T)(t.p) }

// field returns the field of the struct at this offset.
func (t target) field(offset uintptr) target { return target{unsafe.Add(t.p, offset)} }

// element returns element i of the array, or of the backing array of a slice.
func (t target) element(i int, size uintptr) target { return target{unsafe.Add(t.p, uintptr(i)*size)} }

// pointee returns the memory that the pointer points to.
func (t target) pointee() target { return *as[target](t) }

// value returns the value as an addressable reflect.Value.
func (t target) value(typ reflect.Type) reflect.Value { return reflect.NewAt(typ, t.p).Elem() }

// bytes returns the bytes of an array of n bytes.
func (t target) bytes(n int) []byte { return unsafe.Slice(as[byte](t), n) }

func (t target) isNil() bool { return t.p == nil }
