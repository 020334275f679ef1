package ddbjson

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

// StringEnd is the position of the quote that closes the string whose text starts
// at i. Most texts are short: eight bytes at a time find their end sooner than a
// search that has to be called.
func StringEnd(b []byte, i int) int {
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

// TagAt reads the tag of the value at i, as {"S":"x"}, and returns where what it
// stands for begins: at a quote, a bracket or a literal. The tag is noTag for {},
// the empty map, and the position is behind it.
func TagAt(b []byte, i int) (tag Tag, at int) {
	if i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		if w&compactMask == compactTag {
			if tag = shortTags[byte(w>>16)]; tag != NoTag {
				if at = i + 5; b[at] <= ' ' {
					at = skipSpace(b, at)
				}
				return tag, at
			}
		}
	}
	if i = skipSpace(b, i+1); b[i] == '}' {
		return NoTag, i + 1
	}
	end := StringEnd(b, i+1)
	tag = tagOf(TextOf(b[i+1 : end]))
	return tag, skipSpace(b, skipSpace(b, end+1)+1)
}

// MemberAt reads the name whose quote is at i, and the tag of its value: the range of the name,
// where the value starts, its tag and where what it stands for begins, as tagAt says them.
func MemberAt(b []byte, i int) (from, to, value int, tag Tag, at int) {
	from = i + 1
	to = StringEnd(b, from)
	if tag = CompactTagAt(b, to); tag != NoTag {
		return from, to, to + 2, tag, to + CompactTagLen
	}
	from, to, value = MemberName(b, i)
	tag, at = TagAt(b, value)
	return from, to, value, tag, at
}

// CompactTagAt is the tag of the value whose name ends with the quote at, where ":{"S": stands
// there, as it does in compact JSON; else noTag.
func CompactTagAt(b []byte, at int) Tag {
	if at+8 > len(b) {
		return NoTag
	}
	w := binary.LittleEndian.Uint64(b[at:])
	if w&(compactMask<<16|0xffff) != compactTag<<16|':'<<8|'"' || w>>56 <= ' ' {
		return NoTag
	}
	return shortTags[byte(w>>32)]
}

// CompactTagLen is how far behind the quote what the tag stands for begins.
const CompactTagLen = len(`":{"S":`)

// ContentEnd is the position behind what a tag stands for, from at.
func ContentEnd(b []byte, tag Tag, at int) int {
	switch tag {
	case TagS, TagN, TagB:
		return StringEnd(b, at+1) + 1
	case TagBOOL, TagNULL:
		if b[at] == 'f' {
			return at + 5
		}
		return at + 4
	case TagM:
		i := Inside(b, at)
		for b[i] == '"' {
			_, _, _, tag, i = MemberAt(b, i)
			if tag != NoTag {
				i = Closed(b, ContentEnd(b, tag, i))
			}
			i = Next(b, i)
		}
		return i + 1
	case TagL:
		i := Inside(b, at)
		for b[i] != ']' {
			i = Next(b, ValueEnd(b, i))
		}
		return i + 1
	default:
		i := Inside(b, at)
		for b[i] != ']' {
			i = Next(b, StringEnd(b, i+1)+1)
		}
		return i + 1
	}
}

// ValueEnd is the position behind the value at i, as {"S":"x"}.
func ValueEnd(b []byte, i int) int {
	tag, at := TagAt(b, i)
	if tag == NoTag {
		return at
	}
	return Closed(b, ContentEnd(b, tag, at))
}

// Closed is the position behind the brace that closes a value whose content ends at i.
func Closed(b []byte, i int) int {
	if b[i] != '}' {
		i = skipSpace(b, i)
	}
	return i + 1
}

// Inside is the position of the first member, or of the closing bracket, of what
// opens at i.
func Inside(b []byte, i int) int {
	if i++; b[i] <= ' ' {
		i = skipSpace(b, i)
	}
	return i
}

// Next is the position of the Next member, behind the comma, or of the closing
// bracket.
func Next(b []byte, i int) int {
	if b[i] <= ' ' {
		i = skipSpace(b, i)
	}
	if b[i] != ',' {
		return i
	}
	return Inside(b, i)
}

// MemberName reads the name whose quote is at i: its range, and where the value
// starts.
func MemberName(b []byte, i int) (from, to, value int) {
	from = i + 1
	to = StringEnd(b, from)
	if value = to + 2; b[to+1] != ':' || b[value] <= ' ' {
		value = skipSpace(b, skipSpace(b, to+1)+1)
	}
	return from, to, value
}

// MemberTag is the tag of a set's members.
func MemberTag(set Tag) Tag {
	switch set {
	case TagSS:
		return TagS
	case TagNS:
		return TagN
	default:
		return TagB
	}
}
