package yamlbind_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/item"
)

// shop has keys of all forms.
type shop struct {
	_       any               `one:"street,site"`
	_       any               `most:"cash,card"`
	Line    int               `key:"@"`
	_       int               `key:"version,required" max:"1" doc:"Version of the format."`
	Name    string            `key:"name,required" add:"give the shop a name" doc:"Name of the shop."`
	Street  string            `key:"street" doc:"Where it is."`
	Site    string            `key:"site" doc:"Its address in the net."`
	Cash    bool              `key:"cash" doc:"It takes coins."`
	Card    bool              `key:"card" doc:"It takes cards."`
	Color   string            `key:"color" words:"red,green,blue" def:"red" doc:"Of the door."`
	Closed  bool              `key:"door" words:"open,closed" yes:"closed" def:"open" doc:"Whether it is open."`
	Clerks  int               `key:"clerks" max:"100" def:"10" doc:"Who work there."`
	Rate    float64           `key:"rate" doc:"Guests a second."`
	Break   time.Duration     `key:"break" def:"15m" doc:"The pause."`
	Rest    time.Duration     `key:"rest,late" def:"1d" doc:"The shop decides."`
	Storage int64             `key:"storage" is:"size" doc:"How much it holds."`
	Code    string            `key:"code" is:"secret" doc:"Of the alarm."`
	Label   item.Path         `key:"label" doc:"Where the label is."`
	Tags    []string          `key:"tags" doc:"Words."`
	Prices  map[string]string `key:"prices,empty" words:"high,low" doc:"By thing."`
	Shelves []shelf           `key:"shelves" doc:"By name."`
	Till    till              `key:"till" doc:"Where one pays."`
	Spare   *till             `key:"spare" doc:"Another till."`
	Plan    tree              `key:"plan" doc:"Rooms in rooms."`
	Sign    sign              `key:"sign" doc:"Any value."`
	Total   int               // set by Made
}

// Made sets Total from fields that are bound before the call.
func (s *shop) Made(_ *yamlbind.File, v *yamlbind.Value) {
	s.Total = s.Clerks + len(v.Get("tags").All())
}

// shelf is an entry of a map that keeps the order of the file. A scalar can stand for the whole entry.
type shelf struct {
	Name   string `key:"*"`
	Line   int    `key:"@"`
	Boards int    `key:"="`
	Wood   string `key:"wood" words:"oak,pine" def:"pine" doc:"Of the boards."`
}

type till struct {
	Drawers int `key:"drawers" def:"2" doc:"With money."`
}

// tree can contain itself.
type tree struct {
	_     any    `ref:"tree"`
	Room  string `key:"room" doc:"Its name."`
	Rooms []tree `key:"rooms" doc:"Those inside."`
}

// sign is a type that reads its value itself.
type sign struct{ text string }

func (s *sign) Bind(f *yamlbind.File, v *yamlbind.Value) { s.text = f.Describe(v.Node) }

const maxNodes = 200

var rule = yamlbind.RuleOf(reflect.TypeFor[shop](), yamlbind.Kinds{})

// read reads a shop, with a few environment variables.
func read(text string) (*yamlbind.File, shop) {
	f := yamlbind.New("shop.yaml", []byte(text), yamlbind.Options{
		Words:    yamlbind.FileHints{Empty: "write a shop", Second: "remove it", Merge: "write the keys out", Values: true},
		MaxNodes: maxNodes,
		Getenv: func(name string) (string, bool) {
			value, ok := map[string]string{"CITY": "Bern", "MANY": "7", "NONE": ""}[name]
			return value, ok
		},
	})
	var s shop
	f.Read(rule, &s)
	f.Problems.Sort()
	return f, s
}

// minimal is a shop with only its required keys.
const minimal = "version: 1\nname: corner\nstreet: Main\n"

func defaults() shop {
	return shop{
		Line: 1, Name: "corner", Street: "Main", Color: "red", Clerks: 10, Break: 15 * time.Minute, Till: till{2}, Total: 10,
	}
}

func TestBind(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want func(*shop)
	}{
		"defaults":                {"", func(*shop) {}},
		"words":                   {"color: blue\ndoor: closed", func(s *shop) { s.Color, s.Closed = "blue", true }},
		"default as written":      {"color: red\ndoor: open", func(*shop) {}},
		"numbers":                 {"clerks: 0x1F\nrate: 2.5", func(s *shop) { s.Clerks, s.Rate, s.Total = 31, 2.5, 31 }},
		"leading zero is decimal": {"clerks: 017", func(s *shop) { s.Clerks, s.Total = 17, 17 }},
		"units":                   {"break: 90s\nrest: 2h\nstorage: 3KiB", func(s *shop) { s.Break, s.Rest, s.Storage = 90*time.Second, 2*time.Hour, 3072 }},
		"path":                    {"label: info.name", func(s *shop) { s.Label = path("info.name") }},
		"list":                    {"tags: [a, 'b c']", func(s *shop) { s.Tags, s.Total = []string{"a", "b c"}, 12 }},
		"map":                     {"prices: {tea: low, pen: high}", func(s *shop) { s.Prices = map[string]string{"tea": "low", "pen": "high"} }},
		"empty map":               {"prices: {}", func(s *shop) { s.Prices = map[string]string{} }},
		"entries in order": {"shelves:\n  z: {wood: oak}\n  a: {}", func(s *shop) {
			s.Shelves = []shelf{{Name: "z", Line: 5, Wood: "oak"}, {Name: "a", Line: 6, Wood: "pine"}}
		}},
		"scalar for a mapping": {"shelves: {low: 3}", func(s *shop) { s.Shelves = []shelf{{Name: "low", Boards: 3}} }},
		"struct":               {"till: {drawers: 4}", func(s *shop) { s.Till.Drawers = 4 }},
		"pointer":              {"spare: {}", func(s *shop) { s.Spare = &till{2} }},
		"contains itself": {"plan: {room: hall, rooms: [{room: bath}]}", func(s *shop) {
			s.Plan = tree{Room: "hall", Rooms: []tree{{Room: "bath"}}}
		}},
		"alias":        {"till: &t {drawers: 3}\nspare: *t", func(s *shop) { s.Till.Drawers, s.Spare = 3, &till{3} }},
		"reads itself": {"sign: [1, 2]", func(s *shop) { s.Sign.text = "a list" }},
		"YAML 1.2": {"tags: [yes, on, 2006-01-02, 1_000, 'true', !!str 5]", func(s *shop) {
			s.Tags, s.Total = []string{"yes", "on", "2006-01-02", "1_000", "true", "5"}, 16
		}},
		"environment": {"code: ${CITY}-${ZIP:-3000}\nclerks: ${MANY}\ntags: ['$${CITY}', '${NONE:-none}']", func(s *shop) {
			s.Code, s.Clerks, s.Tags, s.Total = "Bern-3000", 7, []string{"${CITY}", "none"}, 9
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f, got := read(minimal + c.text)
			want := defaults()
			c.want(&want)
			if len(f.Problems) > 0 {
				t.Fatal(f.Problems)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func path(text string) item.Path {
	p, err := item.ParsePath(text)
	if err != nil {
		panic(err)
	}
	return p
}

// All problems of a file are reported at once, each with its place, its key and a hint.
func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string // beginnings of the problems, without the file name
	}{
		"several at once": {minimal + "colour: red\nclerks: many\ntill: {drawer: 1}\nbreak: 3\ntags: [a, [b]]", []string{
			"4:1: colour: there is no such key; did you mean color?",
			"5:9: clerks: wants a whole number, not the text 'many'",
			"6:8: till.drawer: there is no such key; did you mean drawers?",
			"7:8: break: wants a duration such as 90s, 15m, 12h or 30d, not a number (3); write 3s, 3m, 3h or 3d",
			"8:11: tags[1]: wants text, and YAML made a list of it; quote it: '[b]'",
		}},
		"missing keys": {"street: Main", []string{
			"1:1: the key \"version\" is missing; add it: Version of the format",
			"1:1: the key \"name\" is missing; give the shop a name",
		}},
		"no near key":        {minimal + "till: {x: 1}", []string{"4:8: till.x: there is no such key; the keys here are drawers"}},
		"unknown word":       {minimal + "color: blu", []string{"4:8: color: 'blu' is not known here; did you mean blue?"}},
		"no near word":       {minimal + "color: x", []string{"4:8: color: 'x' is not known here; the words here are red, green and blue"}},
		"version":            {"version: 2\nname: a\nstreet: b", []string{"1:10: version: 2 is not known; this version reads 1; write 1"}},
		"limits":             {minimal + "clerks: 101\nrate: 0", []string{"4:9: clerks: 101 is more than 100", "5:7: rate: a rate is above 0; remove the key for no limit"}},
		"none of a group":    {"version: 1\nname: a", []string{"1:1: wants one of the keys street or site; add one"}},
		"two of a group":     {minimal + "site: x\ncash: true\ncard: true", []string{"1:1: street and site cannot be combined; keep one of them", "1:1: cash and card cannot be combined; keep one of them"}},
		"empty list":         {minimal + "tags: []", []string{"4:7: tags: is empty; add an entry or remove the key"}},
		"empty text":         {minimal + "tags: ['']", []string{"4:8: tags[0]: is empty; write a value or remove the key"}},
		"names in one text":  {minimal + "tags: 'a, b'", []string{"4:7: tags: wants a list, not the text 'a, b'; write ['a', 'b']"}},
		"list in a list":     {minimal + "tags: [[a, b]]", []string{"4:8: tags[0]: wants text, not a list; write them into the outer list: a, b"}},
		"block in a block":   {minimal + "tags:\n- - a\n  - b\n", []string{"5:3: tags[0]: wants text, not a list; write them into the outer list: a, b"}},
		"no unit":            {minimal + "break: 0\nclerks: 1", []string{"4:8: break: wants a duration such as 90s, 15m, 12h or 30d, not a number (0)"}},
		"null":               {minimal + "code:", []string{"4:6: code: wants text, not nothing; write ${NAME}, or quote it"}},
		"wrong shapes":       {minimal + "tags: a\ntill: [1]\nprices: 3", []string{"4:7: tags: wants a list, not the text 'a'; write ['a']", "5:7: till: wants a mapping, not a list", "6:9: prices: wants a mapping, not a number (3)"}},
		"a column in a text": {minimal + "label: 'a..b'", []string{"4:10: label: "}},
		"duplicated keys":    {minimal + "cash: true\ntill: {drawers: 1, drawers: 2}\nname: b", []string{"5:20: till.drawers: the key appears twice, first in line 5; remove one of them", "6:1: name: the key appears twice, first in line 2; remove one of them"}},
		"key is no name":     {minimal + "? [a]\n: 1", []string{"4:3: a key is a name, not a list; quote it: '[a]'"}},
		"merge key":          {minimal + "till: {<<: {drawers: 1}}", []string{"4:8: till: YAML 1.2 has no merge keys; write the keys out"}},
		"tag":                {minimal + "clerks: !!int 3", []string{"4:9: clerks: the YAML tag !!int is not used here; remove the tag; where text is meant, quote it: '!!int 3'"}},
		"second document":    {minimal + "---\nb: 1", []string{"4:1: a second YAML document begins here; remove it"}},
		"empty file":         {"# nothing\n", []string{"1:1: the file is empty; write a shop"}},
		"not UTF-8":          {"name: a\nstreet: \xff", []string{"2:1: byte 16 is not UTF-8; save the file as UTF-8"}},
		"not YAML":           {minimal + "site: {a", []string{"4:"}},
		"tab":                {minimal + "till:\n\tdrawers: 1", []string{"5:1: not YAML: "}},
		"environment": {minimal + "code: ${ZIP}\ncolor: ${9}\nclerks: ${CITY}\nprices: {'${CITY}': low}", []string{
			"4:7: code: the environment variable ZIP is not set; set it; a default would be in the file",
			"5:8: color: ${9} is not a name of an environment variable; write ${NAME} or ${NAME:-default}, and $${ for the text ${",
			"6:9: clerks: wants a whole number, not what the environment gave",
			"7:10: prices.${CITY}: the environment is not read in names; write the name out",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := read(c.text)
			got := strings.Split(f.Problems.Error(), "\n")
			ok := len(got) == len(c.want)
			for i := 0; ok && i < len(got); i++ {
				ok = strings.HasPrefix(got[i], "shop.yaml:"+c.want[i])
			}
			if !ok {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// An entry that cannot be read is left out of a map, and the other entries are kept. In a list, the entry keeps its
// place as an empty text.
func TestUnreadableEntries(t *testing.T) {
	f, s := read(minimal + "shelves: {low: many, top: 2}\ntags: [[a], b]")
	if want := []shelf{{Name: "top", Boards: 2}}; !reflect.DeepEqual(s.Shelves, want) {
		t.Errorf("shelves %+v, want %+v", s.Shelves, want)
	}
	if want := []string{"", "b"}; !slices.Equal(s.Tags, want) {
		t.Errorf("tags %q, want %q", s.Tags, want)
	}
	if len(f.Problems) != 2 {
		t.Errorf("want two problems: %v", f.Problems)
	}
}

// The depth and the size of a file are limited, whatever its aliases refer to. A file beyond a limit has one problem.
func TestAliasCycles(t *testing.T) {
	const tooLarge = "the file nests deeper than 128 levels, or grows to more than 200 values; use fewer levels and aliases"
	deep := strings.Repeat(".rooms[0]", 63)
	for name, c := range map[string]struct{ text, want string }{
		"a list in itself":         {"plan: &p {rooms: [*p]}", "4:19: plan" + deep + ".rooms[0]: " + tooLarge},
		"two lists in each other":  {"plan: &p {rooms: [&q {rooms: [*p, *q]}]}", "4:31: plan" + deep + ".rooms[0]: " + tooLarge},
		"a mapping in itself":      {"spare: &s {drawers: *s}", "4:8: spare.drawers: wants text, and YAML made a mapping of it; quote it: '&s {drawers: *s}'"},
		"a list of texts":          {"tags: &t [*t]", "4:7: tags[0]: wants text, and YAML made a list of it; quote it: '&t [*t]'"},
		"each twice in the next":   {"plan:\n  rooms:\n" + doubled(12), "7:23: plan.rooms[5].rooms[1].rooms[0].rooms[0].rooms[1].rooms[1]: " + tooLarge},
		"a shared part, no circle": {"plan:\n  rooms:\n" + doubled(3), ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := read(minimal + c.text)
			if got := f.Problems.Error(); got != c.want && got != "shop.yaml:"+c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// doubled returns n rooms after a first one, each of which contains the previous room twice.
func doubled(n int) string {
	var b strings.Builder
	b.WriteString("  - &r0 {room: x}\n")
	for i := range n {
		id := strconv.Itoa
		b.WriteString("  - &r" + id(i+1) + " {rooms: [*r" + id(i) + ", *r" + id(i) + "]}\n")
	}
	return b.String()
}

// The address of a field leads to its value in the file, so that later checks can report problems at its place.
func TestOf(t *testing.T) {
	var s shop
	f := yamlbind.New("shop.yaml", []byte(minimal+"clerks: many\ntill: {drawers: 3}\nspare: {}\n"), yamlbind.Options{MaxNodes: maxNodes})
	f.Read(rule, &s)
	f.Problems = nil
	for _, c := range []struct {
		field      any
		has, sound bool
	}{
		{&s.Name, true, true},
		{&s.Clerks, true, false},
		{&s.Till.Drawers, true, true},
		{&s.Color, false, false},
	} {
		if has, sound := f.Has(c.field), f.Sound(c.field); has != c.has || sound != c.sound {
			t.Errorf("has %t, sound %t; want %t, %t", has, sound, c.has, c.sound)
		}
		f.Refuse(c.field, "remove it", "is of no use")
	}
	f.WarnIf(true, s.Spare, "", "is empty")
	f.FailKey(f.ValueOf(&s.Till), "", "has a %s", "key")
	f.FailWithin(f.ValueOf(&s.Name), 1, 3, "has an r", "")
	f.FailIf(false, &s.Name, "", "is not reported")
	f.Problems.Sort()
	want := `shop.yaml:2:7: name: is of no use; remove it
shop.yaml:2:7: name: has an r
shop.yaml:4:9: clerks: is of no use; remove it
shop.yaml:5:1: till: has a key
shop.yaml:5:17: till.drawers: is of no use; remove it`
	if got := f.Problems.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := f.Warnings.Error(), "shop.yaml:6:8: spare: is empty"; got != want {
		t.Errorf("warnings: got %s, want %s", got, want)
	}
}

// The schema has the same rules as the configuration: required keys, defaults in their JSON types, and one key of a
// group.
func TestSchema(t *testing.T) {
	var got struct {
		Required   []string
		Properties map[string]struct {
			Default any
			AnyOf   []struct{ Enum []string }
		}
		AllOf []struct{ OneOf []any }
	}
	if err := json.Unmarshal(yamlbind.Schema(rule, "shop", "A shop."), &got); err != nil {
		t.Fatal(err)
	}
	if want := []string{"version", "name"}; !slices.Equal(got.Required, want) {
		t.Errorf("required %q, want %q", got.Required, want)
	}
	if clerks, pause := got.Properties["clerks"].Default, got.Properties["break"].Default; clerks != 10.0 || pause != "15m" {
		t.Errorf("defaults %v and %v, want 10 and 15m", clerks, pause)
	}
	if words, want := got.Properties["color"].AnyOf[0].Enum, []string{"red", "green", "blue"}; !slices.Equal(words, want) {
		t.Errorf("words %q, want %q", words, want)
	}
	if len(got.AllOf) != 2 || len(got.AllOf[0].OneOf) != 2 || len(got.AllOf[1].OneOf) != 3 {
		t.Errorf("groups %v, want one of two keys, and one of two or none", got.AllOf)
	}
}
