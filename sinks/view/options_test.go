package view_test

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/view"
)

func TestNewNamesWhatIsWrong(t *testing.T) {
	for want, change := range map[string]func(o *view.Options){
		"Name is empty":                   func(o *view.Options) { o.Name = "" },
		"Pipeline is empty":               func(o *view.Options) { o.Pipeline = "" },
		"Table is empty":                  func(o *view.Options) { o.Table = "" },
		"PK needs a name and a template":  func(o *view.Options) { o.PK.Template = nil },
		"SK needs a name and a template":  func(o *view.Options) { o.SK.Name = "" },
		"Attributes: each needs":          func(o *view.Options) { o.Attributes = []view.Attribute{{Name: "x"}} },
		`attribute "PK" is given twice`:   func(o *view.Options) { o.Attributes = []view.Attribute{attribute(t, "PK=x")} },
		`attribute "SK" is given twice`:   func(o *view.Options) { o.PK.Name = "SK" },
		`attribute "_tw" holds the row's`: func(o *view.Options) { o.Attributes = []view.Attribute{attribute(t, "_tw=x")} },
		"differs from change to change":   func(o *view.Options) { o.PK = attribute(t, "PK={@version}") },
		"Collision is \"never\"":          func(o *view.Options) { o.Collision = "never" },
		"which is no ItemStore":           func(o *view.Options) { o.SK, o.Store = attribute(t, "SK=x"), &memory{} },
	} {
		o := byStatus(t, nil)
		change(&o)
		if _, err := view.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want one that says %q", err, want)
		}
	}
}
