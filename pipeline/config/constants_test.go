package config_test

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
)

// A text that probably means something else gets one warning. So does a type that does not fit.
func TestProbablyMeant(t *testing.T) {
	const head = "version: 1\nname: hotel\nsource: {table: hotel}\nstate: {table: hotel-state}\nentities:\n" +
		"  Booking: {key: {PK: 'BOOKING#{BookingId}'}, attributes: {Status: S, Total: N, Nights: [{price: N}]}}\n"
	const view = "sinks: {rows: {view: {of: Booking, table: hotel-rows, key: {PK: 'X#{BookingId}', SK: ROW}, attributes: {a: '{Status}'}}}}\n"
	const told = "sinks: {told: {notify: {queue: told, events: [low]}}, "
	for _, c := range []struct{ from, to, want string }{
		{"{PK: 'X#{BookingId}', SK: ROW}", "{PK: EMAIL, SK: ROW}", "all items are one row"},
		{"SK: ROW", "SK: 'ROW#BookingId'", "write 'ROW#{BookingId}' for its value"},
		{"'{Status}'", "$Status", "write '{Status}' for its value"},
		{"'{Status}'", "<Status>", "write '{Status}' for its value"},
		{"PK: 'BOOKING#{BookingId}'", "PK: 'BOOKING#{{BookingId}}'", "it matches keys with the text '{BookingId}'; write {NAME}, in one pair of braces"},
		{"PK: 'BOOKING#{BookingId}'", "PK: 'BOOKING#<BookingId>'", "it matches keys with the text '<BookingId>'"},
		{"PK: 'BOOKING#{BookingId}'", "PK: 'BOOKING#*'", "it matches keys with the text '*'"},
		{"sinks: {", "detect: {low: {of: Booking, attribute: Status, below: 3}}\n" + told, "a threshold is of numbers, and Status is declared S"},
		{"sinks: {", "detect: {low: {of: Booking, attribute: Status, to: '[a, b]'}}\n" + told, "reads no list; write one value, or a detector with when: 'new.A in"},
		{"sinks: {", "sinks: {sums: {aggregate: {of: Booking, table: hotel-sums, group: {PK: SUM}, values: {s: {sum: Status}}, on_ttl_delete: keep}}, ",
			"a sum is of numbers, and Status is declared S"},
		{"'{Status}'", "'{Status|date:2026-01}'", "the digits 2026, which are no part of a time"},
	} {
		text := strings.Replace(head+view, c.from, c.to, 1)
		if strings.HasPrefix(c.to, "PK: 'BOOKING#") { // a changed key pattern no longer binds BookingId, which the view reads
			text = strings.ReplaceAll(text, "X#{BookingId}", "X#{@key}")
		}
		said := messages(t, text)
		if len(said) != 1 || !strings.Contains(said[0].String(), c.want) {
			t.Errorf("%s: %q, want %q", c.to, said, c.want)
		}
	}
	if said := messages(t, head+view); len(said) > 0 {
		t.Errorf("without a mistake: %q", said)
	}
}

// A rule may read an attribute whose name is also a text in the key of its entity. If the entity declares no
// attributes, that text is not taken for a forgotten placeholder. A rule about every item may read an attribute that an
// entity declares with another type.
func TestNamesThatAreNoMistake(t *testing.T) {
	for _, file := range []string{
		"attributes: {Total: N}\nentities: {User: {key: {PK: 'user#{UserId}', SK: user}}}\nsinks: {rows: {view: {of: User, table: rows, key: {PK: '{user}', SK: '{@key}'}}}}\n",
		"attributes: {Tags: L}\nentities: {Note: {key: {PK: 'NOTE#{Id}'}, attributes: {Tags: SS}}}\ndetect: {tagged: {added: Tags}}\nsinks: {told: {notify: {events: [tagged]}}}\n",
	} {
		if _, err := config.Parse("p.yaml", []byte("version: 1\nname: p\nsource: {table: shop}\nstate: {table: state}\n"+file), nil); err != nil {
			t.Errorf("it is refused: %v\n%s", err, file)
		}
	}
}
