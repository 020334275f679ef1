package replay

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// hostile has texts that could be mistaken for something else in a row key, a document id, an object name or a path.
var hostile = []string{
	"x", "x/y", "x/y/z", "x/", "/x", "//", ".", "..", "../x", "./x", "x.", "~tmp", "~", "%", "%2F", "%23", "%25", "#", "#x", "x#y",
	",", "x,y", "!", "t!x", "+1", "=MQ", " ", "  x ", "\t", "\n", "\x00", "\x7f", "\\", "\"", "'", "*", "?", "<>|:", "CON", "-", "_", "_none", "{x}", "{{",
	"é", "é", "夜", "🛒", "\u200b", "\ufeff", "\ufffd", "\u2028", "É", "X", "sha256:x", "STATUS#paid", strings.Repeat("long ", 30), strings.Repeat("夜", 60),
}

// hostileKeys returns keys with texts that are easily confused.
func hostileKeys() []oracleItem {
	var keys []oracleItem
	for i, text := range hostile {
		keys = append(keys,
			oracleItem{"PK": str(text), "SK": str("x")},
			oracleItem{"PK": str("x"), "SK": str(text + "/")},
			oracleItem{"PK": str(text), "SK": str(hostile[(i+1)%len(hostile)])})
	}
	slices.SortFunc(keys, func(a, b oracleItem) int { return strings.Compare(canonical(a), canonical(b)) })
	return slices.CompactFunc(keys, func(a, b oracleItem) bool { return canonical(a) == canonical(b) })
}

// No two items are confused, whatever their keys contain.
func TestHostileKeys(t *testing.T) {
	t.Parallel()
	rng := random(t)
	lines := newWorld(rng, hostileKeys()).changes(800)
	out := t.TempDir()
	replayed(t, 0, everything, out, saved(t, "s.jsonl", joined(late(rng, lines))))
	check(t, everything, out, understood(t, lines))
}

// Fact 12: keys may be binary. They may also be numbers, and all spellings of a number are the same key.
func TestFact12_KeysOfEveryType(t *testing.T) {
	t.Parallel()
	rng := random(t)
	var keys []oracleItem
	for i := range 256 {
		keys = append(keys, oracleItem{"PK": tagged("B", base64.StdEncoding.EncodeToString([]byte{byte(i), 0xfb, 0xff}[:1+i%3]))})
	}
	keys = append(keys, oracleItem{"PK": str("1")}, oracleItem{"PK": tagged("B", "MQ==")}, oracleItem{"PK": str("+1")}, oracleItem{"PK": str("=MQ")})
	spellings := []string{"1", "1.0", "1e0", "10E-1", "0.1e1", "+1", "001", "100e-2"}
	w := newWorld(rng, keys)
	lines := w.changes(400)
	numeric := newWorld(rng, []oracleItem{{"PK": tagged("N", "1")}, {"PK": tagged("N", "-1")}, {"PK": tagged("N", "1e125")}, {"PK": tagged("N", "99999999999999999999999999999999999999")},
		{"PK": tagged("N", "1e-130")}, {"PK": tagged("N", "0")}, {"PK": tagged("N", "0.10")}})
	for range 200 {
		numeric.keys[0] = oracleItem{"PK": tagged("N", pick(rng, spellings...))}
		numeric.keys[1] = oracleItem{"PK": tagged("N", "-"+pick(rng, spellings[0:5]...))}
		lines = append(lines, emit(rng, numeric.change()))
	}
	out := t.TempDir()
	replayed(t, 0, everything, out, saved(t, "s.jsonl", joined(late(rng, lines))))
	check(t, everything, out, understood(t, lines))
}

// Fact 22: a document id has at most 512 bytes. Items with longer keys still have documents and objects of their own.
func TestFact22_LongKeys(t *testing.T) {
	t.Parallel()
	rng := random(t)
	var keys []oracleItem
	for _, n := range []int{505, 506, 507, 508, 509, 510, 511, 512, 513, 600, 900} {
		for _, end := range []string{"a", "b"} {
			keys = append(keys, oracleItem{"PK": str(strings.Repeat("k", n) + end), "SK": str("s")})
		}
	}
	for _, end := range []string{"a", "b", "/a"} {
		keys = append(keys, oracleItem{"PK": str(strings.Repeat("夜", 80) + end), "SK": str(strings.Repeat("/", 90))})
	}
	lines := newWorld(rng, keys).changes(200)
	out := t.TempDir()
	replayed(t, 0, everything, out, saved(t, "s.jsonl", joined(late(rng, lines))))
	check(t, everything, out, understood(t, lines))
}

// Escapes in JSON are not a part of a key. All of these changes belong to one item.
func TestEscapedKeys(t *testing.T) {
	t.Parallel()
	arn := newWorld(nil, nil).arn
	var lines [][]byte
	for i, spelled := range []string{`A/🛒é"`, `\u0041/🛒é\"`, `A\/\ud83d\uded2\u00e9\u0022`, `\u0041\u002F\uD83D\uDED2é\"`, `A/🛒\u00E9\u0022`} {
		spelled = strings.Replace(spelled, `é"`, `é\"`, 1)
		spelled = strings.ReplaceAll(spelled, `\\"`, `\"`)
		image := fmt.Sprintf(`{"PK":{"S":"%s"},"Type":{"S":"\u004frder"},"St\u0061tus":{"S":"s%d"}}`, spelled, i)
		line := fmt.Sprintf(`{"eventSourceARN":"%s","eventName":"MODIFY","dynamodb":{"SequenceNumber":"%d","Keys":{"P\u004b":{"S":"%s"}},"NewImage":%s,"OldImage":%s,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`,
			arn, 100+i, spelled, image, strings.Replace(image, fmt.Sprintf(`"s%d"`, i), fmt.Sprintf(`"s%d"`, i-1), 1))
		lines = append(lines, []byte(line))
	}
	out := t.TempDir()
	replayed(t, 0, everything, out, saved(t, "s.jsonl", joined(lines)))
	check(t, everything, out, understood(t, lines))
	if s := look(t, everything, out); len(s[documents]) != 1 || len(s[history]) != len(lines) {
		t.Errorf("%d documents, want one, of %d changes", len(s[documents]), len(lines))
	}
}
