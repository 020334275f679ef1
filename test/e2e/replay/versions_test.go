package replay

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// said is a record of one item with its images and its sequence number.
type said struct {
	op       string
	keys     oracleItem
	old, new oracleItem
	sequence string
	label    string // label of the stream; default: a label of 2026
}

func (s said) line() []byte {
	stream := map[string]any{"Keys": s.keys, "SequenceNumber": s.sequence, "StreamViewType": "NEW_AND_OLD_IMAGES"}
	if s.old != nil {
		stream["OldImage"] = s.old
	}
	if s.new != nil {
		stream["NewImage"] = s.new
	}
	label := s.label
	if label == "" {
		label = "2026-01-02T03:04:05.678"
	}
	b, err := json.Marshal(map[string]any{"eventName": s.op, "dynamodb": stream,
		"eventSourceARN": "arn:aws:dynamodb:eu-central-1:123456789012:table/t/stream/" + label})
	if err != nil {
		panic(err)
	}
	return b
}

// order returns an image of an order.
func order(keys oracleItem, status string) oracleItem {
	it := oracleItem{"Type": str("Order"), "Status": str(status)}
	for name, v := range keys {
		it[name] = v
	}
	return it
}

var oneKey = oracleItem{"PK": str("USER#1"), "SK": str("ORDER#1")}

// Fact 1: sequence numbers are 21 to 40 decimal digits, and compare as numbers. The change with the highest number
// stays, whatever the order of delivery.
func TestFact1_SequenceNumbersCompareAsNumbers(t *testing.T) {
	t.Parallel()
	rng := random(t)
	nines := strings.Repeat("9", 21)
	rising := []string{
		"000000000000000000000000000000000000009", "10", "000000000000000000011", nines,
		"1" + strings.Repeat("0", 21), "9223372036854775808" + "000", strings.Repeat("9", 39), "1" + strings.Repeat("0", 39), strings.Repeat("9", 40),
	}
	old := oracleItem(nil)
	var lines [][]byte
	for i, sequence := range rising {
		is := order(oneKey, fmt.Sprintf("s%d", i%4))
		op := "MODIFY"
		if old == nil {
			op = "INSERT"
		}
		lines = append(lines, said{op: op, keys: oneKey, old: old, new: is, sequence: sequence}.line())
		old = is
	}
	cs := understood(t, lines)
	for range 3 {
		out := t.TempDir()
		replayed(t, 0, everything, out, saved(t, "s.jsonl", joined(late(rng, lines))))
		check(t, everything, out, cs)
	}
}

// late returns the lines in their order, and then once more in random order.
func late(rng *rand.Rand, lines [][]byte) [][]byte {
	again := slices.Clone(lines)
	rng.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
	return slices.Concat(lines, again)
}

// A stream that was enabled again has a later label. Its changes win over all changes of the earlier stream, whatever
// their sequence numbers. Changes of the earlier stream may still arrive.
func TestLaterStreamWins(t *testing.T) {
	t.Parallel()
	rng := random(t)
	first, second := newWorld(rng, plainKeys(6)), newWorld(rng, plainKeys(6))
	first.seq.SetString(strings.Repeat("7", 39), 10)
	second.arn = strings.Replace(second.arn, "2026-01-02", "2026-01-03", 1)
	early := first.changes(80)
	second.items = first.items
	lateLines := second.changes(80)
	cs := understood(t, slices.Concat(early, lateLines))
	for name, order := range map[string][][]byte{
		"in order":             slices.Concat(early, lateLines),
		"a lagging worker":     slices.Concat(early, lateLines, early),
		"a lagging suffix":     slices.Concat(early, lateLines, early[60:]),
		"the later one begins": slices.Concat(lateLines, early, lateLines),
	} {
		out := t.TempDir()
		replayed(t, 0, everything, out, saved(t, "s.jsonl", joined(order)))
		check(t, everything, out, cs)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// An item that is deleted and written again within a batch exists. An item that is deleted last is gone.
func TestDeletedAndWrittenAgain(t *testing.T) {
	t.Parallel()
	var lines [][]byte
	for i, keys := range plainKeys(9) {
		was := order(keys, "paid")
		steps := []said{{op: "INSERT", new: was}, {op: "REMOVE", old: was}, {op: "INSERT", new: order(keys, "open")}, {op: "REMOVE", old: order(keys, "open")}, {op: "INSERT", new: was}}
		for j, s := range steps[:1+i%len(steps)] {
			s.keys, s.sequence = keys, fmt.Sprint(100+j)
			lines = append(lines, s.line())
		}
	}
	out := t.TempDir()
	for range 2 {
		replayed(t, 0, everything, out, saved(t, "s.jsonl", joined(lines)))
		check(t, everything, out, understood(t, lines))
	}
}
