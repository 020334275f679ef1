package search_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

const hmacKey = "a secret of the test"

// hashed returns the hash of a text, the same as that of `openssl dgst -sha256 -hmac`.
func hashed(text string) string {
	mac := hmac.New(sha256.New, []byte(hmacKey))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

func planOf(t *testing.T, o search.Options, c *record.Change) *search.Mutation {
	t.Helper()
	o.Index = parse(t, "docs")
	d := pipeline.Delivery{Change: c}
	if err := newSink(t, o).Plan(&d); err != nil {
		t.Fatal(err)
	}
	return d.Ops[len(d.Ops)-1].(*search.Mutation)
}

func TestHashedFields(t *testing.T) {
	c := changeOf(t, "INSERT", "", `"Email":{"S":"ada@example.com"},"Total":{"N":"1.50"},"Yes":{"BOOL":true},"Bin":{"B":"+/8="},"None":{"NULL":true},
		"Tags":{"SS":["a","b"]},"Address":{"M":{"City":{"S":"K"},"Geo":{"L":[{"N":"1"}]}}},"Lines":{"L":[{"M":{"sku":{"S":"s1"},"qty":{"N":"2"}}}]}`)
	o := search.Options{HMACKey: []byte(hmacKey), Fields: search.Fields{
		Exclude: []string{"PK", "SK"},
		Hash:    []string{"Email", "Total", "Yes", "Bin", "None", "Tags", "Address", "Lines.sku"},
		Rename:  map[string]string{"Email": "mail"},
		Numbers: map[string]search.Number{"Total": search.NumberString},
	}}
	q := func(text string) string { return `"` + hashed(text) + `"` }
	want := `"mail":` + q("ada@example.com") + `,"Total":` + q("1.5") + `,"Yes":` + q("true") + `,"Bin":` + q("-_8") + `,"None":null,` +
		`"Tags":[` + q("a") + "," + q("b") + `],"Address":{"City":` + q("K") + `,"Geo":[` + q("1") + `]},"Lines":[{"sku":` + q("s1") + `,"qty":2}]}`
	if doc := string(planOf(t, o, c).Doc); !strings.HasSuffix(doc, "},"+want) {
		t.Errorf("the document is\n%s, want\n%s", doc, want)
	}
}

// Hidden values are left out of documents, also inside lists. A hidden value that is hashed stays in the document as
// its hash.
func TestMaskedDocuments(t *testing.T) {
	c := changeOf(t, "INSERT", "", `"Email":{"S":"canary"},"Phone":{"S":"canary"},"Address":{"M":{"City":{"S":"K"},"Street":{"S":"canary"}}},
		"Lines":{"L":[{"M":{"sku":{"S":"s1"},"serial":{"S":"canary"},"note":{"S":"canary"}}}]},"Tags":{"SS":["canary"]}`)
	o := search.Options{HMACKey: []byte(hmacKey), Mask: sinktest.Mask(t, "Email", "Phone", "Address.Street", "Lines[*].serial", "Lines[*].note", "Tags[*]"), Fields: search.Fields{
		Exclude: []string{"PK", "SK"}, Hash: []string{"Phone", "Lines.serial"},
	}}
	want := `"Phone":"` + hashed("canary") + `","Address":{"City":"K"},"Lines":[{"sku":"s1","serial":"` + hashed("canary") + `"}]}`
	if doc := string(planOf(t, o, c).Doc); !strings.HasSuffix(doc, "},"+want) {
		t.Errorf("the document is\n%s, want\n%s", doc, want)
	}
	o.Fields = search.Fields{}
	if doc := string(planOf(t, o, c).Doc); strings.Contains(doc, "canary") || !strings.Contains(doc, `"PK":"p1"`) {
		t.Errorf("the document is %s", doc)
	}
	o.Mask = sinktest.Mask(t, "Address")
	d := pipeline.Delivery{Change: c}
	o.Index = parse(t, "docs-{Address.City|index_name}")
	if err := newSink(t, o).Plan(&d); err != nil {
		t.Fatal(err)
	}
	if op := d.Ops[0].String(); !strings.Contains(op, " docs-masked-") {
		t.Errorf("an index named by what is hidden is named in %s", op)
	}
}

// An id made by HMAC shows nothing of the key, and never changes for an item.
func TestHashedID(t *testing.T) {
	o := search.Options{HMACKey: []byte(hmacKey), HashID: true}
	put := planOf(t, o, changeOf(t, "INSERT", "", `"A":{"S":"a"}`))
	gone := planOf(t, o, changeOf(t, "REMOVE", `"A":{"S":"a"}`, ""))
	if want := "hmac:" + hashed("id:p1,x"); put.ID != want || gone.ID != want || !gone.Tombstone {
		t.Errorf("the ids are %s and %s, want %s", put.ID, gone.ID, want)
	}
	o = search.Options{Mask: sinktest.Mask(t, "PK")}
	if m := planOf(t, o, changeOf(t, "REMOVE", `"A":{"S":"a"}`, "")); !strings.HasPrefix(m.ID, "masked-") || !strings.HasSuffix(m.ID, ",x") {
		t.Errorf("of a hidden key the id is %s", m.ID)
	}
	if id := search.DocumentID("p1,x"); id != "p1,x" {
		t.Errorf("without a hash the id is %s", id)
	}
}

func TestHashNeedsKey(t *testing.T) {
	for _, o := range []search.Options{{HashID: true}, {Fields: search.Fields{Hash: []string{"Email"}}}} {
		o.Pipeline, o.Store, o.Index = "shop", answers{}, parse(t, "docs")
		if _, err := search.New(o); err == nil || !strings.Contains(err.Error(), "HMACKey is empty") {
			t.Errorf("without a key: %v", err)
		}
	}
	deep := strings.TrimSuffix(strings.Repeat("a.", 9), ".")
	for _, path := range []string{"Lines[0]", "", deep} {
		o := search.Options{Pipeline: "shop", Store: answers{}, Index: parse(t, "docs"), HMACKey: []byte("k"), Mask: sinktest.Mask(t, "b"), Fields: search.Fields{Hash: []string{path}}}
		if _, err := search.New(o); err == nil || !strings.Contains(err.Error(), "Hash") {
			t.Errorf("hash of %q: %v", path, err)
		}
	}
}
