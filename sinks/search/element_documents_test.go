package search_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/elements"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

func elementsAt(t *testing.T, path, by string) *elements.Spec {
	t.Helper()
	p, err := item.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	return &elements.Spec{Path: p, By: by, Max: 3}
}

// lines returns an attribute Lines in DynamoDB JSON. Each line has the quantity 1.
func lines(skus ...string) string {
	list := make([]string, len(skus))
	for i, sku := range skus {
		list[i] = fmt.Sprintf(`{"M":{"sku":{"S":%q},"qty":{"N":"1"}}}`, sku)
	}
	return `"Lines":{"L":[` + strings.Join(list, ",") + `]}`
}

// planned returns the mutations of a change and the error of Plan as text. If there are no mutations, it returns the
// reason.
func planned(t *testing.T, s *search.Sink, op, before, after string) string {
	t.Helper()
	d := pipeline.Delivery{Change: changeOf(t, op, before, after)}
	err := s.Plan(&d)
	texts := make([]string, 0, len(d.Ops)+1)
	for _, op := range d.Ops {
		text := op.(*search.Mutation).String()
		if at := strings.Index(text, ", leaves"); at >= 0 {
			text = text[:at] + ")"
		} else if at := strings.LastIndex(text, ", "); at >= 0 && !strings.Contains(text, "dead letters") {
			text = text[:at] + ")"
		}
		texts = append(texts, text)
	}
	if len(d.Ops) == 0 {
		texts = append(texts, d.Reason)
	}
	if err != nil {
		texts = append(texts, "error: "+err.Error())
	}
	return strings.Join(texts, "; ")
}

func TestPlan_ForEach(t *testing.T) {
	when := sinktest.ElementCondition{ItemCondition: ofType("Order"), Element: sinktest.HasQuantity}
	s := newSink(t, search.Options{Index: parse(t, "lines"), When: when, ForEach: elementsAt(t, "Lines", "sku")})
	const order = `"Type":{"S":"Order"},`
	const put, gone = "put document lines/p1,x::", "delete document lines/p1,x::"
	for name, test := range map[string]struct{ op, before, after, want string }{
		"an insert":                    {"INSERT", "", order + lines("a", "b"), put + "a (enter); " + put + "b (enter)"},
		"an escaped identity":          {"INSERT", "", order + lines("a:/b"), put + "a%3A%2Fb (enter)"},
		"one leaves, one comes":        {"MODIFY", order + lines("a", "b"), order + lines("b", "c"), put + "b (stay); " + put + "c (enter); " + gone + "a (leave)"},
		"the list goes":                {"MODIFY", order + lines("a"), order + `"Lines":{"NULL":true}`, gone + "a (leave)"},
		"the condition leaves":         {"MODIFY", order + lines("a"), `"Type":{"S":"Draft"},` + lines("a"), gone + "a (leave)"},
		"a delete":                     {"REMOVE", order + lines("a", "b"), "", gone + "a (removed); " + gone + "b (removed)"},
		"a delete of none":             {"REMOVE", order + `"Lines":{"L":[]}`, "", "sparse"},
		"none before, none after":      {"MODIFY", lines("a"), lines("b"), "when"},
		"an element without identity":  {"INSERT", "", order + `"Lines":{"L":[{"M":{"qty":{"N":"1"}}}]}`, "sparse"},
		"an element the condition has": {"INSERT", "", order + `"Lines":{"L":[{"M":{"sku":{"S":"a"}}}]}`, "when"},
		"equal identities":             {"MODIFY", order + lines("a"), order + lines("b", "b"), "delete document lines/p1,x::a (leave)"},
		"equal identities at first":    {"INSERT", "", order + lines("b", "b"), "; error: search: the elements 0 and 1 of Lines have the same identity (sku)"},
		"after equal identities":       {"MODIFY", order + lines("b", "b"), order + lines("b"), put + "b (enter)"},
		"too many":                     {"MODIFY", order + lines("a"), order + lines("a", "b", "c", "d"), gone + "a (leave)"},
		"after too many":               {"MODIFY", order + lines("a", "b", "c", "d"), order + lines("a"), put + "a (stay); " + gone + "b (leave); " + gone + "c (leave); " + gone + "d (leave)"},
		"no list":                      {"MODIFY", order + lines("a"), order + `"Lines":{"S":"a"}`, gone + "a (leave)"},
		"no old image":                 {"MODIFY", "", order + lines("a"), "; error: search: a MODIFY without an old image: only it tells which elements of Lines left"},
	} {
		if got := planned(t, s, test.op, test.before, test.after); got != test.want && !strings.HasPrefix(got, test.want+"; error: ") && !strings.HasPrefix(got, test.want+": it must") {
			t.Errorf("%s:\n got %s\nwant %s", name, got, test.want)
		}
	}
}

// If the elements of the new image are invalid, Plan replaces each document of the item by a void tombstone. The change
// fails after the tombstones are written.
func TestPlan_ForEachFails(t *testing.T) {
	s := newSink(t, search.Options{Index: parse(t, "lines"), ForEach: elementsAt(t, "Lines", "sku"), Store: answers{results: make([]search.Result, 2)}})
	d := pipeline.Delivery{Change: changeOf(t, "MODIFY", lines("a", "b"), lines("c", "c"))}
	if err := s.Plan(&d); err != nil {
		t.Fatal(err)
	}
	for _, op := range d.Ops {
		if m := op.(*search.Mutation); !m.Tombstone || !m.Void {
			t.Errorf("%s is no void tombstone", m)
		}
	}
	err := s.Write(t.Context(), []pipeline.Delivery{d})
	if failed, ok := errors.AsType[*pipeline.BatchError](err); !ok || !strings.Contains(failed.Error(), "the same identity") {
		t.Errorf("the change did not fail with what its elements are: %v", err)
	}
}

// If the index depends on the item, all documents of the item move together.
func TestPlan_ForEachMoves(t *testing.T) {
	s := newSink(t, search.Options{Index: parse(t, "lines-{Year}"), ForEach: elementsAt(t, "Lines", "sku")})
	got := planned(t, s, "MODIFY", `"Year":{"S":"1"},`+lines("a", "b"), `"Year":{"S":"2"},`+lines("b", "c"))
	const want = "put document lines-2/p1,x::b (move in); put document lines-2/p1,x::c (enter); " +
		"delete document lines-1/p1,x::a (leave); delete document lines-1/p1,x::b (move out)"
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// A document has the element in place of its list, set or map. Fields have the same names as without ForEach.
func TestForEach_Documents(t *testing.T) {
	hidden := func(patterns ...string) *mask.Mask {
		var ps []item.Pattern
		for _, p := range patterns {
			pattern, err := item.ParsePattern(p)
			if err != nil {
				t.Fatal(err)
			}
			ps = append(ps, pattern)
		}
		m, err := mask.New(ps, []byte("any"))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	const keys = `"PK":"p1","SK":"x"`
	for name, test := range map[string]struct {
		path, by string
		fields   search.Fields
		mask     *mask.Mask
		attrs    string
		want     string // the ids and the documents, without _tw
	}{
		"a list": {path: "Lines", by: "sku", attrs: `"Total":{"N":"2"},` + lines("a", "b"),
			want: `p1,x::a {` + keys + `,"Total":2,"Lines":{"sku":"a","qty":1}} p1,x::b {` + keys + `,"Total":2,"Lines":{"sku":"b","qty":1}}`},
		"by position": {path: "Lines", attrs: lines("a", "b"),
			want: `p1,x::0 {` + keys + `,"Lines":{"sku":"a","qty":1}} p1,x::1 {` + keys + `,"Lines":{"sku":"b","qty":1}}`},
		"fields": {path: "Lines", by: "sku", attrs: `"Total":{"N":"2"},` + lines("a"),
			fields: search.Fields{Include: []string{"Lines.sku", "PK"}, Rename: map[string]string{"Lines": "line", "Lines.sku": "code"}},
			want:   `p1,x::a {"PK":"p1","line":{"code":"a"}}`},
		"numbers": {path: "Lines", by: "sku", attrs: lines("a"),
			fields: search.Fields{Include: []string{"Lines"}, Numbers: map[string]search.Number{"Lines.qty": search.NumberString}},
			want:   `p1,x::a {"Lines":{"sku":"a","qty":"1"}}`},
		"a set":             {path: "Tags", attrs: `"Tags":{"SS":["b c","d"]}`, fields: search.Fields{Include: []string{"Tags"}}, want: `p1,x::b%20c {"Tags":"b c"} p1,x::d {"Tags":"d"}`},
		"a map":             {path: "In.Prices", attrs: `"In":{"M":{"Other":{"N":"1"},"Prices":{"M":{"eu":{"N":"1"},"us":{"N":"2"}}}}}`, fields: search.Fields{Include: []string{"In"}}, want: `p1,x::eu {"In":{"Other":1,"Prices":1}} p1,x::us {"In":{"Other":1,"Prices":2}}`},
		"hidden":            {path: "Lines", by: "sku", mask: hidden("Lines[*].qty"), attrs: lines("a"), want: `p1,x::a {` + keys + `,"Lines":{"sku":"a"}}`},
		"hidden as a whole": {path: "Lines", mask: hidden("Lines"), attrs: lines("a"), want: `p1,x::masked {` + keys + `}`},
	} {
		s := newSink(t, search.Options{Index: parse(t, "lines"), ForEach: elementsAt(t, test.path, test.by), Fields: test.fields, Mask: test.mask})
		d := pipeline.Delivery{Change: changeOf(t, "INSERT", "", test.attrs)}
		if err := s.Plan(&d); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, op := range d.Ops {
			m := op.(*search.Mutation)
			id := m.ID
			if before, _, masked := strings.Cut(id, "masked-"); masked {
				id = before + "masked"
			}
			_, rest, _ := strings.Cut(string(m.Doc), `"by":"shop"}`)
			got = append(got, id+" {"+strings.TrimPrefix(rest, ","))
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, text, test.want)
		}
	}
}

func TestElementID(t *testing.T) {
	const key = item.Key("p1,x")
	for identity, want := range map[string]item.Key{"a": key, "a::b": key, strings.Repeat("a", 600): ""} {
		id := search.ElementID(key, identity)
		if got := search.ItemOf(id); got != want || len(id) > 512 {
			t.Errorf("the item of %s is %q, want %q", id, got, want)
		}
	}
	if id := search.ElementID("sha256", "a"); id != "sha256::a" || strings.HasPrefix(id, "sha256:a") {
		t.Errorf("%s may be the id of a long key", id)
	}
}

func TestNew_ForEachRefuses(t *testing.T) {
	each := func(src string) *template.Template {
		tmpl, err := template.Parse(src, template.Options{Each: true, Identity: true})
		if err != nil {
			t.Fatal(err)
		}
		return tmpl
	}
	for want, o := range map[string]search.Options{
		"the path Lines[0] is into a list":              {Index: parse(t, "lines"), ForEach: elementsAt(t, "Lines[0]", "")},
		"the name of the index reads the element":       {Index: each("lines-{each.sku}"), ForEach: elementsAt(t, "Lines", "")},
		"the routing reads the element":                 {Index: parse(t, "lines"), Routing: each("{PK}{@each}"), ForEach: elementsAt(t, "Lines", "")},
		`Routing "{each.sku}": {each.sku} is not a key`: {Index: parse(t, "lines"), Routing: each("{each.sku}"), ForEach: elementsAt(t, "Lines", "")},
	} {
		o.Pipeline, o.Store = "shop", answers{}
		if _, err := search.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
