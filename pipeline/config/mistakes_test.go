package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
)

// TestMistakes makes one mistake at a time in a valid file. Each gives exactly one message, which says what to do.
func TestMistakes(t *testing.T) {
	sound := read(t, "testdata/mistakes/hotel.yaml")
	if got := messages(t, sound); len(got) > 0 {
		t.Fatalf("the sound file has problems:\n%v", got.Error())
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			if !strings.Contains(sound, m.right) {
				t.Fatalf("the file has no %s", m.right)
			}
			got := messages(t, strings.Replace(sound, m.right, m.wrong, 1))
			if len(got) != 1 {
				t.Fatalf("%d messages, want 1:\n%v", len(got), got.Error())
			}
			if text := got[0].String(); !strings.Contains(text, m.want) {
				t.Errorf("the message is\n%s\nwant in it\n%s", text, m.want)
			}
		})
	}
}

// messages returns everything that validate prints about a file.
func messages(t *testing.T, text string) config.Problems {
	t.Helper()
	cfg, err := config.Parse("hotel.yaml", []byte(text), getenv)
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return problems
	}
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(cfg.LocalOnly, cfg.Warnings)
}

// mistakes lists common mistakes.
var mistakes = []struct{ name, right, wrong, want string }{
	{"no guards", `state: {table: hotel-state}`, `state: {table: hotel-state, guard_retention: 0s}`, `state.guard_retention: a stream keeps records for 24 h`},
	{"bad date layout", `date:2006-01-02}#{BookingId}`, `date:YYYY-MM-DD}#{BookingId}`, `a Go layout shows the time`},
	{"typo attribute in template", `{amount: '{Price}'`, `{amount: '{Prise}'`, `did you mean Price?`},
	{"typo bound name in template", `'HOTEL#{HotelId}', SK: '{Arrival`, `'HOTEL#{HotlId}', SK: '{Arrival`, `did you mean HotelId?`},
	{"constant bound", `hotel: '{HotelId}'`, `hotel: HotelId`, `write '{HotelId}' for its value`},
	{"mustache", `hotel: '{HotelId}'`, `hotel: '{{HotelId}}'`, `write '{HotelId}' for its value`},
	{"mustache in a text", `'HOTEL#{HotelId}', SK: '{Arr`, `'HOTEL#{{HotelId}}', SK: '{Arr`, `write 'HOTEL#{HotelId}' for its value`},
	{"no placeholder in a key", `'BOOKING#{BookingId}'`, `'BOOKING#BookingId'`, `entities.Booking.key.SK: it has no placeholder, and rules read BookingId; write 'BOOKING#{BookingId}'`},
	{"mustache in a key", `'BOOKING#{BookingId}'`, `'BOOKING#{{BookingId}}'`, `entities.Booking.key.SK: two braces are a brace of the text, and rules read BookingId; write 'BOOKING#{BookingId}'`},
	{"angle brackets in a key", `'BOOKING#{BookingId}'`, `'BOOKING#<BookingId>'`, `write 'BOOKING#{BookingId}'`},
	{"@key without braces", `SK: '{@key}'}}`, `SK: '@key'}}`, `write '{@key}' for its value`},
	{"number against a text", `to: cancelled`, `to: 5`, `5 is a number, and Status is declared S: the two are never equal; quote it: '5'`},
	{"text against a number", `attribute: Status, to: cancelled`, `attribute: Price, to: "5"`, `'5' is a text, and Price is declared N: the two are never equal`},
	{"letters of another layout", `date:2006-01-02}#{`, `date:2006-MM}#{`, `has the letters MM, which are no part of a time`},
	{"a letter layout behind a Go one", `date:2006-01-02}#{`, `date:2006-01-DD}#{`, `has the letters DD, which are no part of a time`},
	{"date of a list", `{Arrival|date:2006-01-02}#{BookingId}'`, `{Nights|date:2006-01-02}#{BookingId}'`, `Nights is declared L, and no date`},
	{"renamed to an attribute", `rename: {City: town}`, `rename: {Name: City}`, `the document has the attribute City, too`},
	{"missing quote at the end of braces", `hotel: '{HotelId}'`, `hotel: '{HotelId}`, `the closing quote is missing: write '{HotelId}'`},
	{"a row of several items", `PK: 'HOTEL#{HotelId}', SK: '{Arrival|date:2006-01-02}#{BookingId}'`, `PK: 'DAYS#{HotelId}#{Arrival}', SK: '{Arrival|date:2006-01-02}'`, `several items can have this row: its key lacks what tells them apart; add {BookingId} (or {@key})`},
	{"missing quote at the end of a line", "when: 'item.Status == \"booked\"'}\n  nights:", "when: 'item.Status == \"booked\"}\n  nights:", `the closing quote is missing: write 'item.Status == "booked"'`},
	{"number for a path", `revenue: {sum: Price}`, `revenue: {sum: 5}`, `name an attribute, as in Total`},
	{"number for a word", `revenue: {sum: Price}`, `sum: 5`, `wants count, not a number (5); write count`},
	{"list without dashes", `include: [Name, City]`, `include: {Name: 1}`, `begin each element with -`},
	{"space in braces", `hotel: '{HotelId}'`, `hotel: '{ HotelId }'`, `write {HotelId}`},
	{"constant attribute", `{amount: '{Price}'`, `{amount: Price`, `write '{Price}' for its value`},
	{"constant in group key", `group: {PK: 'SALES#{HotelId}'`, `group: {PK: HotelId`, `write '{HotelId}' for its value`},
	{"detector const", `to: cancelled`, `to: '{Status}'`, `reads no template`},
	{"unquoted template", `hotel: '{HotelId}'`, `hotel: {HotelId}`, `quote it: '{HotelId}'`},
	{"cel type error", `item.Price > 0`, `item.Price > "0"`, `item.Price (N) and S; write the number without quotes`},
	{"cel typo", `item.Price > 0`, `item.Prce > 0`, `did you mean Price?`},
	{"cel no item", `item.Price > 0`, `Price > 0`, `an attribute is written item.Price`},
	{"cel assignment", `item.Status == "booked"`, `item.Status = "booked"`, `write ==`},
	{"cel single quotes bare", `item.Status == "booked"`, `item.Status == booked`, `an attribute is written item.booked`},
	{"cel not bool", `item.Price > 0`, `item.Price`, `item.Price (N) is not a BOOL; compare it`},
	{"cel string plus", `item.Price > 0`, `item.Status.startsWith(1)`, `startsWith cannot be applied to item.Status (S) and N`},
	{"cel size", `item.Price > 0`, `size(item.Price) > 0`, `size cannot be applied to item.Price (N)`},
	{"wrong entity", `of: Booking, table: hotel-views, key: {PK: 'HOTEL`, `of: Bookng, table: hotel-views, key: {PK: 'HOTEL`, `did you mean Booking?`},
	{"wrong type word", `Price: N`, `Price: Number`, `types are S, N`},
	{"unknown key under view", `table: hotel-views, key: {PK: 'HOTEL`, `tabel: hotel-views, key: {PK: 'HOTEL`, `did you mean table?`},
	{"event unknown", `events: [booked, cancelled]`, `events: [bookd, cancelled]`, `did you mean booked?`},
	{"pattern unclosed", `PK: 'GUEST#{GuestId}', SK: PROFILE`, `PK: 'GUEST#{GuestId', SK: PROFILE`, `close it with }`},
	{"overlap", `SK: 'BOOKING#{BookingId}'}`, `SK: '{BookingId}'}`, `an item can be of both Hotel and Booking`},
	{"unknown fn", `|date:`, `|dat:`, `did you mean date?`},
	{"missing state", "state: {table: hotel-state}\n", ``, `add state: {table: NAME}`},
	{"deeper", "  guests:\n    search:\n      of: Guest", "  guests:\n    search:\n    of: Guest", "it is indented deeper than line 34, and of has a value there"},
	{"no such column", "  guests:\n    search:", "  guests:\n   search:\n     of: Guest\n    search:", "no line above begins in this column: begin it in column 6, as line 34, or column 4, as line 33"},
	{"no such column at the top", "detect:\n  booked:", "detect:\n  seen: {appeared: Status}\n booked:", "begin it in column 3, as line 17, or column 1, as line 16"},
	{"list among keys", "  mail: {notify", "  - mail: {notify", "remove the -"},
	{"colon in a text", "index: guests", "index: guests: x", "quote a text that has a colon: 'guests: x'"},
	{"colon in braces", "key: 'h/{@entity}/{PK}.json'", "key: h/time: {PK}.json", "quote a text that has a colon: 'h/time: {PK}.json'"},
	{"colon in an expression", "when: 'item.Price > 0'}", "when: item.Price > 0 ? true : false}", "quote a text that has a colon: 'item.Price > 0 ? true : false'"},
	{"no colon", "name: hotel\n", "name hotel\n", "write a colon and a space after the key"},
	{"two kinds", "      index: guests", "      index: guests\n    view: {table: x, key: {PK: '{@key}'}}", "begin both in one column"},
	{"tab", `      index: guests`, "\tindex: guests", `YAML indents with spaces`},
	{"sensitive typo", `sensitive: [Email]`, `sensitive: [Emial]`, `did you mean Email?`},
	{"ttl typo", `ttl_attribute: expiresAt`, `ttl_attribute: expiresat`, `did you mean expiresAt?`},
	{"include typo", `include: [Name, City]`, `include: [Nam, City]`, `did you mean Name?`},
	{"rename typo", `rename: {City: town}`, `rename: {Cty: town}`, `did you mean City?`},
	{"for_each typo", `for_each: Nights`, `for_each: Nigths`, `did you mean Nights?`},
	{"each typo", `{each.date}`, `{each.dat}`, `did you mean date?`},
	{"value typo", `{sum: Price}`, `{sum: Prise}`, `did you mean Price?`},
	{"detector typo", `attribute: Status, to: cancelled`, `attribute: Statu, to: cancelled`, `did you mean Status?`},
	{"filter typo", `sinks:`, "filters:\n  - drop: {changed: [Updted]}\nsinks:", "say it in the `when` of each state sink"},
	{"filter under notify typo", `events: [booked, cancelled]`, `events: [booked, cancelled], filters: [{drop: {changed: [Updted]}}]`, `did you mean Updated?`},
	{"entity filter typo", `events: [booked, cancelled]`, `events: [booked, cancelled], filters: [{keep: {entity: {Tpe: [a]}}}]`, `'Tpe' is no attribute of Booking`},
	{"missing required", `on_ttl_delete: keep`, `shards: 2`, `on_ttl_delete`},
	{"wrong conn", `connection: os`, `connection: oss`, `did you mean os?`},
	{"duplicate sink", "  guests:\n", "  sales:\n", `remove one of them`},
	{"bad duration", `max_hold: 12h`, `max_hold: 12hours`, `one of ms, s, m, h, d`},
	{"bad zone", `{Arrival|date:2006-01-02}#{BookingId}`, `{Arrival|zone:Berlin|date:2006-01-02}#{BookingId}`, `as in {CreatedAt|zone:Europe/Berlin|date:2006-01-02}`},
	{"sensitive read", `{amount: '{Price}'`, `{mail: '{item.Email}', amount: '{Price}'`, `'Email' is no attribute of Booking`},
	{"name spaces", "name: hotel\n", "name: my hotel\n", `is not a name`},
	{"version", `version: 1`, `version: 2`, `write 1`},
	{"source string", `source: {table: hotel, ttl_attribute: expiresAt}`, `source: hotel`, `write {table: hotel}`},
	{"bad pad", `{Arrival|date:2006-01-02}#{BookingId}`, `{Price|pad}#{BookingId}`, `as in {Number|pad:10}`},
	{"unquoted exclam", `when: 'item.Status == "booked"'`, `when: !item.Deleted`, `'!item.Deleted'`},
	{"at unquoted", `key: 'h/{@entity}/{PK}.json'`, `key: @entity/{PK}.json`, `'@entity/{PK}.json'`},
	{"unique typo", `unique: BookingId`, `unique: BokingId`, `did you mean BookingId?`},
	{"bad date in agg", `SK: '{Arrival|date:2006-01}'`, `SK: '{Arrival|date:MM}'`, `a Go layout shows the time`},
	{"bad date in archive", `partition: 'dt={@time|date:2006-01-02}'`, `partition: 'dt={@time|date:YYYY}'`, `a Go layout shows the time`},
	{"bad template view wo of", `SK: '{@key}'`, `SK: '{@kye}'`, `did you mean @key?`},
	{"bound name without of", `SK: '{@key}'`, `SK: '{BookingId}#{@key}'`, "only beside `of: Booking`"},
	{"bound name in a condition without of", `view: {table: hotel-all, key`, `view: {table: hotel-all, when: 'HotelId == "1"', key`, "only beside `of: [Hotel, Booking]`"},
	{"item of a bound name", `hotel: '{HotelId}'`, `hotel: '{item.HotelId}'`, `write HotelId alone`},
	{"item without of", `SK: '{@key}'`, `SK: '{item.Name}#{@key}'`, "only beside `of`"},
	{"unique names that run together", `key: {PK: 'STATUS#{Status}', SK: '{BookingId}'}`, `shards: 4, key: {PK: 'STATUS#{Status}#{@shard}', SK: '{BookingId}{Status}'}`, `with a text between it and others`},
	{"misspelled entities", "entities:\n", "entitys:\n", `hotel.yaml:5:1: entitys: there is no such key; did you mean entities?`},
	{"misspelled sinks", "sinks:\n", "sink:\n", `did you mean sinks?`},
	{"key of an entity as text", `key: {PK: 'HOTEL#{HotelId}', SK: META}`, `key: 'HOTEL#{HotelId}'`, `entities.Hotel.key: wants a mapping, not the text 'HOTEL#{HotelId}'; write {PK: 'ORDER#{OrderId}', SK: META}`},
	{"key of an entity as a list", `key: {PK: 'HOTEL#{HotelId}', SK: META}`, `key: ['HOTEL#{HotelId}', META]`, `entities.Hotel.key: wants a mapping, not a list`},
	{"no key of an entity", `key: {PK: 'HOTEL#{HotelId}', SK: META}, `, ``, `add key: {PK: 'ORDER#{OrderId}', SK: META}`},
	{"key without a sort key", `key: {PK: 'HOTEL#{HotelId}', SK: '{Arrival|date:2006-01-02}#{BookingId}'}`, `key: {PK: 'HOTEL#{HotelId}#{BookingId}'}`, `sinks.arrivals.view.key: the view by_status of the same table has the key PK, SK, and this one PK`},
	{"key in lower case", `key: {PK: 'STATUS#{Status}', SK: '{BookingId}'}`, `key: {pk: 'STATUS#{Status}', sk: '{BookingId}'}`, `sinks.by_status.view.key: the view arrivals of the same table has the key PK, SK, and this one pk, sk`},
	{"key of three", `key: {PK: 'STATUS#{Status}', SK: '{BookingId}'}`, `key: {PK: 'STATUS#{Status}', SK: '{BookingId}', X: y}`, `one or two attributes, not 3`},
	{"no key of a view", `key: {PK: 'STATUS#{Status}', SK: '{BookingId}'}, `, ``, `add key: {PK: 'NAME#{Attribute}', SK: '{@key}'}`},
	{"key of a view as text", `key: {PK: 'STATUS#{Status}', SK: '{BookingId}'}`, `key: '{BookingId}'`, `sinks.by_status.view.key: wants a mapping`},
	{"table of state for views", `state: {table: hotel-state}`, `state: {table: hotel-views}`, `state.table: it is the table of state, and arrivals, by_status and nights write their rows into it; write another name`},
	{"table of state for one view", `table: hotel-all`, `table: hotel-state`, `sinks.all.view.table: 'hotel-state' is the table of state; give the rows`},
	{"typo in allow_sensitive", "of: Guest\n", "of: Guest\n      allow_sensitive: [Emial]\n", `did you mean Email?`},
	{"unique typo beside shards", "unique: BookingId\n", "unique: BokingId\n", `did you mean BookingId?`},
	{"yes", "masked: true}}\n  log", "masked: yes}}\n  log", `write true or false`},
	{"average", `{sum: Price}`, `{avg: Price}`, `values.revenue.avg: there is no such key; the keys here are sum, min, max and distinct`},
	{"count of an attribute", `{sum: Price}`, `{count: Price}`, `write count alone`},
	{"name of the API", `source: {table: hotel`, `source: {TableName: hotel`, `source.TableName: there is no such key; did you mean table?`},
	{"no space behind the colon", `state: {table: hotel-state}`, `state: {table:hotel-state}`, `write a space after the colon: table: hotel-state`},
	{"for_each of a text", `for_each: Nights`, `for_each: Status`, `for_each: Status has no elements, as Booking declares it`},
	{"to without attribute", `attribute: Status, to: cancelled`, `to: cancelled`, `add one, as attribute: PATH for from, to, below or above`},
	{"no {@each}", `SK: '{BookingId}#{@each}'`, `SK: '{each.date}#{BookingId}'`, `put {@each} into it`},
	{"second document", "version: 1\n", "version: 1\n---\nversion: 1\n", `hotel.yaml:2:1: a second YAML document begins here`},
	{"no version", "version: 1\n", "", `add version: 1`},
	{"no events", `, events: [booked, cancelled]`, ``, `add events: [NAME]`},
	{"no on_ttl_delete", `, on_ttl_delete: keep`, ``, `add on_ttl_delete: keep or retract`},
	{"state as text", `state: {table: hotel-state}`, `state: hotel-state`, `write {table: hotel-state}`},
	{"dead letters as text", `dead_letters: {bucket: hotel-dead, max_hold: 12h}`, `dead_letters: hotel-dead`, `write {bucket: hotel-dead}`},
	{"attributes as a list", `attributes: {amount: '{Price}', hotel: '{HotelId}'}`, `attributes: [Price, HotelId]`, `write all, or {NAME: '{Attribute}'}`},
	{"a value as a word", `{sum: Price}`, `sum`, `write {sum: PATH}`},
	{"a value as words", `{sum: Price}`, `sum:Price`, `write {sum: Price}`},
	{"an operation in lower case", `op: [INSERT]`, `op: insert`, `write [INSERT]`},
	{"a path in braces", `{sum: Price}`, `{sum: '{Price}'}`, `it is a path, which has no braces; write Price`},
	{"a bound name in braces", `{sum: Price}`, `{distinct: '{BookingId}'}`, `write BookingId`},
	{"for_each of all elements", `for_each: Nights`, `for_each: 'Nights[*]'`, `sinks.nights.view.for_each: for_each names the list itself, and means all its elements; write Nights`},
	{"no brackets of a list", `[{date: S, rate: N}]`, `{date: S, rate: N}`, `Nights is declared as a map, and each of its values is an element; declare a list of such maps in brackets, as Nights: [{...}]`},
	{"entity in an expression", `'item.Price > 0'`, `'Booking.Price > 0'`, `Booking is an entity: write item.NAME`},
	{"mapping for an expression", `when: 'item.Status == "booked"'`, `when: {Status: booked}`, `write 'item.Status == "booked"'`},
	{"list for an expression", `when: 'item.Status == "booked"'`, `when: [item.Status == "booked"]`, `write it without brackets: 'item.Status == "booked"'`},
	{"curly quotes", `hotel: '{HotelId}'`, `hotel: ‘{HotelId}’`, `curly quotes are no quotes of YAML: write '{HotelId}'`},
	{"curly quotes around plain text", "name: hotel\n", "name: “hotel”\n", `curly quotes are no quotes of YAML; write 'hotel'`},
	{"no closing quote", `amount: '{Price}', hotel: '{HotelId}'`, `amount: '{Price}, hotel: '{HotelId}'`, `the closing quote is missing: write '{Price}'`},
	{"new in a template", `{amount: '{Price}'`, `{amount: '{new.Price}'`, `write the path without new.: a template reads one item`},
	{"dollar in a template", `{amount: '{Price}'`, `{amount: '${Price}'`, `for a placeholder, write '{Price}'`},
	{"element without each", `{each.date}`, `{date}`, `write {each.date} for that of the element`},
	{"time without @", `{Arrival|date:2006-01-02}#{BookingId}`, `{time|date:2006-01-02}#{BookingId}`, `write {@time}`},
	{"sum of another entity's", `{sum: Price}`, `{sum: Stars}`, "Hotel has it. Or add `Stars: N` to the attributes of Booking"},
	{"colon in a quoted part", `      index: guests`, "      when: item.City == \"a: b\"\n      index: guests", `hotel.yaml:36:13: not YAML: mapping values are not allowed in this context; quote a text that has a colon: 'item.City == "a: b"'`},
	{"comment of another language", "version: 1\n", "// the hotel\nversion: 1\n", `hotel.yaml:1:1: not YAML: `},
	{"sinks as a list", "sinks:\n  arrivals:", "sinks:\n  - arrivals:", `begins a list: remove its -, if entries have names`},
	{"placeholder in an expression", `'item.Price > 0'`, `'{Price} > 0'`, `write item.Price, without braces`},
	{"member of a list", `'item.Price > 0'`, `'item.Nights.rate > 0'`, `read one element, as item.Nights[0], or ask for any, as in item.Nights.exists(e, e.qty > 1)`},
	{"entities with a comma", "of: Guest\n", "of: Guest, Hotel\n", `write [Guest, Hotel]`},
	{"part of a key in a detector", `attribute: Status, to`, `attribute: BookingId, to`, `is a part of SK`},
}

// If the file holds records instead of a configuration, that is one problem.
func TestParse_Records(t *testing.T) {
	got := messages(t, `{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"a"}}}}`+"\n"+`{"eventName":"REMOVE"}`+"\n")
	if len(got) != 1 || !strings.Contains(got[0].String(), "this is not a configuration: it is a file of records") {
		t.Error(got.Error())
	}
}

// A text in double quotes that ends in a backslash is no YAML. The search for its closing quote ends with its line.
func TestMistakes_ABackslashEndsALine(t *testing.T) {
	_, err := config.Parse("tablewake.yaml", []byte("name: \"abc\\\nb: [\n"), func(string) (string, bool) { return "", false })
	if err == nil || !strings.Contains(err.Error(), "closing quote") {
		t.Errorf("%v", err)
	}
}
