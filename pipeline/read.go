package pipeline

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/tablewake/tablewake/pipeline/internal/simd"
)

// What the scanner has passed is walked here without checking it again: a value's
// members and elements are found when they are asked for. Positions are of b,
// which starts with the bracket of a map, a list or a set. Compact JSON, as AWS
// writes it, is walked by its bytes; white space is looked for only where the byte
// that is due does not stand.

// skipSpace is the position of the next byte that is no white space.
func skipSpace(b []byte, i int) int {
	for b[i] <= ' ' {
		i++
	}
	return i
}

// stringEnd is the position of the quote that closes the string whose text starts
// at i. Most texts are short: eight bytes at a time find their end sooner than a
// search that has to be called.
func stringEnd(b []byte, i int) int {
	for short := i + 48; i < short && uint(i)+8 <= uint(len(b)); {
		stop := simd.Stops(binary.LittleEndian.Uint64(b[i:]))
		if stop == 0 {
			i += 8
			continue
		}
		switch i += bits.TrailingZeros64(stop) >> 3; b[i] {
		case '"':
			return i
		case '\\':
			i++
		}
		i++
	}
	for start := i; ; i++ {
		i += bytes.IndexByte(b[i:], '"')
		slashes := 0
		for i-slashes > start && b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}

// tagAt reads the tag of the value at i, as {"S":"x"}, and returns where what it
// stands for begins: at a quote, a bracket or a literal. The kind is Absent for {},
// the empty map, and the position is behind it.
func tagAt(b []byte, i int) (kind Kind, at int) {
	if i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		if w&compactMask == compactTag {
			if kind = shortTags[byte(w>>16)]; kind != Absent {
				if at = i + 5; b[at] <= ' ' {
					at = skipSpace(b, at)
				}
				return kind, at
			}
		}
	}
	if i = skipSpace(b, i+1); b[i] == '}' {
		return Absent, i + 1
	}
	end := stringEnd(b, i+1)
	kind = kindOfTag(textOf(b[i+1 : end]))
	return kind, skipSpace(b, skipSpace(b, end+1)+1)
}

// memberAt reads the name whose quote is at i, and the tag of its value: the range of the name,
// where the value starts, its kind and where what it stands for begins, as tagAt says them.
func memberAt(b []byte, i int) (from, to, value int, kind Kind, at int) {
	from = i + 1
	to = stringEnd(b, from)
	if kind = compactKind(b, to); kind != Absent {
		return from, to, to + 2, kind, to + compactTagLen
	}
	from, to, value = memberName(b, i)
	kind, at = tagAt(b, value)
	return from, to, value, kind, at
}

// compactKind is the kind of the value whose name ends with the quote at, where ":{"S": stands
// there, as it does in compact JSON; else Absent.
func compactKind(b []byte, at int) Kind {
	if at+8 > len(b) {
		return Absent
	}
	w := binary.LittleEndian.Uint64(b[at:])
	if w&(compactMask<<16|0xffff) != compactTag<<16|':'<<8|'"' || w>>56 <= ' ' {
		return Absent
	}
	return shortTags[byte(w>>32)]
}

// compactTagLen is how far behind the quote what the tag stands for begins.
const compactTagLen = len(`":{"S":`)

// contentEnd is the position behind what a tag of that kind stands for, from at.
func contentEnd(b []byte, kind Kind, at int) int {
	switch kind {
	case KindS, KindN, KindB:
		return stringEnd(b, at+1) + 1
	case KindBOOL, KindNULL:
		if b[at] == 'f' {
			return at + 5
		}
		return at + 4
	case KindM:
		i := inside(b, at)
		for b[i] == '"' {
			_, _, _, kind, i = memberAt(b, i)
			if kind != Absent {
				i = closed(b, contentEnd(b, kind, i))
			}
			i = next(b, i)
		}
		return i + 1
	case KindL:
		i := inside(b, at)
		for b[i] != ']' {
			i = next(b, valueEnd(b, i))
		}
		return i + 1
	default:
		i := inside(b, at)
		for b[i] != ']' {
			i = next(b, stringEnd(b, i+1)+1)
		}
		return i + 1
	}
}

// valueEnd is the position behind the value at i, as {"S":"x"}.
func valueEnd(b []byte, i int) int {
	kind, at := tagAt(b, i)
	if kind == Absent {
		return at
	}
	return closed(b, contentEnd(b, kind, at))
}

// closed is the position behind the brace that closes a value whose content ends at i.
func closed(b []byte, i int) int {
	if b[i] != '}' {
		i = skipSpace(b, i)
	}
	return i + 1
}

// inside is the position of the first member, or of the closing bracket, of what
// opens at i.
func inside(b []byte, i int) int {
	if i++; b[i] <= ' ' {
		i = skipSpace(b, i)
	}
	return i
}

// next is the position of the next member, behind the comma, or of the closing
// bracket.
func next(b []byte, i int) int {
	if b[i] <= ' ' {
		i = skipSpace(b, i)
	}
	if b[i] != ',' {
		return i
	}
	return inside(b, i)
}

// memberName reads the name whose quote is at i: its range, and where the value
// starts.
func memberName(b []byte, i int) (from, to, value int) {
	from = i + 1
	to = stringEnd(b, from)
	if value = to + 2; b[to+1] != ':' || b[value] <= ' ' {
		value = skipSpace(b, skipSpace(b, to+1)+1)
	}
	return from, to, value
}

// readValue reads the value at i, as {"S":"x"}, and the position behind it.
func readValue(b []byte, i int) (Value, int) {
	kind, from := tagAt(b, i)
	if kind == Absent {
		return Value{raw: emptyMap, kind: KindM}, from
	}
	end := contentEnd(b, kind, from)
	to := end
	if kind <= KindB {
		from, to = from+1, end-1
	}
	return Value{raw: b[from:to:to], kind: kind}, closed(b, end)
}

var emptyMap = []byte("{}")

// eachMember calls yield for the members of a map, with their raw names.
func eachMember(b []byte, yield func(name []byte, v Value) bool) {
	for ms := walk(b); ; {
		name, v, ok := ms.member()
		if !ok || !yield(name, v) {
			return
		}
	}
}

// eachElement calls yield for the elements of a list or a set.
func eachElement(b []byte, kind Kind, yield func(v Value) bool) {
	for es := walk(b); ; {
		v, ok := es.element(kind)
		if !ok || !yield(v) {
			return
		}
	}
}

// walker stands before a member of a map, or an element of a list or a set.
type walker struct {
	b []byte
	i int // of the next one, or of the closing bracket
}

func walk(b []byte) walker { return walker{b, inside(b, 0)} }

// member is the next member of a map, with its raw name; false behind the last.
func (w *walker) member() (name []byte, v Value, ok bool) {
	if w.b[w.i] == '}' {
		return nil, Value{}, false
	}
	from, to, at := memberName(w.b, w.i)
	v, at = readValue(w.b, at)
	w.i = next(w.b, at)
	return w.b[from:to], v, true
}

// element is the next element of a list or member of a set, which kind says; false
// behind the last.
func (w *walker) element(kind Kind) (v Value, ok bool) {
	if w.b[w.i] == ']' {
		return Value{}, false
	}
	at := 0
	if kind == KindL {
		v, at = readValue(w.b, w.i)
	} else {
		end := stringEnd(w.b, w.i+1)
		v, at = Value{raw: w.b[w.i+1 : end : end], kind: memberKind(kind)}, end+1
	}
	w.i = next(w.b, at)
	return v, true
}

// memberKind is the kind of a set's members.
func memberKind(set Kind) Kind {
	switch set {
	case KindSS:
		return KindS
	case KindNS:
		return KindN
	default:
		return KindB
	}
}
