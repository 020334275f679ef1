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
		`"_tw_x": names that begin`:       func(o *view.Options) { o.Attributes = []view.Attribute{attribute(t, "_tw_x=x")} },
		"differs from change to change":   func(o *view.Options) { o.PK = attribute(t, "PK={@version}") },
		"Shards is -1":                    func(o *view.Options) { o.Shards = -1 },
		"Shards is 2, and PK has no":      func(o *view.Options) { o.Shards = 2 },
		"Shards is 0":                     func(o *view.Options) { o.PK = attribute(t, "PK=S#{@shard}") },
		"SK has {@shard}":                 func(o *view.Options) { o.SK, o.Shards = attribute(t, "SK={@shard}#{@key}"), 2 },
		"SK has no {@key}": func(o *view.Options) {
			o.PK, o.SK, o.Shards = attribute(t, "PK=S#{@shard}#{@key}"), attribute(t, "SK=x"), 2
		},
		"Collision is \"never\"":             func(o *view.Options) { o.Collision = "never" },
		"which does not implement ItemStore": func(o *view.Options) { o.SK, o.Store = attribute(t, "SK=x"), &memory{} },
	} {
		o := byStatus(t, nil)
		change(&o)
		if _, err := view.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want one that says %q", err, want)
		}
	}
}

func TestNewAggregateNamesWhatIsWrong(t *testing.T) {
	values := func(vs ...view.Value) func(o *view.AggregateOptions) {
		return func(o *view.AggregateOptions) { o.Values = vs }
	}
	for want, change := range map[string]func(o *view.AggregateOptions){
		"Name is empty":                  func(o *view.AggregateOptions) { o.Name = "" },
		"Pipeline is empty":              func(o *view.AggregateOptions) { o.Pipeline = "" },
		"Table is empty":                 func(o *view.AggregateOptions) { o.Table = "" },
		"PK needs a name and a template": func(o *view.AggregateOptions) { o.PK.Template = nil },
		"differs from change to change":  func(o *view.AggregateOptions) { o.SK = group(t, "SK={@time}") },
		"Values is empty":                values(),
		"Shards is -1":                   func(o *view.AggregateOptions) { o.Shards = -1 },
		"ForEach":                        func(o *view.AggregateOptions) { o.ForEach = "a..b" },
		"Values: each needs a name":      values(view.Value{Kind: "count"}),
		`"SK": the row has`:              values(view.Value{Name: "SK", Kind: "count"}),
		`"_tw": the row has`:             values(view.Value{Name: "_tw", Kind: "count"}),
		`"_tw_x": names that begin`:      values(view.Value{Name: "_tw_x", Kind: "count"}),
		`"n": the row has`:               values(view.Value{Name: "n", Kind: "count"}, view.Value{Name: "n", Kind: "count"}),
		`is of "avg"`:                    values(view.Value{Name: "n", Kind: "avg", Path: "x"}),
		"a count has no path":            values(view.Value{Name: "n", Kind: "count", Path: "x"}),
		`"s": path`:                      values(view.Value{Name: "s", Kind: "sum"}),
		`"b": path`:                      values(view.Value{Name: "b", Kind: "min", Path: "a["}),
		"none without ForEach":           values(view.Value{Name: "n", Kind: "sum", Path: "x", Each: true}),
		`"e": path`: func(o *view.AggregateOptions) {
			o.ForEach, o.Values = "Lines", []view.Value{{Name: "e", Kind: "sum", Path: "[x", Each: true}}
		},
	} {
		o := revenue(t, nil)
		change(&o)
		if _, err := view.NewAggregate(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want one that says %q", err, want)
		}
	}
}
