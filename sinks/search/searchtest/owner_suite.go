package searchtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
)

// OwnerSuite describes a kind of store under test. Several sinks write to it.
type OwnerSuite struct {
	// Open opens the store of a sink for the indexes of a template, as a pipeline opens it. All stores that are opened
	// with the same world use one server or folder. Required.
	Open func(ctx context.Context, world string, owner search.Owner, index *template.Template) (OwnedStore, error)

	// Name is the name of an index, and of a pipeline, that no other test uses. Required.
	Name func(t *testing.T) string
}

// OwnedStore is a store of one sink.
type OwnedStore interface {
	search.Store
	search.Inspector
	Close() error
}

// RunOwners checks that an index belongs to the sink that first wrote it. Another sink, or a sink of another pipeline,
// must get a [search.ForeignIndexError], when its store opens or at each write. The error must not be retryable, and
// the documents must stay as they are.
func RunOwners(t *testing.T, suite OwnerSuite) {
	for name, differs := range map[string]search.Owner{"AnotherSink": {Sink: "two"},
		"AnotherPipeline": {Pipeline: "-others", Sink: "one"}} {
		for kind, suffix := range map[string]string{"OneIndex": "", "Template": "-{Type|index_name}"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				index := suite.Name(t)
				first := search.Owner{Pipeline: index, Sink: "one"}
				second := search.Owner{Pipeline: index + differs.Pipeline, Sink: differs.Sink}
				named, err := template.Parse(index+suffix, template.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if suffix != "" {
					index += "-order"
				}
				checkOwners(t, suite, named, index, first, second)
			})
		}
	}
}

// checkOwners checks that the store of the second owner refuses an index that the first owner wrote, and does not
// change the index.
func checkOwners(t *testing.T, suite OwnerSuite, named *template.Template, index string, first, second search.Owner) {
	world := t.TempDir()
	store, err := suite.Open(t.Context(), world, first, named)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := applyAll(t, store, document(index, "a", 1, "", live)); err != nil {
		t.Fatal(err)
	}

	want := fmt.Sprintf(
		`sink %q of pipeline %q: the index %s belongs to the sink "one" of pipeline %q: give one of the two another index name`, second.Sink, second.Pipeline, index, first.Pipeline)
	other, err := suite.Open(t.Context(), world, second, named)
	if err != nil {
		wantForeignIndex(t, "the store opens", err, want)
	} else {
		for _, m := range []search.Mutation{document(index, "a", 2, "", live), document(index, "a", 2, "", deleted),
			document(index, "b", 1, "", live)} {
			wantForeignIndex(t, m.String(), applyAll(t, other, m), want)
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}

	firstVersion := document(index, "a", 1, "", live).Version
	a, err := store.ReadStored(t.Context(), index, "a", "")
	if err != nil || !a.Exists || a.Tombstone || a.Version != firstVersion {
		t.Errorf("behind the other sink, a is %+v (%v)", a, err)
	}
	b, err := store.ReadStored(t.Context(), index, "b", "")
	if err != nil || b.Exists {
		t.Errorf("behind the other sink, b is %+v (%v)", b, err)
	}
	if err := applyAll(t, store, document(index, "a", 3, "", live)); err != nil {
		t.Errorf("the first sink continues: %v", err)
	}
}

func wantForeignIndex(t *testing.T, what string, err error, want string) {
	t.Helper()
	foreign, ok := errors.AsType[*search.ForeignIndexError](err)
	if _, retryable := pipeline.Retryable(err); !ok || retryable {
		t.Errorf("%s: got %v, want a ForeignIndexError that no later try makes better", what, err)
		return
	}
	if foreign.Error() != want {
		t.Errorf("%s:\n got %s\nwant %s", what, foreign, want)
	}
}

// documentKind distinguishes a document from its tombstone.
type documentKind bool

const (
	live    documentKind = false
	deleted documentKind = true
)

// document returns a document of a birth at its n-th version, or its tombstone.
func document(index, id string, n int, birth string, kind documentKind) search.Mutation {
	v, err := record.ParseVersion(fmt.Sprintf("%010d%040d", 1767323045, n))
	if err != nil {
		panic(err)
	}
	m := search.Mutation{Index: index, ID: id, Version: v, Birth: birth, Tombstone: kind == deleted, Why: search.Stay}
	m.Doc = fmt.Appendf(nil, `{"_tw":{"version":%q,"by":"test"`, v)
	if birth != "" {
		m.Doc = fmt.Appendf(m.Doc, `,"birth":%q`, birth)
	}
	if kind == deleted {
		m.Doc = append(m.Doc, `,"deleted":true}}`...)
	} else {
		m.Doc = fmt.Appendf(m.Doc, `},"n":%d}`, n)
	}
	return m
}

// applyAll writes mutations, and returns the first error of one of them.
func applyAll(t *testing.T, store search.Store, mutations ...search.Mutation) error {
	t.Helper()
	results, err := store.Apply(t.Context(), mutations)
	for _, r := range results {
		err = cmp.Or(err, r.Err)
	}
	return err
}
