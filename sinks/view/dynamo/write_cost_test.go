package dynamo_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

func attribute(t testing.TB, name, text string) view.Attribute {
	t.Helper()
	tpl, err := template.Parse(text, template.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return view.Attribute{Name: name, Template: tpl}
}

// inserted returns the inserts of items. The key of each item is id.
func inserted(t testing.TB, items ...sinktest.Item) []*record.Change {
	t.Helper()
	var rs []sinktest.Record
	for i, it := range items {
		it["id"] = sinktest.Attr{"S": fmt.Sprintf("item-%d", i)}
		rs = append(rs, sinktest.Record{EventName: "INSERT", Keys: sinktest.Item{"id": it["id"]}, New: it})
	}
	s, err := sinktest.Build(rs...)
	if err != nil {
		t.Fatal(err)
	}
	return s.Changes
}

// The estimated cost of a change equals the capacity that DynamoDB reports.
func TestCostOf(t *testing.T) {
	letters := func(n int) sinktest.Attr { return sinktest.Attr{"S": strings.Repeat("x", n)} }
	number := func(n string) sinktest.Attr { return sinktest.Attr{"N": n} }
	rows := func(o view.Options) func(s *dynamo.Store) (pipeline.Sink, error) {
		return func(s *dynamo.Store) (pipeline.Sink, error) {
			o.Name, o.Pipeline, o.Table, o.Store = "v", "shop", "views", s
			return view.New(o)
		}
	}
	groups := func(values ...view.Value) func(s *dynamo.Store) (pipeline.Sink, error) {
		return func(s *dynamo.Store) (pipeline.Sink, error) {
			return view.NewAggregate(view.AggregateOptions{
				Name: "v", Pipeline: "shop", Table: "views", PK: attribute(t, "PK", "G#{g}"), SK: attribute(t, "SK", "ALL"), Values: values, Store: s,
			})
		}
	}
	self := rows(view.Options{PK: attribute(t, "PK", "{@key}"), SK: attribute(t, "SK", "R"), Attributes: []view.Attribute{attribute(t, "a", "{a}"), attribute(t, "n", "{n?}")}})
	claimed := rows(view.Options{PK: attribute(t, "PK", "G#{g}"), SK: attribute(t, "SK", "R"), Attributes: []view.Attribute{attribute(t, "a", "{a}")}})
	for _, c := range []struct {
		name   string
		sink   func(s *dynamo.Store) (pipeline.Sink, error)
		item   sinktest.Item
		writes float64
		reads  float64
	}{
		{"a small row", self, sinktest.Item{"a": letters(10)}, 4, 0},
		{"a row of 3 KB", self, sinktest.Item{"a": letters(3 << 10), "n": number("-12345678901234567890.123")}, 10, 0},
		{"a row of maps and lists", self, sinktest.Item{"a": {"M": sinktest.Item{"x": {"L": []sinktest.Attr{letters(500), number("0.001"), {"BOOL": true}, {"NULL": true}}}, "y": {"B": "AAEC"}, "z": letters(600)}}}, 6, 0},
		{"a row that items claim", claimed, sinktest.Item{"a": letters(10), "g": letters(3)}, 8, 3},
		{"a large row that items claim", claimed, sinktest.Item{"a": letters(2000), "g": letters(3)}, 16, 3},
		{"a group", groups(view.Value{Name: "n", Kind: "count"}, view.Value{Name: "s", Kind: "sum", Path: "n"}), sinktest.Item{"n": number("1.5"), "g": letters(3)}, 4, 1},
		{"a group with members", groups(view.Value{Name: "lo", Kind: "min", Path: "n"}, view.Value{Name: "d", Kind: "distinct", Path: "a"}), sinktest.Item{"a": letters(3), "n": number("1.5"), "g": letters(3)}, 8, 3},
		{"an item that counts nowhere", groups(view.Value{Name: "n", Kind: "count"}), sinktest.Item{"a": letters(3)}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, s := meteredTable(t)
			sink, err := c.sink(s)
			if err != nil {
				t.Fatal(err)
			}
			// The first change also has the costs of using the target for the first time.
			for i, change := range inserted(t, sinktest.Item{"a": letters(1), "n": number("1"), "g": letters(1)}, c.item) {
				d := pipeline.Delivery{Change: change}
				if err := sink.(pipeline.Planner).Plan(&d); err != nil {
					t.Fatal(err)
				}
				cost, ok := dynamo.CostOf(change, d.Ops)
				m.reset()
				if err := sink.Write(t.Context(), []pipeline.Delivery{d}); err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					continue
				}
				if !ok || cost.WriteUnits != c.writes || cost.ReadUnits != c.reads || cost.Why == "" {
					t.Errorf("it is said to cost %+v (%t), want %v write and %v read units", cost, ok, c.writes, c.reads)
				}
				if m.writes != c.writes || m.reads != c.reads {
					t.Errorf("it consumes %v write and %v read units, want %v and %v", m.writes, m.reads, c.writes, c.reads)
				}
			}
		})
	}
	if c, ok := dynamo.CostOf(nil, nil); ok {
		t.Errorf("nothing costs %+v", c)
	}
}

// For both kinds of tombstones, the estimated cost equals the consumed capacity: for a row that enters, stays, moves or
// leaves, and for an item without a row.
func TestCostOf_Rows(t *testing.T) {
	for _, kind := range []struct {
		inPlace                  bool
		enter, stay, move, leave float64
	}{{false, 4, 1, 8, 4}, {true, 1, 1, 2, 1}} {
		for _, kb := range []float64{1, 3} {
			t.Run(fmt.Sprintf("in place %v, %v KB", kind.inPlace, kb), func(t *testing.T) {
				m, s := meteredTable(t)
				v, err := view.New(view.Options{
					Name: "v", Pipeline: "shop", Table: "views", Store: s, InPlace: kind.inPlace,
					PK: attribute(t, "PK", "G#{g}"), SK: attribute(t, "SK", "{@key}"), Attributes: []view.Attribute{attribute(t, "a", "{a}")},
				})
				if err != nil {
					t.Fatal(err)
				}
				item := func(group string) sinktest.Item {
					it := sinktest.Item{"id": {"S": "1"}, "a": {"S": strings.Repeat("x", int(kb*1024)-600)}}
					if group != "" {
						it["g"] = sinktest.Attr{"S": group}
					}
					return it
				}
				stream, err := sinktest.Build(
					sinktest.Record{EventName: "INSERT", Keys: sinktest.Item{"id": {"S": "1"}}, New: item("")},
					sinktest.Record{EventName: "MODIFY", Keys: sinktest.Item{"id": {"S": "1"}}, Old: item(""), New: item("a")},
					sinktest.Record{EventName: "MODIFY", Keys: sinktest.Item{"id": {"S": "1"}}, Old: item("a"), New: item("a")},
					sinktest.Record{EventName: "MODIFY", Keys: sinktest.Item{"id": {"S": "1"}}, Old: item("a"), New: item("b")},
					sinktest.Record{EventName: "REMOVE", Keys: sinktest.Item{"id": {"S": "1"}}, Old: item("b")},
				)
				if err != nil {
					t.Fatal(err)
				}
				apply(t, s, v.Target(), put("first", 1)) // the first write also has the cost of a new target
				// The additional cost of a large row is paid when the row is put and when it is deleted.
				once, twice := kb-1, 2*(kb-1)
				if kind.inPlace {
					twice = once
				}
				for i, want := range []struct {
					what        string
					said, taken float64
				}{
					{"an item outside", 0, 0},
					{"enters", kind.enter + twice, kind.enter + twice},
					{"stays", kind.stay + once, kind.stay + once},
					{"moves", kind.move + 2*twice, kind.move + 2*twice},
					{"leaves", kind.leave + twice, kind.leave + twice},
				} {
					d := pipeline.Delivery{Change: stream.Changes[i]}
					if err := v.Plan(&d); err != nil {
						t.Fatal(err)
					}
					cost, _ := dynamo.CostOf(d.Change, d.Ops)
					m.reset()
					if err := v.Write(t.Context(), []pipeline.Delivery{d}); err != nil {
						t.Fatal(err)
					}
					if cost.WriteUnits != want.said || cost.ReadUnits != 0 || m.writes != want.taken || m.reads != 0 {
						t.Errorf("%s: it is said to cost %+v, want %v write units; it consumes %v write and %v read units, want %v and none",
							want.what, cost, want.said, m.writes, m.reads, want.taken)
					}
				}
			})
		}
	}
}

// The estimated cost of every change in random streams equals the capacity that DynamoDB reports. Rows and
// contributions in these streams enter, grow, shrink, stay, move and leave.
func TestCostOf_RandomStreams(t *testing.T) {
	rows := func(o view.Options) func(s *dynamo.Store) (pipeline.Sink, error) {
		return func(s *dynamo.Store) (pipeline.Sink, error) {
			o.Name, o.Pipeline, o.Table, o.Store, o.Birth = "v", "shop", "views", s, "birthbirthbirths"
			o.Attributes = []view.Attribute{attribute(t, "a", "{a?}"), attribute(t, "n", "{n?}")}
			return view.New(o)
		}
	}
	group := attribute(t, "PK", "G#{g}")
	for name, open1 := range map[string]func(s *dynamo.Store) (pipeline.Sink, error){
		"apart":    rows(view.Options{PK: group, SK: attribute(t, "SK", "{@key}")}),
		"in place": rows(view.Options{PK: group, SK: attribute(t, "SK", "{@key}"), InPlace: true}),
		"claims":   rows(view.Options{PK: group, SK: attribute(t, "SK", "R")}),
		"groups": func(s *dynamo.Store) (pipeline.Sink, error) {
			return view.NewAggregate(view.AggregateOptions{Name: "v", Pipeline: "shop", Table: "views", Birth: "birthbirthbirths", PK: group, SK: attribute(t, "SK", "ALL"), Store: s,
				Values: []view.Value{{Name: "n", Kind: "count"}, {Name: "s", Kind: "sum", Path: "n"}}})
		},
	} {
		run := func(t *testing.T, seed uint64) {
			m, s := meteredTable(t)
			sink, err := open1(s)
			if err != nil {
				t.Fatal(err)
			}
			said, taken, what := 0.0, 0.0, ""
			for i, c := range randomStream(t, rand.New(rand.NewPCG(seed, 0)), name == "groups") {
				d := pipeline.Delivery{Change: c}
				if err := sink.(pipeline.Planner).Plan(&d); err != nil {
					t.Fatal(err)
				}
				cost, _ := dynamo.CostOf(c, d.Ops)
				m.reset()
				if err := sink.Write(t.Context(), []pipeline.Delivery{d}); err != nil {
					t.Fatal(err)
				}
				if i < 3 {
					continue // the first change uses a new target, and the first changes of each group create a row that stays
				}
				if what == "" && (cost.WriteUnits != m.writes || cost.ReadUnits != m.reads) {
					what = fmt.Sprintf("change %d, %v is said to cost %+v and consumes %v write and %v read units", i, d.Ops, cost, m.writes, m.reads)
				}
				said, taken = said+cost.WriteUnits, taken+m.writes
			}
			if what != "" {
				t.Errorf("seed %d: %.900s; of all %v and %v write units", seed, what, said, taken)
			}
		}
		t.Run(name, func(t *testing.T) { run(t, uint64(time.Now().UnixNano())) })
		t.Run(name+", where the claims on a row are 4 KB", func(t *testing.T) { run(t, 1795410328805489539) })
	}
}

// randomStream returns the changes of items in separate groups, or also in two shared groups.
func randomStream(t testing.TB, r *rand.Rand, shared bool) []*record.Change {
	t.Helper()
	var rs []sinktest.Record
	add := func(id string, before, after sinktest.Item) {
		event := "MODIFY"
		switch {
		case before == nil:
			event = "INSERT"
		case after == nil:
			event = "REMOVE"
		}
		rs = append(rs, sinktest.Record{EventName: event, Keys: sinktest.Item{"id": {"S": id}}, Old: before, New: after})
	}
	for i := range 3 {
		g := "stays" + fmt.Sprint(i)
		if shared {
			g = fmt.Sprint(i % 2)
		}
		add("first"+fmt.Sprint(i), nil, sinktest.Item{"id": {"S": "first" + fmt.Sprint(i)}, "g": {"S": g}, "n": {"N": "1"}})
	}
	var before sinktest.Item
	for range 60 {
		var after sinktest.Item
		if before == nil || r.IntN(6) > 0 {
			after = sinktest.Item{"id": {"S": "1"}, "n": {"N": fmt.Sprint(r.IntN(1000))}}
			if r.IntN(4) > 0 {
				after["a"] = sinktest.Attr{"S": strings.Repeat("x", r.IntN(1+5000*r.IntN(3)))}
			}
			if r.IntN(5) > 0 {
				after["g"] = sinktest.Attr{"S": fmt.Sprint(r.IntN(2))}
			}
		}
		add("1", before, after)
		before = after
	}
	s, err := sinktest.Build(rs...)
	if err != nil {
		t.Fatal(err)
	}
	return s.Changes
}

// The computed size of an item is its size in DynamoDB: with one byte more, a write costs one more unit.
func TestSizes(t *testing.T) {
	m, s := meteredTable(t)
	table := view.Target{Table: orders.Table, View: "v", Pipeline: "shop", InPlace: true, Birth: "birthbirthbirths"}
	apply(t, s, table, put("first", 1))
	for i, v := range []string{
		`{"S":"é😀"}`, `{"B":"AAEC"}`, `{"BOOL":true}`, `{"NULL":true}`, `{"SS":["a","bcd"]}`, `{"BS":["AAEC"]}`, `{"NS":["12","3"]}`,
		`{"M":{"a":{"S":"xyz"},"b":{"M":{}}}}`, `{"L":[{"S":"xyz"},{"L":[]},{"BOOL":false}]}`,
		`{"N":"0"}`, `{"N":"1"}`, `{"N":"12"}`, `{"N":"123"}`, `{"N":"1200"}`, `{"N":"12000"}`, `{"N":"-12"}`, `{"N":"1.5"}`, `{"N":"0.05"}`, `{"N":"0.005"}`,
		`{"N":"12345678901234567890123456789012345678"}`, `{"N":"-0.00000012345"}`, `{"N":"1000000000000000000000000000000000000"}`,
	} {
		m1 := put(fmt.Sprint(i), 1, column(t, "v", v), column(t, "fill", `{"S":""}`))
		d := pipeline.Delivery{Change: &record.Change{}, Ops: []pipeline.Op{&view.Op{Target: &table, Mutation: m1}}}
		empty, _ := dynamo.CostOf(d.Change, d.Ops)
		var bytes int
		if _, err := fmt.Sscanf(empty.Why, "1 conditional put, %d bytes", &bytes); err != nil {
			t.Fatal(empty.Why)
		}
		for _, over := range []int{0, 1} {
			m1.Attributes[1].Value = item.StringValue(strings.Repeat("x", 1024-bytes+over))
			m1.Version = version(t, 2+over)
			m.reset()
			apply(t, s, table, m1)
			if want := float64(1 + over); m.writes != want {
				t.Errorf("%s, filled up to %d bytes: a write takes %v units, want %v", v, 1024+over, m.writes, want)
			}
		}
	}
}

// A change that is too large costs nothing, and its plan says that it goes to dead letters.
func TestCostOf_TooLarge(t *testing.T) {
	large := sinktest.Attr{"S": strings.Repeat("x", 400<<10)}
	var long []sinktest.Attr
	for range 400 {
		long = append(long, sinktest.Attr{"S": strings.Repeat("k", 1010)})
	}
	options := func(sk string, more func(*view.Options)) view.Options {
		o := view.Options{Name: "v", Pipeline: "shop", Table: "views"}
		for at, source := range map[*view.Attribute]string{&o.PK: "{@key}", &o.SK: sk} {
			parsed, err := template.Parse(source, template.Options{Each: true, Identity: true})
			if err != nil {
				t.Fatal(err)
			}
			at.Template = parsed
		}
		o.PK.Name, o.SK.Name = "PK", "SK"
		more(&o)
		return o
	}
	ofLines := func(o *view.Options) { o.ForEach = sinktest.LinesBy("") }
	attributes := []view.Attribute{attribute(t, "a", "{a}")}
	for name, c := range map[string]struct {
		o    view.Options
		want string
	}{
		"a row":             {options("R", func(o *view.Options) { o.Attributes = attributes }), "the row would be an item of"},
		"a row in place":    {options("R", func(o *view.Options) { o.Attributes, o.InPlace = attributes, true }), "the row would be an item of"},
		"a row of elements": {options("{@each}", func(o *view.Options) { ofLines(o); o.Attributes = attributes }), "the row would be an item of"},
		"keys of elements":  {options("{@each}#{each}", ofLines), "make these keys shorter, or split the item"},
	} {
		t.Run(name, func(t *testing.T) {
			sink, err := view.New(c.o)
			if err != nil {
				t.Fatal(err)
			}
			d := pipeline.Delivery{Change: inserted(t, sinktest.Item{"a": large, "Lines": {"L": long}})[0]}
			if err := sink.Plan(&d); err != nil {
				t.Fatal(err)
			}
			cost, ok := dynamo.CostOf(d.Change, d.Ops)
			if !ok || cost.WriteUnits != 0 || !strings.Contains(cost.Why, "dead letters") || !strings.Contains(cost.Why, c.want) {
				t.Errorf("it is said to cost %+v (%t)", cost, ok)
			}
		})
	}
}
