package ddbjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/tablewake/tablewake/pipeline/internal/simd"
)

// The functions of this file walk checked JSON without checking it again. b is an item, or the content of a value. AWS
// writes compact JSON, so these functions search for white space only if the expected byte is missing.

// skipSpace returns the position of the first byte from i on that is not white space.
func skipSpace(b []byte, i int) int {
	for b[i] <= ' ' {
		i++
	}
	return i
}

// StringEnd returns the position of the closing quote of the string whose text starts at i. Most texts are short, so
// StringEnd first reads eight bytes at a time, which is faster than a call of bytes.IndexByte.
func StringEnd(b []byte, i int) int {
	for wordsEnd := i + 48; i < wordsEnd && uint(i)+8 <= uint(len(b)); {
		stop := simd.StopMask(binary.LittleEndian.Uint64(b[i:]))
		if stop == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(stop) >> 3
		switch b[i] {
		case '"':
			return i
		case '\\':
			i++ // the escaped byte is not a quote of the string
		}
		i++
	}
	// The text is long, or near the end of b. A quote after an odd number of backslashes is escaped.
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

// TagAt reads the tag of the value at i, such as {"S":"x"}. content is the start of the value's content: a quote, a
// bracket or a literal. For {}, the empty map, the tag is NoTag, and content is the position after {}.
func TagAt(b []byte, i int) (tag Tag, content int) {
	if i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		tag = shortTags[byte(w>>16)]
		if w&compactMask == compactTag && tag != NoTag {
			content = i + shortTagLen
			if b[content] <= ' ' {
				content = skipSpace(b, content)
			}
			return tag, content
		}
	}
	i = skipSpace(b, i+1)
	if b[i] == '}' {
		return NoTag, i + 1
	}
	end := StringEnd(b, i+1)
	tag = TagOf(TextOf(b[i+1 : end]))
	colon := skipSpace(b, end+1)
	return tag, skipSpace(b, colon+1)
}

// MemberAt reads a member whose name has its opening quote at i. from and to are the range of the name, and value is
// the start of the value. tag and content are the results of [TagAt] for the value.
func MemberAt(b []byte, i int) (from, to, value int, tag Tag, content int) {
	from = i + 1
	to = StringEnd(b, from)
	tag = compactTagAt(b, to)
	if tag != NoTag {
		return from, to, to + 2, tag, to + compactTagLen
	}
	from, to, value = MemberName(b, i)
	tag, content = TagAt(b, value)
	return from, to, value, tag, content
}

// compactTagAt returns the tag of a member. quote is the position of the quote that closes the member's name. From this
// quote on, the JSON must be compact, such as ":{"S":, and no white space may follow. Otherwise compactTagAt returns
// NoTag.
func compactTagAt(b []byte, quote int) Tag {
	if quote+8 > len(b) {
		return NoTag
	}
	w := binary.LittleEndian.Uint64(b[quote:])
	if w&(compactMask<<16|0xffff) != compactTag<<16|':'<<8|'"' || w>>56 <= ' ' {
		return NoTag
	}
	return shortTags[byte(w>>32)]
}

// compactTagLen is the distance from the quote after the name to the content, in the JSON that [compactTagAt] accepts.
const compactTagLen = len(`":{"S":`)

// ContentEnd returns the position after the content at i. tag is the tag of the content's value.
func ContentEnd(b []byte, tag Tag, i int) int {
	switch tag {
	case TagS, TagN, TagB:
		return StringEnd(b, i+1) + 1
	case TagBOOL, TagNULL:
		if b[i] == 'f' {
			return i + 5
		}
		return i + 4
	case TagM:
		i := FirstInside(b, i)
		for b[i] == '"' {
			_, _, _, tag, i = MemberAt(b, i)
			if tag != NoTag {
				i = AfterBrace(b, ContentEnd(b, tag, i))
			}
			i = Next(b, i)
		}
		return i + 1
	case TagL:
		i := FirstInside(b, i)
		for b[i] != ']' {
			i = Next(b, ValueEnd(b, i))
		}
		return i + 1
	default:
		i := FirstInside(b, i)
		for b[i] != ']' {
			i = Next(b, StringEnd(b, i+1)+1)
		}
		return i + 1
	}
}

// ValueEnd returns the position after the value at i, such as {"S":"x"}.
func ValueEnd(b []byte, i int) int {
	tag, at := TagAt(b, i)
	if tag == NoTag {
		return at
	}
	return AfterBrace(b, ContentEnd(b, tag, at))
}

// AfterBrace returns the position after the brace that closes a value. The content of the value ends at i.
func AfterBrace(b []byte, i int) int {
	if b[i] != '}' {
		i = skipSpace(b, i)
	}
	return i + 1
}

// FirstInside returns the position of the first member or element after the bracket at i. If the container is empty, it
// returns the position of the closing bracket.
func FirstInside(b []byte, i int) int {
	i++
	if b[i] <= ' ' {
		i = skipSpace(b, i)
	}
	return i
}

// Next returns the position of the member or element after the one that ends at i. After the last one, it returns the
// position of the closing bracket.
func Next(b []byte, i int) int {
	if b[i] <= ' ' {
		i = skipSpace(b, i)
	}
	if b[i] != ',' {
		return i
	}
	return FirstInside(b, i)
}

// MemberName reads a name that has its opening quote at i. It returns the range of the name and the start of the value.
func MemberName(b []byte, i int) (from, to, value int) {
	from = i + 1
	to = StringEnd(b, from)
	value = to + 2
	isCompact := b[to+1] == ':' && b[value] > ' '
	if !isCompact {
		colon := skipSpace(b, to+1)
		value = skipSpace(b, colon+1)
	}
	return from, to, value
}

// MemberTag returns the tag of the members of a set.
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
