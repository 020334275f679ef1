package search_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/search"
)

// Of the mutations of a document, only the newest is written. The other mutations share its result.
func TestCoalesce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) search.Mutation {
			v, err := record.ParseVersion(fmt.Sprintf("%010d%040d", 1, rapid.IntRange(1, 4).Draw(t, "version")))
			if err != nil {
				t.Fatal(err)
			}
			void := rapid.Bool().Draw(t, "void")
			return search.Mutation{Index: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "index"), ID: "a", Version: v, Tombstone: void, Void: void}
		}), 0, 8).Draw(t, "mutations")
		stays := make(map[string]int) // index name -> position of the mutation that is written
		for i := range ms {
			if j, there := stays[ms[i].Index]; !there || ms[i].Replaces(ms[j].Version, ms[j].Void) {
				stays[ms[i].Index] = i
			}
		}
		c := search.Coalesce(ms)
		rs := make([]search.Result, len(ms))
		refused := errors.New("refused")
		for _, i := range c.Newest {
			if stays[ms[i].Index] != i {
				t.Fatalf("mutation %d is written, want %d", i, stays[ms[i].Index])
			}
			delete(stays, ms[i].Index)
			if ms[i].Index == "y" {
				rs[i].Err = refused
			}
		}
		if len(stays) > 0 {
			t.Fatalf("%v are not written", stays)
		}
		c.Share(ms, rs)
		written := 0
		for i, r := range rs {
			if (r.Err != nil) != (ms[i].Index == "y") {
				t.Errorf("mutation %d: %v", i, r.Err)
			}
			if r.Err == nil && r.Outcome == pipeline.Written {
				written++
			}
		}
		if written > 1 {
			t.Errorf("%d of one document are written", written)
		}
	})
}
