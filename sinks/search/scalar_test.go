package search_test

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/search"
)

// Scalar returns the field of an attribute and the form of its numbers. It returns false if documents do not contain
// the value.
func TestFields_Scalar(t *testing.T) {
	type has struct {
		name string
		form search.Number
		ok   bool
	}
	f := search.Fields{
		Exclude: []string{"Left", "In.Side"}, Hash: []string{"Secret"}, Rename: map[string]string{"Price": "cost", "In.Name": "n"},
		Numbers: map[string]search.Number{"Price": search.NumberString, "In": search.NumberDouble},
	}
	for attribute, want := range map[string]has{
		"Price": {"cost", search.NumberString, true}, "Rank": {"Rank", search.NumberExact, true}, "In": {"In", search.NumberDouble, true},
		"Left": {}, "Secret": {}, "_tw": {},
	} {
		var got has
		if name, form, ok := f.Scalar(attribute); ok {
			got = has{name, form, ok}
		}
		if got != want {
			t.Errorf("%s is %+v, want %+v", attribute, got, want)
		}
	}
	f = search.Fields{Include: []string{"Price", "In.Name"}}
	for attribute, want := range map[string]bool{"Price": true, "In": false, "Rank": false} {
		if _, _, ok := f.Scalar(attribute); ok != want {
			t.Errorf("%s is in documents: %v, want %v", attribute, ok, want)
		}
	}
}
