package replay

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// random returns a source of random numbers. If the test fails, its log has the seed.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the seed was %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// world is a table with random writes. Its streams are valid, and unusual in every way that a valid stream may be.
type world struct {
	rng   *rand.Rand
	keys  []oracleItem
	items map[int]oracleItem
	seq   *big.Int
	arn   string
	now   int64
}

func newWorld(rng *rand.Rand, keys []oracleItem) *world {
	seq, _ := new(big.Int).SetString("100000000000000000000", 10)
	return &world{rng: rng, keys: keys, items: make(map[int]oracleItem), seq: seq, now: 1764000000,
		arn: "arn:aws:dynamodb:eu-central-1:123456789012:table/t/stream/2026-01-02T03:04:05.678"}
}

// changes returns n lines of the world's stream.
func (w *world) changes(n int) [][]byte {
	var lines [][]byte
	for range n {
		lines = append(lines, emit(w.rng, w.change()))
	}
	return lines
}

// change changes a random item and returns the record.
func (w *world) change() map[string]any {
	i := w.rng.IntN(len(w.keys))
	keys, old := w.keys[i], w.items[i]
	stream := map[string]any{
		"Keys": keys, "SequenceNumber": w.next(), "SizeBytes": number(w.rng.IntN(1000)),
		"ApproximateCreationDateTime": number(int(w.now)), "StreamViewType": "NEW_AND_OLD_IMAGES",
	}
	record := map[string]any{
		"eventID": fmt.Sprintf("%032x", w.rng.Uint64()), "eventVersion": "1.1", "eventSource": "aws:dynamodb",
		"awsRegion": "eu-central-1", "eventSourceARN": w.arn, "dynamodb": stream,
	}
	switch roll := w.rng.IntN(100); {
	case old == nil:
		record["eventName"] = "INSERT"
		w.items[i] = w.item(keys, nil)
	case roll < 15:
		record["eventName"] = "REMOVE"
		if roll < 5 {
			record["userIdentity"] = map[string]any{"type": "Service", "principalId": "dynamodb.amazonaws.com"}
		}
		delete(w.items, i)
	case roll < 20:
		record["eventName"] = "UNKNOWN_TO_SDK_VERSION"
		delete(w.items, i)
	case roll < 25:
		record["eventName"] = "MODIFY" // both images are the same
	default:
		record["eventName"] = "MODIFY"
		w.items[i] = w.item(keys, old)
	}
	if old != nil {
		stream["OldImage"] = old
	}
	if is, there := w.items[i]; there {
		stream["NewImage"] = is
	}
	if w.rng.IntN(20) == 0 {
		record["laterField"] = []any{map[string]any{"Keys": nil, "eventName": true}, "]}\"", number(12)}
	}
	return record
}

// next returns a sequence number above all earlier ones. Sometimes it has one more digit.
func (w *world) next() string {
	step := big.NewInt(w.rng.Int64N(1_000_000) + 1)
	if w.rng.IntN(30) == 0 && len(w.seq.String()) < 39 {
		step.Mul(w.seq, big.NewInt(9))
	}
	w.seq.Add(w.seq, step)
	w.now += w.rng.Int64N(3)
	return w.seq.String()
}

// item returns a new image with some attributes of the old image and some new attributes.
func (w *world) item(keys, old oracleItem) oracleItem {
	is := maps.Clone(keys)
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		switch v, there := old[name]; {
		case there && w.rng.IntN(3) > 0:
			is[name] = v
		case w.rng.IntN(4) > 0:
			is[name] = attributes[name](w)
		}
	}
	return is
}

// attributes has functions for all attributes that an item may have beside its key.
var attributes = map[string]func(*world) any{
	"Type":      func(w *world) any { return pick(w.rng, str("Order"), str("Product"), str("Order"), tagged("N", "1")) },
	"Status":    (*world).status,
	"CreatedAt": func(w *world) any { return pick(w.rng, str("2026-03-02T08:49:41Z"), str("2026-03-02T23:30:00-03:00")) },
	"Total":     func(w *world) any { return tagged("N", w.digits()) },
	"Price":     func(w *world) any { return tagged("N", w.digits()) },
	"Name":      func(w *world) any { return str(w.words()) },
	"Tags":      func(w *world) any { return tagged("SS", set(w, w.words)) },
	"Numbers":   func(w *world) any { return tagged("NS", set(w, func() string { return decimal(w.digits()) })) },
	"Blobs":     func(w *world) any { return tagged("BS", set(w, w.blob)) },
	"Blob":      func(w *world) any { return tagged("B", w.blob()) },
	"Flag":      func(w *world) any { return tagged("BOOL", w.rng.IntN(2) == 0) },
	"Nothing":   func(w *world) any { return tagged("NULL", true) },
	"Empty": func(w *world) any {
		return pick(w.rng, str(""), tagged("B", ""), tagged("M", map[string]any{}), tagged("L", []any{}))
	},
	"first-name": func(w *world) any { return str(w.words()) },
	"Nested":     func(w *world) any { return w.value(3) },
	"Mail": func(w *world) any {
		return pick(w.rng, str("A@x"), str("a@X"), str("a@x"), str("b@x"), str("Ä@x"), str(""), tagged("N", "7.0"), tagged("NULL", true))
	},
	"Lines": (*world).lines,
}

// lines returns the lines of an order. They have few different products.
func (w *world) lines() any {
	l := []any{}
	for range w.rng.IntN(5) {
		line := map[string]any{"sku": pick(w.rng, str("lamp"), str("lamp"), str("desk"), str(""), tagged("NULL", true))}
		if w.rng.IntN(5) > 0 {
			line["qty"] = tagged("N", pick(w.rng, "1", "2", "2.0", "-1e-3", w.digits()))
		}
		l = append(l, tagged("M", line))
	}
	return tagged("L", l)
}

// status returns a value for a typed row key: a text, a number, bytes, or nothing.
func (w *world) status() any {
	return pick(w.rng, str("paid"), str("completed"), str("1"), str("a#b/c,d%20 é"), str(""),
		tagged("N", "1"), tagged("N", "1.0"), tagged("N", "10e-1"), tagged("N", "2"), tagged("B", "MQ=="), tagged("NULL", true))
}

func (w *world) value(depth int) any {
	if depth > 0 && w.rng.IntN(3) > 0 {
		if w.rng.IntN(2) == 0 {
			m := map[string]any{}
			for range w.rng.IntN(4) {
				m[pick(w.rng, "a", "b.c", "Ä", "x y", "d[0]", `q"`)+string(rune('a'+w.rng.IntN(3)))] = w.value(depth - 1)
			}
			return tagged("M", m)
		}
		l := []any{}
		for range w.rng.IntN(4) {
			l = append(l, w.value(depth-1))
		}
		return tagged("L", l)
	}
	return pick(w.rng, str(w.words()), tagged("N", w.digits()), tagged("B", w.blob()), tagged("BOOL", true), tagged("NULL", true))
}

// digits returns a number of DynamoDB's whole range, in any spelling.
func (w *world) digits() string {
	switch w.rng.IntN(8) {
	case 0:
		return pick(w.rng, "0", "-0", "0.0", "1e125", "-1E-130", "9.9999999999999999999999999999999999999E125", "+7", "00012", "1e0")
	case 1, 2:
		return fmt.Sprintf("%d.%02d", w.rng.IntN(2000), w.rng.IntN(100))
	case 3:
		return fmt.Sprintf("%d", int64(w.rng.Uint64()))
	case 4:
		return fmt.Sprintf("%d.%de%d", w.rng.IntN(10), w.rng.Uint64(), w.rng.IntN(60)-30)
	}
	var b strings.Builder
	b.WriteString(pick(w.rng, "", "-"))
	b.WriteByte(byte('1' + w.rng.IntN(9)))
	n := w.rng.IntN(37)
	for i := range n {
		if i == n/2 && w.rng.IntN(2) == 0 {
			b.WriteByte('.')
		}
		b.WriteByte(byte('0' + w.rng.IntN(10)))
	}
	return strings.TrimSuffix(b.String(), ".")
}

func (w *world) words() string {
	all := []string{"lamp", "große", "夜", "🛒", "\"", "\\", "/", "<b>&", "\u2028", "\t", "\n", "\x00", "\x7f", "é", "é", "]}", "a,b"}
	var b strings.Builder
	for range w.rng.IntN(5) + 1 {
		b.WriteString(pick(w.rng, all...))
		b.WriteByte(byte('a' + w.rng.IntN(26)))
	}
	return b.String()
}

func (w *world) blob() string {
	b := make([]byte, w.rng.IntN(5)+1)
	for i := range b {
		b[i] = byte(w.rng.IntN(256))
	}
	return base64.StdEncoding.EncodeToString(b)
}

func set(w *world, one func() string) []any {
	have := make(map[string]bool)
	var out []any
	for range w.rng.IntN(4) + 1 {
		if s := one(); !have[s] {
			have[s] = true
			out = append(out, s)
		}
	}
	return out
}

func tagged(tag string, v any) any { return map[string]any{tag: v} }

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }
