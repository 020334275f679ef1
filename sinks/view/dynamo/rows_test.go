package dynamo_test

import (
	"fmt"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

func version(t testing.TB, sequence int) pipeline.Version {
	t.Helper()
	v, err := pipeline.ParseVersion(fmt.Sprintf("1767323045%040d", sequence))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func put(sk string, sequence int, columns ...view.Column) view.Mutation {
	v, err := pipeline.ParseVersion(fmt.Sprintf("1767323045%040d", sequence))
	if err != nil {
		panic(err) // it has the right number of digits
	}
	return view.Mutation{PK: pipeline.StringValue("p"), SK: pipeline.StringValue(sk), Version: v, Source: "source", Attributes: columns}
}

func column(t testing.TB, name, json string) view.Column {
	t.Helper()
	v, err := pipeline.ParseValue([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return view.Column{Name: name, Value: v}
}

// apply expects that all is held.
func apply(t testing.TB, s *dynamo.Store, target view.Target, ms ...view.Mutation) {
	t.Helper()
	rs, err := s.Apply(t.Context(), target, ms)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rs {
		if r != (view.Result{}) {
			t.Fatalf("mutation %d: %+v", i, r)
		}
	}
}
