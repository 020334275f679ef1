package unmarshal

import (
	"math"
	"reflect"
	"unsafe"
)

// shortInt reads the integer at i, of up to 18 digits, and the position of the quote
// that closes it; 0 for a number of any other sort.
func shortInt(b []byte, i int) (n int64, end int) {
	neg := b[i] == '-'
	if neg {
		i++
	}
	first := i
	for ; b[i]-'0' <= 9; i++ {
		n = n*10 + int64(b[i]-'0')
	}
	if b[i] != '"' || i == first || i-first > 18 {
		return 0, 0
	}
	if neg {
		n = -n
	}
	return n, i
}

// shortFloat reads the number at i, of up to 15 digits without an exponent, and the
// position of the quote that closes it; 0 for any other. Such digits, and the power
// of ten that divides them, are exact as float64, so that their quotient is the
// nearest one.
func shortFloat(b []byte, i int) (f float64, end int) {
	neg := b[i] == '-'
	if neg {
		i++
	}
	n, first, fraction := uint64(0), i, 0
	for ; b[i]-'0' <= 9; i++ {
		n = n*10 + uint64(b[i]-'0')
	}
	digits := i - first
	if b[i] == '.' {
		point := i
		for i++; b[i]-'0' <= 9; i++ {
			n = n*10 + uint64(b[i]-'0')
		}
		fraction = i - point - 1
		digits += fraction
	}
	if b[i] != '"' || digits == 0 || digits > 15 {
		return 0, 0
	}
	f = float64(n)
	if fraction > 0 {
		f /= math.Pow10(fraction)
	}
	if neg {
		f = -f
	}
	return f, i
}

// putInt puts n into the integer at p; false where it does not fit.
func putInt(p unsafe.Pointer, kind reflect.Kind, n int64) bool {
	switch kind {
	case reflect.Int64:
		*(*int64)(p) = n
	case reflect.Int32:
		if n != int64(int32(n)) {
			return false
		}
		*(*int32)(p) = int32(n)
	case reflect.Int16:
		if n != int64(int16(n)) {
			return false
		}
		*(*int16)(p) = int16(n)
	case reflect.Int8:
		if n != int64(int8(n)) {
			return false
		}
		*(*int8)(p) = int8(n)
	default:
		if n < math.MinInt || n > math.MaxInt {
			return false
		}
		*(*int)(p) = int(n)
	}
	return true
}

// putUint puts n into the unsigned integer at p; false where it does not fit.
func putUint(p unsafe.Pointer, kind reflect.Kind, n uint64) bool {
	switch kind {
	case reflect.Uint64:
		*(*uint64)(p) = n
	case reflect.Uint32:
		if n > math.MaxUint32 {
			return false
		}
		*(*uint32)(p) = uint32(n)
	case reflect.Uint16:
		if n > math.MaxUint16 {
			return false
		}
		*(*uint16)(p) = uint16(n)
	case reflect.Uint8:
		if n > math.MaxUint8 {
			return false
		}
		*(*uint8)(p) = uint8(n)
	default:
		if n > math.MaxUint {
			return false
		}
		*(*uint)(p) = uint(n)
	}
	return true
}
