package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"unicode/utf16"
)

// emit writes JSON in any of its valid forms: members in any order, white space, and escapes where none are needed. The
// result has one line.
func emit(rng *rand.Rand, v any) []byte { return appendJSON(nil, rng, v) }

func appendJSON(dst []byte, rng *rand.Rand, v any) []byte {
	switch v := v.(type) {
	case oracleItem:
		return appendJSON(dst, rng, map[string]any(v))
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		dst = append(dst, '{')
		for i, name := range names {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendQuoted(appendSpace(dst, rng), rng, name)
			dst = append(appendSpace(dst, rng), ':')
			dst = appendSpace(appendJSON(appendSpace(dst, rng), rng, v[name]), rng)
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendSpace(appendJSON(appendSpace(dst, rng), rng, e), rng)
		}
		return append(dst, ']')
	case string:
		return appendQuoted(dst, rng, v)
	case json.Number:
		return append(dst, v...)
	case bool:
		return strconv.AppendBool(dst, v)
	case nil:
		return append(dst, "null"...)
	}
	panic(fmt.Sprintf("no JSON: %T", v))
}

func appendSpace(dst []byte, rng *rand.Rand) []byte {
	if rng.IntN(20) == 0 {
		dst = append(dst, pick(rng, " ", "\t", "  ")...)
	}
	return dst
}

// appendQuoted escapes the characters that need an escape, and sometimes other characters.
func appendQuoted(dst []byte, rng *rand.Rand, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '/' && rng.IntN(2) == 0:
			dst = append(dst, '\\', '/')
		case r == '\n' && rng.IntN(2) == 0:
			dst = append(dst, '\\', 'n')
		case r < ' ' || rng.IntN(40) == 0:
			dst = appendEscape(dst, r)
		default:
			dst = append(dst, string(r)...)
		}
	}
	return append(dst, '"')
}

func appendEscape(dst []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != '\ufffd' {
		return fmt.Appendf(dst, `\u%04x\u%04X`, high, low)
	}
	return fmt.Appendf(dst, `\u%04x`, r)
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }
