package initconfig

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/sample"
	"github.com/tablewake/tablewake/pipeline/config"
)

// samples are tables of several designs, with the lines that the file must have and the values that it must not show.
var samples = []struct {
	name, lines string
	want        []string
	private     []string // values that the file must not show
	keys        []string // values of --keys
}{
	{"hotel", `
{"PK":{"S":"HOTEL#rome-1"},"SK":{"S":"META"},"Name":{"S":"Sea View"},"Stars":{"N":"4"},"ContactEmail":{"S":"a@example.com"}}
{"PK":{"S":"HOTEL#rome-1"},"SK":{"S":"BOOKING#2026-01-02#b77"},"Status":{"S":"booked"},"Nights":{"L":[{"M":{"date":{"S":"2026-01-02"},"rate":{"N":"9"}}}]},"ttl":{"N":"1790000000"}}
{"PK":{"S":"HOTEL#rome-1"},"SK":{"S":"BOOKING#2026-01-03#b78"},"Status":{"S":"cancelled"}}
{"PK":{"S":"GUEST#mira"},"SK":{"S":"GUEST#mira"},"Phones":{"M":{"home":{"S":"+39 1"}}},"Seen":{"M":{"2026-01-02":{"N":"1"}}},"Mixed":{"S":"x"}}
{"PK":{"S":"GUEST#otto"},"SK":{"S":"GUEST#otto"},"Mixed":{"N":"1"}}`,
		[]string{
			"ttl_attribute: ttl}", "sensitive: [ContactEmail, 'Phones.**']",
			"key: {PK: 'HOTEL#{HotelId}', SK: META}", "key: {PK: 'HOTEL#{HotelId}', SK: 'BOOKING#{Date}#{BookingId}'}", "key: {PK: 'GUEST#{GuestId}', SK: 'GUEST#{GuestId}'}",
			"Nights: [{date: S, rate: N}]", "Seen: M", "Mixed: NULL", "booking_by_status:", "PK: 'STATUS#{Status}'",
		},
		[]string{"rome", "b77", "Sea View", "example.com", "booked", "mira", "otto", "+39", "2026-01-03", "1790000000"}, nil},
	{"colons", `
{"pk":{"S":"user:1"},"sk":{"S":"profile"},"plan":{"S":"free"}}
{"pk":{"S":"user:2"},"sk":{"S":"profile"},"plan":{"S":"gold"}}
{"pk":{"S":"user:2"},"sk":{"S":"order:1:line:1"},"sku":{"S":"A1"}}
{"pk":{"S":"user:2"},"sk":{"S":"order:1:line:2"},"sku":{"S":"A2"}}`,
		[]string{"'user:{UserId}'", "'order:{OrderId}:{OrderId2}:{OrderId3}'"},
		[]string{"free", "gold", "A1"}, nil},
	{"lines of orders", `
{"PK":{"S":"ORDER#1"},"SK":{"S":"ORDER#1"},"Total":{"N":"1"}}
{"PK":{"S":"ORDER#1"},"SK":{"S":"ORDER#1#LINE#1"},"Sku":{"S":"A1"}}
{"PK":{"S":"ORDER#1"},"SK":{"S":"ORDER#1#LINE#2"},"Sku":{"S":"A2"}}`,
		[]string{"'ORDER#{OrderId}#LINE#{LineId}'", "# Keys of Order are also keys of Line"},
		[]string{"A1"}, nil},
	{"one key", `
{"id":{"S":"9f1c0f4e-1"},"state":{"S":"waits"},"password_hash":{"S":"$2b$"},"a b":{"S":"x"},"yes":{"BOOL":true}}
{"id":{"S":"7a2b0f4e-2"},"state":{"S":"done"}}`,
		[]string{"key: {id: '{Id}'}", "'a b': S", "sensitive: [password_hash]", "item_by_state:"},
		[]string{"9f1c", "7a2b", "$2b", "waits"}, nil},
	{"an odd name", `
{"PK":{"S":"JOB#1"},"id":{"N":"1"},"its 'state'":{"S":"waits"}}
{"PK":{"S":"JOB#2"},"id":{"N":"2"},"its 'state'":{"S":"done"}}`,
		[]string{"key: {PK: 'JOB#{JobId}'}", "PK: 'ITS_STATE_#{[\"its ''state''\"]}'"},
		[]string{"waits", "done"}, nil},
	{"numbers", `
{"id":{"N":"7"},"at":{"N":"1"}}
{"id":{"N":"8"}}`,
		[]string{"key: {id: '{Id}'}", "PK: 'ITEM', SK: '{@key}'"},
		nil, nil},
	{"a key that is named like an id", `
{"UserId":{"S":"mira"},"SK":{"S":"USER#1"},"x":{"N":"1"}}
{"UserId":{"S":"otto"},"SK":{"S":"USER#2"},"x":{"N":"1"}}`,
		[]string{"{UserId: '{UserId}', SK: 'USER#{UserId2}'}"},
		[]string{"mira", "otto"}, []string{"UserId", "SK"}},
	{"names of people in capitals", `
{"PK":{"S":"TEAM#1"},"SK":{"S":"SMITH"},"Wins":{"N":"1"}}
{"PK":{"S":"TEAM#1"},"SK":{"S":"CAPTAIN"},"Wins":{"N":"1"}}
{"PK":{"S":"TEAM#2"},"SK":{"S":"CAPTAIN"},"Wins":{"N":"1"}}
{"PK":{"S":"TEAM#2"},"SK":{"S":"METADATA"},"Wins":{"N":"1"}}`,
		[]string{"SK: CAPTAIN", "SK: METADATA"},
		[]string{"SMITH"}, nil},
	{"names of people", `
{"PK":{"S":"alice"},"SK":{"S":"anna|2"},"Friends":{"M":{"bob":{"N":"1"},"carol":{"N":"2"}}}}
{"PK":{"S":"alice"},"SK":{"S":"berta|3"},"Friends":{"M":{"dave":{"N":"1"}}}}
{"PK":{"S":"bob"},"SK":{"S":"clara|4"},"Friends":{"M":{"erin":{"N":"1"},"frank":{"N":"1"},"gus":{"N":"1"}}}}
{"PK":{"S":"bob"},"SK":{"S":"dora|4"},"Friends":{"M":{"x1":{"N":"1"}}}}
{"PK":{"S":"bob"},"SK":{"S":"dora|5"},"Friends":{"M":{"y":{"N":"1"}}}}
{"PK":{"S":"bob"},"SK":{"S":"emil|5"},"Friends":{"M":{"z":{"N":"1"}}}}`,
		[]string{"Friends: M"},
		[]string{"alice", "bob", "carol", "anna", "dora", "frank"}, nil},
}

// If items have more attributes than a file lists, the file lists none. A partial list would make the other attributes
// errors.
func TestInit_ManyNames(t *testing.T) {
	for n, listed := range map[int]bool{maxAttributes - 2: true, maxAttributes - 1: false, 150: false} {
		dir := t.TempDir()
		file, out := filepath.Join(dir, "items.jsonl"), filepath.Join(dir, "made.yaml")
		line := `{"PK":{"S":"WIDE#1"},"SK":{"S":"META"}`
		for i := range n - 1 {
			line += fmt.Sprintf(`,"a%03d":{"N":"1"}`, i)
		}
		line += `,"zemail":{"S":"a@example.com"}`
		if err := os.WriteFile(file, []byte(line+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		text := made(t, options{sample: []string{file}, table: "wide", out: out})
		if strings.Contains(text, " attributes: {a000: N") != listed || !strings.Contains(text, "sensitive: [zemail]") {
			t.Errorf("of %d names:\n%s", n, text)
		}
	}
}

// Sensitive attributes are guessed from the words of a name.
func TestLooksSensitive(t *testing.T) {
	for name, want := range map[string]bool{
		"ssn": true, "userSSN": true, "SSNHash": true, "user_ssn": true, "businessName": false, "businessNotes": false, "Mail": true, "mailbox": false,
		"useremail": true, "E-Mail": true, "cardNumber": true, "CARD_NUMBER": true, "first name": true, "APIKey": true, "address2": true, "caliban": false, "Total": false, "": false,
	} {
		if got := looksSensitive(name); got != want {
			t.Errorf("%q looks sensitive: %t, want %t", name, got, want)
		}
	}
}

// If there are more kinds than a file should have, those with the fewest items are left out, and the file says so.
func TestInit_ManyKinds(t *testing.T) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "items.jsonl"), filepath.Join(dir, "made.yaml")
	var lines strings.Builder
	for i := range maxEntities + 3 {
		kind := fmt.Sprintf("KIND%c%c", 'A'+i/26, 'A'+i%26)
		for n := range 1 + i/3 { // the last kinds have the most items
			fmt.Fprintf(&lines, `{"PK":{"S":"%s#%d"},"SK":{"S":"META"},"email":{"S":"a@example.com"}}`+"\n", kind, n)
		}
	}
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	text := made(t, options{sample: []string{file}, table: "kinds", out: out})
	if !strings.Contains(text, "# 3 kinds with fewer items, 3 items of the sample in all, left out") || strings.Contains(text, "KINDAA#") || !strings.Contains(text, "KINDBQ#") {
		t.Errorf("the file of %d kinds:\n%s", maxEntities+3, text)
	}
}

func TestInit(t *testing.T) {
	for _, tt := range samples {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file, out := filepath.Join(dir, "items.jsonl"), filepath.Join(dir, "made.yaml")
			if err := os.WriteFile(file, []byte(tt.lines), 0o600); err != nil {
				t.Fatal(err)
			}
			text := made(t, options{sample: []string{file}, table: "my.table", out: out, keys: tt.keys})
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("the file has no %s", want)
				}
			}
			for _, private := range tt.private {
				if strings.Contains(text, private) {
					t.Errorf("the file has the value %s", private)
				}
			}
			check(t, text, file)
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}

// The file that init writes for the shop's stream has the kinds of items. validate has no warning about any of the
// items.
func TestInitShop(t *testing.T) {
	stream := filepath.Join("..", "..", "..", "test", "fixtures", "shop", "stream.jsonl")
	text := made(t, options{sample: []string{stream}, out: filepath.Join(t.TempDir(), "made.yaml")})
	check(t, text, stream)
	for _, want := range []string{"name: shop\n", "key: {PK: 'USER#{UserId}', SK: PROFILE}", "order_by_status:"} {
		if !strings.Contains(text, want) {
			t.Errorf("the file has no %s", want)
		}
	}
}

// made runs init and returns the file. It also wants that a second run refuses to overwrite the file.
func made(t *testing.T, o options) string {
	t.Helper()
	var out bytes.Buffer
	s := cli.Streams{Out: &out, Err: &out}
	if err := o.run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(o.out)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.run(t.Context(), s); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("a second run: %v", err)
	}
	return string(b)
}

// check checks that a file is valid for real servers, and that the file with these items causes no warning.
func check(t *testing.T, text, items string) {
	t.Helper()
	cfg, err := config.Parse("made.yaml", []byte(text), func(name string) (string, bool) { return "a secret of its own", name == "TABLEWAKE_HMAC_KEY" })
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	read, err := sample.Read(t.Context(), cli.Streams{Err: &bytes.Buffer{}}, []string{items})
	if err != nil {
		t.Fatal(err)
	}
	for _, ps := range []config.Problems{cfg.LocalOnly, cfg.Warnings, cfg.CheckSample(read.Items)} {
		if len(ps) > 0 {
			t.Error(ps)
		}
	}
}

func TestInitRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "items.jsonl")
	if err := os.WriteFile(file, []byte(`{"a":{"S":"x"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		o    options
		want string
	}{
		{options{}, "--table, or items of it with --sample"},
		{options{sample: []string{file}}, "name them with --keys"},
		{options{sample: []string{file}, keys: []string{"b"}}, "item 1 of the sample has no b"},
		{options{sample: []string{file}, keys: []string{"a", "b", "c"}}, "one or two names"},
	} {
		tt.o.out = filepath.Join(dir, "made.yaml")
		err := tt.o.run(t.Context(), cli.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
		if cli.ExitCode(err) != cli.ExitUsage || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %s", tt.o, err, tt.want)
		}
	}
}
