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
// stands for begins: at a quote, a bracket or a literal. The tag is noTag for {},
// the empty map, and the position is behind it.
func tagAt(b []byte, i int) (tag typeTag, at int) {
	if i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		if w&compactMask == compactTag {
			if tag = shortTags[byte(w>>16)]; tag != noTag {
				if at = i + 5; b[at] <= ' ' {
					at = skipSpace(b, at)
				}
				return tag, at
			}
		}
	}
	if i = skipSpace(b, i+1); b[i] == '}' {
		return noTag, i + 1
	}
	end := stringEnd(b, i+1)
	tag = tagOf(textOf(b[i+1 : end]))
	return tag, skipSpace(b, skipSpace(b, end+1)+1)
}

// memberAt reads the name whose quote is at i, and the tag of its value: the range of the name,
// where the value starts, its tag and where what it stands for begins, as tagAt says them.
func memberAt(b []byte, i int) (from, to, value int, tag typeTag, at int) {
	from = i + 1
	to = stringEnd(b, from)
	if tag = compactTagAt(b, to); tag != noTag {
		return from, to, to + 2, tag, to + compactTagLen
	}
	from, to, value = memberName(b, i)
	tag, at = tagAt(b, value)
	return from, to, value, tag, at
}

// compactTagAt is the tag of the value whose name ends with the quote at, where ":{"S": stands
// there, as it does in compact JSON; else noTag.
func compactTagAt(b []byte, at int) typeTag {
	if at+8 > len(b) {
		return noTag
	}
	w := binary.LittleEndian.Uint64(b[at:])
	if w&(compactMask<<16|0xffff) != compactTag<<16|':'<<8|'"' || w>>56 <= ' ' {
		return noTag
	}
	return shortTags[byte(w>>32)]
}

// compactTagLen is how far behind the quote what the tag stands for begins.
const compactTagLen = len(`":{"S":`)

// contentEnd is the position behind what a tag stands for, from at.
func contentEnd(b []byte, tag typeTag, at int) int {
	switch tag {
	case tagS, tagN, tagB:
		return stringEnd(b, at+1) + 1
	case tagBOOL, tagNULL:
		if b[at] == 'f' {
			return at + 5
		}
		return at + 4
	case tagM:
		i := inside(b, at)
		for b[i] == '"' {
			_, _, _, tag, i = memberAt(b, i)
			if tag != noTag {
				i = closed(b, contentEnd(b, tag, i))
			}
			i = next(b, i)
		}
		return i + 1
	case tagL:
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
	tag, at := tagAt(b, i)
	if tag == noTag {
		return at
	}
	return closed(b, contentEnd(b, tag, at))
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

// memberTag is the tag of a set's members.
func memberTag(set typeTag) typeTag {
	switch set {
	case tagSS:
		return tagS
	case tagNS:
		return tagN
	default:
		return tagB
	}
}
