package config_test

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

// A sample shows which names no item has, even if the file declares no attributes.
func TestCheckSample(t *testing.T) {
	var items []item.Image
	for _, text := range []string{
		`{"PK":{"S":"HOTEL#1"},"SK":{"S":"META"},"Name":{"S":"Sea"},"expiresAt":{"N":"1"}}`,
		`{"PK":{"S":"HOTEL#1"},"SK":{"S":"BOOKING#1"},"Price":{"N":"1"},"Nights":{"L":[{"M":{"date":{"S":"x"}}}]},"Note":{"NULL":true}}`,
		`{"PK":{"S":"HOTEL#1"},"SK":{"S":"BOOKING#2"},"Price":{"N":"1"},"Nights":{"L":[]},"Note":{"M":{"by":{"S":"x"}}},"Mixed":{"S":"x"}}`,
		`{"PK":{"S":"HOTEL#1"},"SK":{"S":"BOOKING#3"},"Mixed":{"N":"1"}}`,
	} {
		m, err := item.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, m)
	}
	cfg := parse(t, `version: 1
name: hotel
source: {table: hotel, ttl_attribute: expiresat}
entities:
  Hotel: {key: {PK: 'HOTEL#{HotelId}', SK: META}}
  Booking: {key: {PK: 'HOTEL#{HotelId}', SK: 'BOOKING#{BookingId}'}}
  Guest: {key: {PK: 'GUEST#{GuestId}'}}
state: {table: state}
filters: [{drop: {any: [{key_prefix: {PK: 'hotel#'}}, {key_prefix: {PK: 'GUEST#'}}, {key_prefix: {SK: 'BOOK'}}]}}]
sinks:
  bookings:
    view: {of: Booking, table: v, key: {PK: 'PRICE#{Prize}', SK: '{@key}'}, attributes: {price: Price, by: '{Note.buy}', mixed: '{Mixed.any}', name: '{Name}'}}
  nights:
    view: {of: Booking, table: w, for_each: Nights, key: {PK: '{each.dat}', SK: '{@key}#{@each}'}}
  guests: {view: {of: Guest, table: x, key: {PK: '{@key}'}, attributes: {name: '{Anything}'}}}
  all: {view: {table: y, key: {PK: '{@key}'}, attributes: {name: '{Name}', nome: '{Nome}'}}}
`)
	if len(cfg.Warnings) > 0 {
		t.Fatal(cfg.Warnings)
	}
	want := []string{
		"source.ttl_attribute: no item of the sample has 'expiresat'; did you mean expiresAt?",
		"entities.Guest: no item of the sample is of Guest; correct its pattern, or give a sample that has one",
		"filters[0].drop.any[0].key_prefix.PK: no PK of the sample begins with 'hotel#'; keys of entities begin with 'HOTEL#' and 'GUEST#'",
		"filters[0].drop.any[1].key_prefix.PK: no PK of the sample begins with 'GUEST#'; correct it, or give a sample that has one",
		"sinks.bookings.view.key.PK: no Booking of the sample has 'Prize'; did you mean Price?",
		"sinks.bookings.view.attributes.price: it is the text Price, and not the value that an item has there; write '{Price}' for its value",
		"sinks.bookings.view.attributes.by: no Booking of the sample has 'buy' in Note; did you mean by?",
		"sinks.bookings.view.attributes.name: no Booking of the sample has 'Name'; correct the name, unless it is that of a rare attribute",
		"sinks.nights.view.key.PK: no Booking of the sample has 'dat' in Nights; did you mean date?",
		"sinks.all.view.attributes.nome: no item of the sample has 'Nome'; did you mean Name?",
	}
	var got []string
	for _, p := range cfg.CheckSample(items) {
		got = append(got, strings.SplitN(p.String(), ": ", 2)[1])
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := parse(t, read(t, "testdata/mistakes/hotel.yaml")).CheckSample(nil); len(got) != 3 {
		t.Errorf("an empty sample has no item of three entities: %v", got)
	}
}
