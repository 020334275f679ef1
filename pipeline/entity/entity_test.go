package entity

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
)

func pattern(t testing.TB, src string) *Pattern {
	t.Helper()
	p, err := ParsePattern(src)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// makeEntity returns an entity with patterns of PK and SK; "" for none.
func makeEntity(t testing.TB, name, pk, sk string) *Entity {
	t.Helper()
	e := &Entity{Name: name}
	for i, src := range []string{pk, sk} {
		if src != "" {
			e.Key = append(e.Key, KeyPattern{[]string{"PK", "SK"}[i], pattern(t, src)})
		}
	}
	return e
}

func image(t testing.TB, src string) item.Image {
	t.Helper()
	m, err := item.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParsePatternErrors(t *testing.T) {
	for _, tt := range []struct {
		src     string
		column  int
		message string
	}{
		{"", 1, "empty"},
		{"USER#{", 6, "not closed"},
		{"é}", 2, "closes nothing"},
		{"USER#{}", 7, "no name"},
		{"{first-name}", 2, "no name"},
		{"{1st}", 2, "no name"},
		{"{item}", 2, "another meaning"},
		{"{A}{B}", 4, "side by side"},
	} {
		_, err := ParsePattern(tt.src)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Column != tt.column || !strings.Contains(e.Error(), tt.message) || e.Hint == "" {
			t.Errorf("ParsePattern(%q) = %v; want column %d and %q", tt.src, err, tt.column, tt.message)
		}
	}
}

func TestPatternsBindNames(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          []string // nil: the pattern does not match
	}{
		{"USER#{UserId}", "USER#1", []string{"1"}},
		{"USER#{UserId}", "USER#", nil},
		{"USER#{UserId}", "USER#a#b", []string{"a#b"}},
		{"ORDER#{Date}#{OrderId}", "ORDER#2026-01-02#7#8", []string{"2026-01-02", "7#8"}},
		{"ORDER#{Date}#{OrderId}", "ORDER##7", nil},
		{"ORDER#{Date}#{OrderId}", "ORDER#7", nil},
		{"{A}##{B}", "a###b", []string{"a", "#b"}},
		{"{A}#END", "a#END", []string{"a"}},
		{"{A}#END", "a#END#END", nil},
		{"META", "META", []string{}},
		{"META", "METADATA", nil},
		{"{{{A}}}", "{x}", []string{"x"}},
	} {
		p := pattern(t, tt.pattern)
		if got := p.Matches(item.StringValue(tt.text)); got != (tt.want != nil) {
			t.Errorf("%s: Holds(%q) = %v", tt.pattern, tt.text, got)
		}
		for i, want := range tt.want {
			if got, _ := p.value(item.StringValue(tt.text), i).Text(); got != want {
				t.Errorf("%s: name %d of %q is %q, want %q", tt.pattern, i, tt.text, got, want)
			}
		}
	}
}

func TestWholeKeysOfAnyType(t *testing.T) {
	e := makeEntity(t, "Reading", "SENSOR#{Sensor}", "{At}")
	m := image(t, `{"PK":{"S":"SENSOR#7"},"SK":{"N":"1.50"}}`)
	sc := NewSet(e).Scope("Reading")
	if v := sc.Binding("At").Value(m); !e.MatchKey(m) || v.String() != `{"N":"1.50"}` {
		t.Errorf("At is %v", v)
	}
	if e.MatchKey(image(t, `{"PK":{"S":"SENSOR#7"}}`)) || e.MatchKey(image(t, `{"PK":{"N":"7"},"SK":{"N":"1"}}`)) {
		t.Error("an item without SK, or with a number for a text, is of the entity")
	}
	if sc.Binding("At").IsText() || !sc.Binding("Sensor").IsText() {
		t.Error("only Sensor is a part of a text")
	}
}

func TestRepeatedNames(t *testing.T) {
	e := makeEntity(t, "User", "USER#{Id}", "USER#{Id}")
	NewSet(e)
	if !e.MatchKey(image(t, `{"PK":{"S":"USER#1"},"SK":{"S":"USER#1"}}`)) || e.MatchKey(image(t, `{"PK":{"S":"USER#1"},"SK":{"S":"USER#2"}}`)) {
		t.Error("both names must be equal")
	}
}

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		a, b    [2]string
		want    Overlap
		example string
	}{
		{[2]string{"USER#{U}", "ORDER#{O}"}, [2]string{"USER#{U}", "META"}, Disjoint, ""},
		{[2]string{"USER#{U}", "ORDER#{O}"}, [2]string{"USER#{U}", "ORDER#{D}#{O}"}, Overlapping, `PK="USER#1" SK="ORDER#1#1"`},
		{[2]string{"USER#{U}", ""}, [2]string{"USER#{U}", "META"}, Overlapping, `PK="USER#1" SK="META"`},
		{[2]string{"USER#{U}", ""}, [2]string{"{Any}", ""}, Overlapping, `PK="USER#1"`},
		{[2]string{"USER#{U}", ""}, [2]string{"USERS#{U}", ""}, Disjoint, ""},
		{[2]string{"{A}#x", ""}, [2]string{"a#{B}", ""}, Overlapping, `PK="a#x"`},
		{[2]string{"{A}#x", ""}, [2]string{"{B}#y", ""}, Disjoint, ""},
		{[2]string{"{A}##x", ""}, [2]string{"a#{B}", ""}, Overlapping, `PK="a##x"`},
		{[2]string{"{A}#x", ""}, [2]string{"a#b#{B}", ""}, Overlapping, `PK="a#b#x"`},
		{[2]string{"{A}#", ""}, [2]string{"a#b#{B}", ""}, Disjoint, ""}, // A ends at the first #
		{[2]string{"USER#{U}", "USER#{U}"}, [2]string{"USER#a", "USER#b"}, Unproven, ""},
		{[2]string{"USER#{U}", "USER#{U}"}, [2]string{"USER#{U}", "USER#{F}"}, Overlapping, `PK="USER#1" SK="USER#1"`},
		{[2]string{"{{x}}{A}", ""}, [2]string{"{{x}}1", ""}, Overlapping, `PK="{x}1"`},
	} {
		for range 2 {
			got := Compare(makeEntity(t, "a", tt.a[0], tt.a[1]), makeEntity(t, "b", tt.b[0], tt.b[1]))
			if got.Overlap != tt.want || got.Example != tt.example {
				t.Errorf("Compare(%q, %q) = %+v; want %v %s", tt.a, tt.b, got, tt.want, tt.example)
			}
			tt.a, tt.b = tt.b, tt.a
		}
	}
	three := &Entity{Key: []KeyPattern{{"id", pattern(t, "{Id}")}}}
	if got := Compare(makeEntity(t, "a", "{A}", "{B}"), three); got.Overlap != Disjoint {
		t.Errorf("no table has three key attributes: %+v", got)
	}
}

func drawPattern(t *rapid.T, label string) *Pattern {
	literals := []string{"", "#", "##", "a", "ab", "aba", "b#"}
	src := rapid.SampledFrom(literals).Draw(t, label)
	for i := range rapid.IntRange(0, 3).Draw(t, label+" names") {
		src += "{" + string(rune('A'+i)) + "}" + rapid.SampledFrom(literals).Draw(t, label)
	}
	p, err := ParsePattern(src)
	if err != nil {
		t.Skip("no pattern")
	}
	return p
}

// The automaton of a pattern accepts the texts that match the pattern, and common finds a shared text if a short one
// exists.
func TestAutomata(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPattern(t, "a"), drawPattern(t, "b")
		example, ok := commonText(a, b)
		holds := func(p *Pattern, text string) bool { _, is := p.partOf(text, -1); return is }
		if ok && !(holds(a, example) && holds(b, example)) {
			t.Fatalf("%q is of %s: %v, of %s: %v", example, a, holds(a, example), b, holds(b, example))
		}
		for range 50 {
			text := rapid.StringOfN(rapid.SampledFrom([]rune("ab#x")), 0, 8, -1).Draw(t, "text")
			m := a.machine()
			s, alive := m.start(), true
			for _, r := range text {
				if s, alive = m.step(s, r); !alive {
					break
				}
			}
			if accepts := alive && m.accepts(s); accepts != holds(a, text) {
				t.Fatalf("%s: the automaton says %v of %q, and cut %v", a, accepts, text, holds(a, text))
			}
			if !ok && holds(a, text) && holds(b, text) {
				t.Fatalf("%q is of both %s and %s, and common finds none", text, a, b)
			}
		}
	})
}

type typeIs string

func (w typeIs) Match(m item.Image) (bool, error) {
	v, _ := m.Get("Type")
	if v.Kind() == item.KindN {
		return false, errors.New("a number")
	}
	text, _ := v.Text()
	return text == string(w), nil
}

func (typeIs) Paths() []string { return []string{"Type"} }

func TestConditions(t *testing.T) {
	order, refund, user := makeEntity(t, "Order", "{Pk}", ""), makeEntity(t, "Refund", "R#{Id}", ""), makeEntity(t, "User", "U#{Id}", "")
	order.When, refund.When, user.When = typeIs("Order"), typeIs("Refund"), typeIs("Order")
	s := NewSet(order, refund, user)
	for _, tt := range []struct{ item, want string }{
		{`{"PK":{"S":"R#1"},"Type":{"S":"Order"}}`, "Order"},
		{`{"PK":{"S":"R#1"},"Type":{"S":"Refund"}}`, "Refund"},
		{`{"PK":{"S":"R#1"},"Type":{"S":"Other"}}`, ""},
		{`{"PK":{"S":"U#1"},"Type":{"S":"Order"}}`, "Order"}, // both entities match, and the first one gets the item
	} {
		m, got := image(t, tt.item), ""
		e, err := s.Of(m)
		if e != nil {
			got = e.Name
		}
		if err != nil || got != tt.want {
			t.Errorf("%s is of %q, %v; want %q", tt.item, got, err, tt.want)
		}
		for _, e := range s.All() {
			sc := s.Scope(e.Name)
			if is, err := sc.Match(m); is != (e.Name == tt.want) || err != nil || sc.KeysOnly() {
				t.Errorf("%s is of %s: %v, %v", tt.item, e.Name, is, err)
			}
		}
	}
	bad := image(t, `{"PK":{"S":"R#1"},"Type":{"N":"1"}}`)
	if _, err := s.Of(bad); err == nil {
		t.Error("the error of a condition is lost")
	}
	if _, err := s.Scope("Refund").Match(bad); err == nil {
		t.Error("the error of an earlier condition is lost")
	}
	if is, err := s.Scope("Refund").Match(item.Image{}); is || err != nil {
		t.Errorf("an image that does not exist: %v, %v", is, err)
	}
}

// countedCondition counts how often it is evaluated.
type countedCondition struct {
	typeIs
	n *int
}

func (c countedCondition) Match(m item.Image) (bool, error) {
	*c.n++
	return c.typeIs.Match(m)
}

// Each condition is evaluated at most once for an item, however many entities have its key.
func TestConditions_EvaluatedOnce(t *testing.T) {
	const entities = 12
	n := 0
	var es []*Entity
	for i := range entities {
		e := makeEntity(t, "E"+strconv.Itoa(i), "A#{Id}", "")
		e.When = countedCondition{typeIs(e.Name), &n}
		es = append(es, e)
	}
	last := es[entities-1]
	NewSet(es...)
	is, err := last.Match(image(t, `{"PK":{"S":"A#1"},"Type":{"S":"`+last.Name+`"}}`))
	if !is || err != nil {
		t.Fatalf("the item is of %s: %v, %v", last.Name, is, err)
	}
	if n > entities {
		t.Errorf("%d evaluations of %d conditions", n, entities)
	}
}

func TestScopes(t *testing.T) {
	order := makeEntity(t, "Order", "USER#{UserId}", "ORDER#{Date}#{OrderId}")
	refund := makeEntity(t, "Refund", "REFUND#{OrderId}", "USER#{UserId}")
	order.Unique = []string{"OrderId"}
	s := NewSet(order, refund)
	sc := s.Scope("Order", "Refund", "Nothing")
	var names []string
	for _, b := range sc.Bindings() {
		names = append(names, b.Name())
	}
	if !slices.Equal(names, []string{"UserId", "OrderId"}) || sc.String() != "Order and Refund" || !sc.KeysOnly() || sc.Unique() != nil {
		t.Errorf("the scope of %s binds %q", sc, names)
	}
	id := sc.Binding("OrderId")
	if got := id.Attributes(); !slices.Equal(got, []string{"SK", "PK"}) {
		t.Errorf("OrderId is a part of %q", got)
	}
	for _, tt := range []struct{ item, want string }{
		{`{"PK":{"S":"USER#1"},"SK":{"S":"ORDER#d#7"}}`, "7"},
		{`{"PK":{"S":"REFUND#8"},"SK":{"S":"USER#1"}}`, "8"},
		{`{"PK":{"S":"X"},"SK":{"S":"Y"}}`, ""},
	} {
		if got, _ := id.Value(image(t, tt.item)).Text(); got != tt.want {
			t.Errorf("OrderId of %s is %q, want %q", tt.item, got, tt.want)
		}
	}
	one := s.Scope("Order")
	if one.Binding("Date").EndByte() != "#" || one.Binding("OrderId").EndByte() != "" || one.Unique()[0] != "OrderId" {
		t.Error("a date has no #, an order's id has any text")
	}
	// A scope binds a name only if all its entities bind it in the same way.
	a, b := makeEntity(t, "a", "{Id}#{X}", ""), makeEntity(t, "b", "{X}#{Id}", "")
	if got := NewSet(a, b).Scope("a", "b").Bindings(); len(got) > 0 {
		t.Errorf("%s is bound in two ways", got[0].Name())
	}
	var none *Scope
	if none.Binding("x") != nil || none.Entities() != nil || none.Unique() != nil {
		t.Error("the nil scope has names")
	}
	m := image(t, `{"PK":{"S":"USER#1"},"SK":{"S":"ORDER#d#7"}}`)
	if is, err := none.Match(m); is || err != nil || none.MatchKey(m) || !none.KeysOnly() {
		t.Errorf("an item is of the nil scope: %v, %v", is, err)
	}
	var noSet *Set
	if e, err := noSet.Of(m); e != nil || err != nil {
		t.Errorf("an item is of %v of the nil set, %v", e, err)
	}
}

func TestAllocs(t *testing.T) {
	s := NewSet(makeEntity(t, "User", "USER#{U}", "META"), makeEntity(t, "Order", "USER#{U}", "ORDER#{D}#{O}"))
	m := image(t, `{"PK":{"S":"USER#1"},"SK":{"S":"ORDER#2026-01-02#7"}}`)
	id := s.Scope("Order").Binding("O")
	if n := testing.AllocsPerRun(100, func() {
		_, _ = s.Of(m)
		_ = id.Value(m)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOf(b *testing.B) {
	s := NewSet(makeEntity(b, "User", "USER#{U}", "META"), makeEntity(b, "Order", "USER#{U}", "ORDER#{D}#{O}"))
	m := image(b, `{"PK":{"S":"USER#1"},"SK":{"S":"ORDER#2026-01-02#7"},"Status":{"S":"paid"}}`)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = s.Of(m)
	}
}
