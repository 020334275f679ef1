package opensearch_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

func parse(tb testing.TB, src string) *template.Template {
	tb.Helper()
	tmpl, err := template.Parse(src, template.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return tmpl
}

// New refuses a mapping that no index can be created from. It sends no request.
func TestMapping_Refused(t *testing.T) {
	scaled := search.Fields{
		Numbers: map[string]search.Number{"Price": search.NumberScaledFloat},
		Rename:  map[string]string{"Price": "cost"},
	}
	inside := search.Fields{Numbers: map[string]search.Number{"Lines": search.NumberScaledFloat}}
	for _, test := range []struct {
		mapping string
		fields  search.Fields
		want    string // "" means that New accepts the mapping
	}{
		{mapping: ``},
		{mapping: `{}`},
		{mapping: `{"properties":{"Name":{"type":"text"}}}`},
		{mapping: `{"settings":{"number_of_shards":1}}`},
		{mapping: `[]`, want: "not a JSON object"},
		{mapping: `{"settings":{},"aliases":{}}`, want: `"aliases" stands beside settings and mappings`},
		{mapping: `{"mappings":[]}`, want: `"mappings" is no object`},
		{mapping: `{"properties":1}`, want: `"properties" is no object`},
		{mapping: `{"properties":{"_tw":{"type":"object"}}}`, want: "maps _tw"},
		{mapping: `{"mappings":{"properties":{"_tw.version":{"type":"text"}}}}`, want: "maps _tw"},
		{mapping: `{"_source":{"enabled":false}}`, want: "_source"},
		{mapping: `{"properties":{"cost":{"type":"scaled_float","scaling_factor":100}}}`, fields: scaled},
		{mapping: `{"properties":{"cost":{"type":"double"}}}`, fields: scaled, want: "Price is scaled_float, but the mapping says that cost is double"},
		{mapping: `{"properties":{"Price":{"type":"scaled_float","scaling_factor":100}}}`, fields: scaled, want: "does not map cost so"},
		{mapping: ``, fields: scaled, want: "does not map cost so"},
		{mapping: `{"dynamic_templates":[{"n":{"match":"cost","mapping":{"type":"scaled_float","scaling_factor":100}}}]}`, fields: scaled},
		{mapping: `{"properties":{"Lines":{"properties":{"price":{"type":"scaled_float","scaling_factor":100},"sku":{"type":"keyword"}}}}}`, fields: inside},
		{mapping: `{"properties":{"Lines.price":{"type":"scaled_float","scaling_factor":100}}}`,
			fields: search.Fields{Numbers: map[string]search.Number{"Lines.price": search.NumberScaledFloat}}},
	} {
		_, err := opensearch.New(opensearch.Options{URL: "http://127.0.0.1:1", Indexes: &opensearch.Indexes{
			Pipeline: "shop", Sink: "docs", Name: parse(t, "docs"), Mapping: json.RawMessage(test.mapping), Fields: test.fields,
		}})
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.mapping, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want an error of %q", test.mapping, err, test.want)
		}
	}
}

func TestIndexes_Refused(t *testing.T) {
	for want, o := range map[string]opensearch.Indexes{
		"Pipeline": {Sink: "docs", Name: parse(t, "docs")},
		"Sink":     {Pipeline: "shop", Name: parse(t, "docs")},
		"Name":     {Pipeline: "shop", Sink: "docs"},
		"Max":      {Pipeline: "shop", Sink: "docs", Name: parse(t, "docs"), MaxIndexes: -1},
	} {
		if _, err := opensearch.New(opensearch.Options{URL: "http://127.0.0.1:1", Indexes: &o}); err == nil || !strings.Contains(err.Error(), "Indexes."+want) {
			t.Errorf("%v, want an error of %q", err, want)
		}
	}
}
