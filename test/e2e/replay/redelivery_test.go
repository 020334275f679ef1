package replay

import (
	"bytes"
	"testing"
)

func TestShop(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	lines := shopStream(t)
	cs := understood(t, lines)
	l, _ := replayed(t, 0, shop, out, "--notify", fixture+"stream.jsonl")
	check(t, shop, out, cs)
	if got, want := l.Ledger.Events["order_completed"], orders(cs); got != want || want == 0 {
		t.Errorf("%d orders were completed, want %d", got, want)
	}
}

func TestEverything(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	lines := newWorld(random(t), plainKeys(30)).changes(600)
	replayed(t, 0, everything, out, saved(t, "s.jsonl", joined(lines)))
	check(t, everything, out, understood(t, lines))
}

// joined are lines as a file.
func joined(lines [][]byte) []byte {
	return append(bytes.Join(lines, []byte("\n")), '\n')
}
