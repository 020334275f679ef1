package search_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
)

// changeOf returns a change of the item PK=p1, SK=x. old and new are the other attributes of its images in DynamoDB
// JSON. "" means that there is no image, and "{}" that the image has only the keys.
func changeOf(t *testing.T, op, old, new string) *record.Change {
	t.Helper()
	const keys = `"PK":{"S":"p1"},"SK":{"S":"x"}`
	image := func(name, rest string) string {
		switch rest {
		case "":
			return ""
		case "{}":
			return `,"` + name + `":{` + keys + `}`
		}
		return `,"` + name + `":{` + keys + `,` + rest + `}`
	}
	view := record.NewAndOldImages
	switch {
	case op == "INSERT" && new == "":
		view = record.KeysOnly
	case op != "INSERT" && op != "EVOLVE" && old == "":
		view = record.NewImage
	}
	raw := `{"eventID":"1","eventName":"` + op + `","eventSource":"aws:dynamodb","awsRegion":"eu-central-1",
		"eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678",
		"dynamodb":{"Keys":{` + keys + `}` + image("OldImage", old) + image("NewImage", new) + `,
		"SequenceNumber":"100000000000000000001","ApproximateCreationDateTime":1767323045,"SizeBytes":10,"StreamViewType":"` + view.String() + `"}}`
	page, err := record.NewDecoder(record.DecoderOptions{}).Decode([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Errors) > 0 {
		t.Fatal(page.Errors[0])
	}
	return &page.Changes[0]
}

const version = "1767323045" + "0000000000000000000" + "100000000000000000001"

func parse(t *testing.T, src string) *template.Template {
	t.Helper()
	tmpl, err := template.Parse(src, template.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// ofType returns a condition that selects the items whose Type is kind. The condition fails for a Type of kind BOOL.
func ofType(kind string) pipeline.ItemConditionFunc {
	return func(image item.Image) (bool, error) {
		v, _ := image.Get("Type")
		if v.Kind() == item.KindBOOL {
			return false, errors.New("a Type is not a BOOL")
		}
		text, _ := v.Text()
		return text == kind, nil
	}
}

func newSink(t *testing.T, o search.Options) *search.Sink {
	t.Helper()
	o.Pipeline = "shop"
	if o.Store == nil {
		o.Store = answers{}
	}
	s, err := search.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// answers is a store that returns prepared results.
type answers struct {
	results []search.Result
	err     error
}

func (a answers) Apply(_ context.Context, ms []search.Mutation) ([]search.Result, error) {
	if len(ms) > 0 && ms[0].Void { // the tombstone that replaces a refused mutation
		return make([]search.Result, len(ms)), nil
	}
	return a.results, a.err
}

func TestPlan(t *testing.T) {
	const product, order = `"Type":{"S":"Product"}`, `"Type":{"S":"Order"}`
	const put, gone = "put document products/p1,x", "delete document products/p1,x"
	for _, test := range []struct {
		name         string
		op, old, new string
		want         string // the mutations, or the reason why there are none
	}{
		{"insert", "INSERT", "", product, put + " (enter, 0 bytes)"},
		{"insert of another", "INSERT", "", order, "when"},
		{"stay", "MODIFY", product, product, put + " (stay, 0 bytes)"},
		{"enter", "MODIFY", order, product, put + " (enter, 0 bytes)"},
		{"leave", "MODIFY", product, order, gone + " (leave, leaves a tombstone)"},
		{"never there", "MODIFY", order, order, "when"},
		{"remove", "REMOVE", product, "", gone + " (removed, leaves a tombstone)"},
		{"remove of another", "REMOVE", order, "", "when"},
		{"modify without an old image", "MODIFY", "", product, put + " (stay, 0 bytes)"},
		{"modify of another without an old image", "MODIFY", "", order, gone + " (leave, leaves a tombstone)"},
		{"remove without an old image", "REMOVE", "", "", gone + " (removed, leaves a tombstone)"},
		{"unknown that puts", "EVOLVE", "", product, put + " (enter, 0 bytes)"},
		{"unknown that changes", "EVOLVE", product, order, gone + " (leave, leaves a tombstone)"},
		{"unknown that removes", "EVOLVE", product, "", gone + " (removed, leaves a tombstone)"},
	} {
		s := newSink(t, search.Options{Index: parse(t, "products"), When: ofType("Product")})
		d := pipeline.Delivery{Change: changeOf(t, test.op, test.old, test.new)}
		if err := s.Plan(&d); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := told(&d); got != test.want {
			t.Errorf("%s: planned %q, want %q", test.name, got, test.want)
		}
	}
}

// told describes the plan of a delivery, without the sizes of documents.
func told(d *pipeline.Delivery) string {
	if d.Outcome == pipeline.NoEffect {
		return d.Reason
	}
	var ops []string
	for _, op := range d.Ops {
		m := *op.(*search.Mutation)
		if !m.Tombstone {
			m.Doc = nil
		}
		ops = append(ops, m.String())
	}
	return strings.Join(ops, "; ")
}

// After an item moves to another index, the old index has no document of the item.
func TestPlanOfMoves(t *testing.T) {
	tenant := func(name string) string { return `"Tenant":{"S":"` + name + `"}` }
	for _, test := range []struct{ op, old, new, want string }{
		{"MODIFY", tenant("a"), tenant("b"), "delete document docs-a/p1,x (move out, leaves a tombstone); put document docs-b/p1,x (move in, 0 bytes)"},
		{"MODIFY", tenant("a"), tenant("a"), "put document docs-a/p1,x (stay, 0 bytes)"},
		{"MODIFY", tenant("a"), "{}", "delete document docs-a/p1,x (leave, leaves a tombstone)"},
		{"MODIFY", "{}", tenant("b"), "put document docs-b/p1,x (enter, 0 bytes)"},
		{"MODIFY", "{}", `"Tenant":{"NULL":true}`, "sparse"},
		{"INSERT", "", tenant(""), "sparse"},
		{"REMOVE", tenant("a"), "", "delete document docs-a/p1,x (removed, leaves a tombstone)"},
		{"REMOVE", "{}", "", "sparse"},
	} {
		d := pipeline.Delivery{Change: changeOf(t, test.op, test.old, test.new)}
		if err := newSink(t, search.Options{Index: parse(t, "docs-{Tenant}")}).Plan(&d); err != nil {
			t.Error(err)
		} else if got := told(&d); got != test.want {
			t.Errorf("%s from %s to %s: planned %q, want %q", test.op, test.old, test.new, got, test.want)
		}
	}
}

// If the condition fails for the old image, Plan assumes that the old image may have a document. The plan of the new
// image removes or replaces that document.
func TestPlanBehindWhatCouldNotBeJudged(t *testing.T) {
	const bad = `"Type":{"BOOL":true}`
	for _, test := range []struct{ op, new, want string }{
		{"MODIFY", `"Type":{"S":"Product"}`, "put document docs/p1,x (stay, 0 bytes)"},
		{"MODIFY", `"Type":{"S":"other"}`, "delete document docs/p1,x (leave, leaves a tombstone)"},
		{"REMOVE", "", "delete document docs/p1,x (removed, leaves a tombstone)"},
	} {
		d := pipeline.Delivery{Change: changeOf(t, test.op, bad, test.new)}
		if err := newSink(t, search.Options{Index: parse(t, "docs"), When: ofType("Product")}).Plan(&d); err != nil {
			t.Error(err)
		} else if got := told(&d); got != test.want {
			t.Errorf("%s to %s: planned %q, want %q", test.op, test.new, got, test.want)
		}
	}
}

func TestPlanErrors(t *testing.T) {
	for _, test := range []struct{ index, op, old, new, want string }{
		{"docs", "INSERT", "", "", "without a new image"},
		{"docs", "MODIFY", "{}", `"Type":{"BOOL":true}`, "a Type is not a BOOL"},
		{"docs-{Tenant}", "MODIFY", `"Type":{"BOOL":true},"Tenant":{"L":[]}`, "{}", "a Type is not a BOOL"},
		{"docs-{Tenant}", "MODIFY", "", `"Type":{"S":"x"}`, "without an old image"},
		{"docs-{Tenant}", "MODIFY", "", `"Type":{"S":"Product"},"Tenant":{"S":"acme"}`, "without an old image"},
		{"docs-{Tenant}", "REMOVE", "", "", "without an old image"},
		{"docs-{Tenant}", "INSERT", "", `"Type":{"S":"Product"},"Tenant":{"S":"Acme"}`, "index_name"},
		{"docs-{Tenant}", "INSERT", "", `"Type":{"S":"Product"},"Tenant":{"L":[]}`, "docs-{Tenant}"},
	} {
		d := pipeline.Delivery{Change: changeOf(t, test.op, test.old, test.new)}
		err := newSink(t, search.Options{Index: parse(t, test.index), When: ofType("Product")}).Plan(&d)
		if err == nil || !strings.Contains(err.Error(), test.want) || len(d.Ops) > 0 {
			t.Errorf("%s into %s: error %v and ops %v, want an error of %q", test.op, test.index, err, d.Ops, test.want)
		}
	}
}

func TestRequires(t *testing.T) {
	if got := newSink(t, search.Options{Index: parse(t, "docs")}).Requires(); got != (pipeline.Needs{New: true}) {
		t.Errorf("one index requires %+v", got)
	}
	if got := newSink(t, search.Options{Index: parse(t, "docs-{Tenant}")}).Requires(); got != (pipeline.Needs{New: true, Old: true}) {
		t.Errorf("an index by attribute requires %+v", got)
	}
}

func TestNew(t *testing.T) {
	good := func() search.Options {
		return search.Options{Pipeline: "shop", Store: answers{}, Index: parse(t, "docs")}
	}
	for want, change := range map[string]func(*search.Options){
		"Pipeline":       func(o *search.Options) { o.Pipeline = "" },
		"Store":          func(o *search.Options) { o.Store = nil },
		"Index is nil":   func(o *search.Options) { o.Index = nil },
		"by the change":  func(o *search.Options) { o.Index = parse(t, "docs-{@time|date:2006}") },
		"Fields.Include": func(o *search.Options) { o.Fields.Include = []string{"Lines[0]"} },
		"Fields.Exclude": func(o *search.Options) { o.Fields.Exclude = []string{"a["} },
		"included too":   func(o *search.Options) { o.Fields.Include, o.Fields.Exclude = []string{"a"}, []string{"a"} },
		"Fields.Rename":  func(o *search.Options) { o.Fields.Rename = map[string]string{"a": "_tw"} },
		"both named":     func(o *search.Options) { o.Fields.Rename = map[string]string{"a": "c", "b": "c"} },
		"Fields.Numbers": func(o *search.Options) { o.Fields.Numbers = map[string]search.Number{"a": "float"} },
		`"scaled_float"`: func(o *search.Options) { o.Fields.Numbers = map[string]search.Number{"a": "float"} },
	} {
		o := good()
		change(&o)
		if _, err := search.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one of %q", err, want)
		}
	}
}

// Fact 23: OpenSearch reports failures of a bulk request for each document. So each change gets the outcome of its own
// mutations, and only the failed change is retried.
func TestFact23_OutcomesPerChange(t *testing.T) {
	s := func(a answers) *search.Sink {
		return newSink(t, search.Options{Index: parse(t, "docs-{Tenant}"), Store: a})
	}
	move := changeOf(t, "MODIFY", `"Tenant":{"S":"a"}`, `"Tenant":{"S":"b"}`)
	stay := changeOf(t, "MODIFY", `"Tenant":{"S":"a"}`, `"Tenant":{"S":"a"}`)
	failure := errors.New("refused")
	written, superseded, coalesced := search.Result{}, search.Result{Outcome: pipeline.Superseded}, search.Result{Outcome: pipeline.Coalesced}
	for _, test := range []struct {
		results []search.Result // the results of both mutations of the move, then the result of the other change
		want    string
	}{
		{[]search.Result{written, written, written}, "written written <nil>"},
		{[]search.Result{superseded, written, superseded}, "written superseded <nil>"},
		{[]search.Result{superseded, superseded, coalesced}, "superseded coalesced <nil>"},
		{[]search.Result{coalesced, superseded, written}, "coalesced written <nil>"},
		{[]search.Result{written, {Err: failure}, written}, "written written 1 deliveries failed; delivery 0: refused"},
		{[]search.Result{written, written, {Err: failure}}, "written written 1 deliveries failed; delivery 1: refused"},
	} {
		sink := s(answers{results: test.results})
		ds := []pipeline.Delivery{{Change: move}, {Change: stay}}
		for i := range ds {
			if err := sink.Plan(&ds[i]); err != nil {
				t.Fatal(err)
			}
		}
		err := sink.Write(t.Context(), ds)
		if got := fmt.Sprint(ds[0].Outcome, " ", ds[1].Outcome, " ", err); got != test.want {
			t.Errorf("results %v make %q, want %q", test.results, got, test.want)
		}
	}

	ds := []pipeline.Delivery{{Change: stay}}
	sink := s(answers{err: failure})
	if err := errors.Join(sink.Plan(&ds[0]), sink.Write(t.Context(), ds)); !errors.Is(err, failure) {
		t.Errorf("the store's failure is reported as %v", err)
	}
	if err := s(answers{}).Write(t.Context(), ds); !pipeline.IsFatal(err) {
		t.Errorf("a store that answers too little: %v, want a fatal error", err)
	}
}

// In a store that orders changes by time, items of a backfill are older than every change of the stream, and are
// ordered by their layer. The time of a write cannot order them: the last write of an item in an export and a change
// after the export may have the same second.
func TestTimeOfABackfill(t *testing.T) {
	s := newSink(t, search.Options{Index: parse(t, "docs")})
	planned := func(c *record.Change) int64 {
		t.Helper()
		d := pipeline.Delivery{Change: c}
		if err := s.Plan(&d); err != nil || len(d.Ops) != 1 {
			t.Fatalf("%d ops, %v", len(d.Ops), err)
		}
		if m := d.Ops[0].(*search.Mutation); !m.Time.IsZero() {
			return m.Time.Unix()
		}
		return 0
	}
	const keys = `{"PK":{"S":"p1"},"SK":{"S":"x"}}`
	for layer, line := range []string{`{"Item":` + keys + `}`, 2: `{"Metadata":{"WriteTimestampMicros":{"N":"1767323045000000"}},"Keys":` + keys + `,"NewImage":` + keys + `,"OldImage":` + keys + `}`} {
		if line == "" {
			continue
		}
		page := record.NewSnapshotDecoder(record.SnapshotOptions{DecoderOptions: record.DecoderOptions{EpochZero: true}, Keys: []string{"PK", "SK"}, Layer: layer}).DecodeLines([]byte(line))
		if len(page.Errors) > 0 {
			t.Fatal(page.Errors[0])
		}
		if got := planned(&page.Changes[0]); got != int64(layer) {
			t.Errorf("layer %d has the second %d", layer, got)
		}
	}
	if got := planned(changeOf(t, "MODIFY", `"a":{"S":"x"}`, `"a":{"S":"y"}`)); got != 1767323045 {
		t.Errorf("a change of the stream has the second %d, want the one of its record", got)
	}
}

// refusing refuses each document, and keeps what it was given.
type refusing struct{ got *[]search.Mutation }

func (r refusing) Apply(_ context.Context, ms []search.Mutation) ([]search.Result, error) {
	*r.got = append(*r.got, ms...)
	results := make([]search.Result, len(ms))
	for i := range ms {
		if !ms[i].Tombstone {
			results[i].Err = errors.New("it does not fit the mapping")
		}
	}
	return results, nil
}

// If a filter drops TTL deletes, an insert may replace the document of an expired item. If the store refuses the new
// document, a void tombstone takes the place of the old one.
func TestRefusedInsert_RemovesAnExpiredDocument(t *testing.T) {
	for _, dropped := range []bool{true, false} {
		var got []search.Mutation
		s := newSink(t, search.Options{Index: parse(t, "docs"), Store: refusing{&got}, NoTTLDeletes: dropped})
		ds := []pipeline.Delivery{{Change: changeOf(t, "INSERT", "", "{}")}}
		if err := s.Plan(&ds[0]); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), ds); err == nil {
			t.Error("a refused document is no error")
		}
		if wrote := len(got) == 2 && got[1].Void; wrote != dropped {
			t.Errorf("TTL deletes are dropped %t: the store got %d mutations", dropped, len(got))
		}
	}
}
