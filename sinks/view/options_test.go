package view_test

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

func TestNewNamesWhatIsWrong(t *testing.T) {
	for want, change := range map[string]func(o *view.Options){
		"Name is empty":                    func(o *view.Options) { o.Name = "" },
		"Pipeline is empty":                func(o *view.Options) { o.Pipeline = "" },
		"Table is empty":                   func(o *view.Options) { o.Table = "" },
		"PK needs a name and a template":   func(o *view.Options) { o.PK.Template = nil },
		"SK needs a name and a template":   func(o *view.Options) { o.SK.Name = "" },
		"Attributes: each needs":           func(o *view.Options) { o.Attributes = []view.Attribute{{Name: "x"}} },
		`attribute "PK" is given twice`:    func(o *view.Options) { o.Attributes = []view.Attribute{attribute(t, "PK=x")} },
		`attribute "SK" is given twice`:    func(o *view.Options) { o.PK.Name = "SK" },
		`attribute "_tw" holds the row's`:  func(o *view.Options) { o.Attributes = []view.Attribute{attribute(t, "_tw=x")} },
		"differs from change to change":    func(o *view.Options) { o.PK = attribute(t, "PK={@version}") },
		`come with the capability "state"`: func(o *view.Options) { o.SK = attribute(t, "SK=x") },
	} {
		o := byStatus(t, nil)
		change(&o)
		if _, err := view.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want one that says %q", err, want)
		}
	}
}

// A row guards itself where its key decodes back to the item's key. Everything
// else is refused: by New where the templates show it, and else by Plan, which
// knows the names of the key attributes.
func TestRowsGuardThemselvesOrAreRefused(t *testing.T) {
	for _, c := range []struct {
		pk, sk        string
		atNew, atPlan bool
	}{
		{pk: "{@key}"},
		{pk: "STATUS#{Status}", sk: "{@key}"},
		{pk: "STATUS#{Status}", sk: "{CreatedAt}#{@key}"},
		{pk: "{PK|esc}#{SK|esc}"},
		{pk: "{PK|esc}", sk: "{SK|esc}"},
		{pk: "{Status}", sk: "{SK|esc}/{PK|esc}"},
		{pk: "{PK}", sk: "{SK}"},
		{pk: "EMAIL#{Email|lower}", sk: "USER", atNew: true},
		{pk: "{PK}#{SK}", atNew: true},
		{pk: "{PK|lower|esc}", sk: "{SK|hash}", atNew: true},
		{pk: "{PK|esc}", sk: "USER", atPlan: true},
		{pk: "{PK|esc}", sk: "{Address.SK|esc}", atPlan: true},
		{pk: "{Email|esc}", atPlan: true},
	} {
		o := byStatus(t, nil)
		o.PK, o.SK = attribute(t, "PK="+c.pk), view.Attribute{}
		if c.sk != "" {
			o.SK = attribute(t, "SK="+c.sk)
		}
		s, err := view.New(o)
		if c.atNew != (err != nil) {
			t.Errorf("New with {%s, %s}: got the error %v, want one: %t", c.pk, c.sk, err, c.atNew)
		}
		if err == nil {
			it := item("Type=Order", "Status=paid", "Email=e", "CreatedAt=c")
			it["Address"] = sinktest.Attr{"M": item()}
			d := pipeline.Delivery{Change: changes(t, sinktest.Record{EventName: "INSERT", New: it})[0]}
			err = s.Plan(&d)
			if c.atPlan != (err != nil) {
				t.Errorf("Plan with {%s, %s}: got the error %v, want one: %t", c.pk, c.sk, err, c.atPlan)
			}
		}
		if err != nil && !strings.Contains(err.Error(), `"state"`) {
			t.Errorf("%v: does not name the capability", err)
		}
	}
}

func TestItemsOfSeveralTablesNeedTheCanonicalKey(t *testing.T) {
	o := byStatus(t, nil)
	o.PK, o.SK = attribute(t, "PK={PK|esc}"), attribute(t, "SK={SK|esc}")
	page := pipeline.NewDecoder(pipeline.DecoderOptions{TableInKey: true}).DecodeLines(
		sinktest.Record{EventName: "INSERT", Keys: item(), New: item("Type=Order"), Sequence: "123456789012345678901"}.JSON())
	d := pipeline.Delivery{Change: &page.Changes[0]}
	if err := newSink(t, o).Plan(&d); err == nil || !strings.Contains(err.Error(), "{@key}") {
		t.Errorf("got the error %v, want one that asks for {@key}", err)
	}
}
