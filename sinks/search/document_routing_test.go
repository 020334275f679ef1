package search_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/elements"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// Both mutations of a move have the same routing. The routing depends only on the key, so no image is needed.
func TestRouting(t *testing.T) {
	secret := []byte("0123456789abcdef")
	pattern, err := item.ParsePattern("PK")
	if err != nil {
		t.Fatal(err)
	}
	mask, err := mask.New([]item.Pattern{pattern}, secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		routing string
		with    search.Options
		want    string
	}{
		{"{PK}", search.Options{}, "p1"},
		{"{PK}#{SK|upper}", search.Options{}, "p1#X"},
		{"{@key}", search.Options{}, "p1,x"},
		{"{PK|after:#}", search.Options{}, ""},
		{"{PK}", search.Options{Mask: mask}, mask.Text("p1")},
		{"{PK}", search.Options{HashID: true, HMACKey: secret}, hmacOf(secret, "routing:p1")},
	} {
		o := test.with
		o.Index, o.Routing = parse(t, "docs-{Tenant}"), parse(t, test.routing)
		d := pipeline.Delivery{Change: changeOf(t, "MODIFY", `"Tenant":{"S":"a"}`, `"Tenant":{"S":"b"}`)}
		if err := newSink(t, o).Plan(&d); err != nil {
			t.Errorf("%s: %v", test.routing, err)
			continue
		}
		if len(d.Ops) != 2 {
			t.Fatalf("%s: planned %v", test.routing, d.Ops)
		}
		for _, op := range d.Ops {
			if shown := strings.Contains(op.String(), ", routing "+test.want+")"); shown != (test.want != "") {
				t.Errorf("%s: explain shows %q", test.routing, op)
			}
			if got := op.(*search.Mutation).Routing; got != test.want {
				t.Errorf("%s: %s is routed by %q, want %q", test.routing, op, got, test.want)
			}
		}
	}
}

func hmacOf(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

func TestRouting_Refused(t *testing.T) {
	for routing, want := range map[string]string{
		"{@version}":     "differs from change to change",
		"{@time}":        "differs from change to change",
		"fixed":          "all documents would be in one shard",
		"{Address.City}": "{Address.City} is not a key attribute",
		"{Tags[0]}":      "{Tags[0]} is not a key attribute",
	} {
		_, err := search.New(search.Options{Pipeline: "shop", Store: answers{}, Index: parse(t, "docs"), Routing: parse(t, routing)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error of %q", routing, err, want)
		}
	}
	// New does not know the key attributes of the table. Plan reads them from the change.
	for _, routing := range []string{"{Tenant}", "{PK}{Tenant?}"} {
		d := pipeline.Delivery{Change: changeOf(t, "INSERT", "", `"Tenant":{"S":"a"}`)}
		err := newSink(t, search.Options{Index: parse(t, "docs"), Routing: parse(t, routing)}).Plan(&d)
		if err == nil || !strings.Contains(err.Error(), "{Tenant} is not a key attribute") || len(d.Ops) > 0 {
			t.Errorf("%s: planned %v, %v", routing, d.Ops, err)
		}
	}
}

// If the store forgets tombstones, a change older than the retention is refused, because the store may have forgotten a
// newer delete. A store younger than the retention has forgotten nothing yet. The other changes of the batch are
// written.
func TestRetention(t *testing.T) {
	old := changeOf(t, "INSERT", "", "{}")
	old.Time = time.Now().Add(-31 * 24 * time.Hour)
	fresh := changeOf(t, "INSERT", "", "{}")
	fresh.Time = time.Now()
	for name, test := range map[string]struct {
		of      state.StoreAge
		refuses bool
	}{
		"a store that forgets":      {state.StoreAge{Forgets: true}, true},
		"a young store":             {state.StoreAge{Forgets: true, Born: time.Now().Add(-time.Hour)}, false},
		"a store that remembers it": {state.StoreAge{}, false},
	} {
		results := make([]search.Result, 2)
		if test.refuses {
			results = results[:1]
		}
		s := newSink(t, search.Options{Index: parse(t, "docs"), Store: answers{results: results}, Retention: state.Retention{StoreAge: test.of}})
		ds := []pipeline.Delivery{{Change: old}, {Change: fresh}}
		for i := range ds {
			if err := s.Plan(&ds[i]); err != nil {
				t.Fatal(err)
			}
		}
		err := s.Write(t.Context(), ds)
		failed, _ := errors.AsType[*pipeline.BatchError](err)
		switch {
		case !test.refuses && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.refuses && (failed == nil || len(failed.Failed) != 1):
			t.Errorf("%s: %v, want the old one to be refused alone", name, err)
		case test.refuses:
			if _, ok := errors.AsType[*state.TooOldError](failed.Failed[0]); !ok {
				t.Errorf("%s: %v", name, failed.Failed[0])
			}
		}
	}
}

// A REMOVE without an old image, in a view type that has old images, is a line of an incremental export. The item was
// inserted and removed within the time of the export, so it never had a document.
func TestRemoveOfAnItemThatCameAndWent(t *testing.T) {
	for _, index := range []string{"docs", "docs-{Status}"} {
		c := *changeOf(t, "REMOVE", `"Status":{"S":"paid"}`, "")
		c.Old = item.Image{}
		d := pipeline.Delivery{Change: &c}
		if err := newSink(t, search.Options{Index: parse(t, index)}).Plan(&d); err != nil || len(d.Ops) > 0 || d.Outcome != pipeline.NoEffect {
			t.Errorf("%s: planned %v, %v, %v, want no effect", index, d.Ops, d.Outcome, err)
		}
	}
}

// An item without a document needs no routing. So a record that Lambda's filter could drop because of `when` does not
// become a dead letter.
func TestRouting_WithoutDocument(t *testing.T) {
	never := pipeline.ItemConditionFunc(func(item.Image) (bool, error) { return false, nil })
	lines, err := item.ParsePath("Lines")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []search.Options{{When: never}, {When: never, ForEach: &elements.Spec{Path: lines}}, {ForEach: &elements.Spec{Path: lines}}} {
		o.Index, o.Routing = parse(t, "docs"), parse(t, "{Tenant}")
		d := pipeline.Delivery{Change: changeOf(t, "MODIFY", `"Tenant":{"S":"a"}`, `"Tenant":{"S":"b"}`)}
		if err := newSink(t, o).Plan(&d); err != nil || d.Outcome != pipeline.NoEffect {
			t.Errorf("planned %v, %v", d.Ops, err)
		}
	}
}
