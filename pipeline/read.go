package pipeline

import "bytes"

// What the scanner has passed is walked here without checking it again: a value's
// members and elements are found when they are asked for. Positions are of b,
// which starts with the bracket of a map, a list or a set.

// skipSpace is the position of the next byte that is no white space.
func skipSpace(b []byte, i int) int {
	for b[i] <= ' ' {
		i++
	}
	return i
}

// stringEnd is the position of the quote that closes the string whose text starts at i.
func stringEnd(b []byte, i int) int {
	for {
		i += bytes.IndexByte(b[i:], '"')
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
		i++
	}
}

// containerEnd is the position behind the bracket that closes the one at i.
func containerEnd(b []byte, i int) int {
	depth := 0
	for {
		switch b[i] {
		case '"':
			i = stringEnd(b, i+1)
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

// readValue reads the value at i, as {"S":"x"}, and the position behind it.
func readValue(b []byte, i int) (Value, int) {
	i = skipSpace(b, i+1)
	if b[i] == '}' {
		return Value{raw: emptyMap, kind: KindM}, i + 1
	}
	end := stringEnd(b, i+1)
	kind := kindOfTag(textOf(b[i+1 : end]))
	i = skipSpace(b, skipSpace(b, end+1)+1)
	from, to := i, 0
	switch kind {
	case KindS, KindN, KindB:
		from = i + 1
		to = stringEnd(b, from)
		i = to + 1
	case KindBOOL, KindNULL:
		to = i + 4
		if b[i] == 'f' {
			to++
		}
		i = to
	default:
		to = containerEnd(b, i)
		i = to
	}
	return Value{raw: b[from:to:to], kind: kind}, skipSpace(b, i) + 1
}

var emptyMap = []byte("{}")

// eachMember calls yield for the members of a map, with their raw names.
func eachMember(b []byte, yield func(name []byte, v Value) bool) {
	i := skipSpace(b, 1)
	for b[i] == '"' {
		end := stringEnd(b, i+1)
		name := b[i+1 : end]
		var v Value
		v, i = readValue(b, skipSpace(b, skipSpace(b, end+1)+1))
		if !yield(name, v) {
			return
		}
		if i = skipSpace(b, i); b[i] == '}' {
			return
		}
		i = skipSpace(b, i+1)
	}
}

// eachElement calls yield for the elements of a list or a set.
func eachElement(b []byte, kind Kind, yield func(v Value) bool) {
	i := skipSpace(b, 1)
	if b[i] == ']' {
		return
	}
	for {
		var v Value
		if kind == KindL {
			v, i = readValue(b, i)
		} else {
			end := stringEnd(b, i+1)
			v, i = Value{raw: b[i+1 : end : end], kind: memberKind(kind)}, end+1
		}
		if !yield(v) {
			return
		}
		if i = skipSpace(b, i); b[i] == ']' {
			return
		}
		i = skipSpace(b, i+1)
	}
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
