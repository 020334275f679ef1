package archive_test

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// sorted yields the planned deliveries of changes in the order of keys and versions.
func sorted(t *testing.T, s *archive.Sink, cs []*record.Change) iter.Seq2[*pipeline.Delivery, error] {
	cs = slices.Clone(cs)
	slices.SortStableFunc(cs, func(a, b *record.Change) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), a.Version.Compare(b.Version))
	})
	return func(yield func(*pipeline.Delivery, error) bool) {
		for _, c := range cs {
			d := &pipeline.Delivery{Change: c}
			if err := s.Plan(d); err != nil {
				t.Error(err)
			}
			if !yield(d, nil) {
				return
			}
		}
	}
}

// WriteSorted makes exactly the same objects as Write, with every format, any number of folders, tags and masks.
func TestWriteSorted_SameObjects(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var cs []*record.Change
	for i := range 400 {
		op := []string{"INSERT", "MODIFY", "REMOVE"}[r.IntN(3)]
		cs = append(cs, changes(t, line(op, fmt.Sprintf("k%02d", r.IntN(30)), i+1, ""))...)
		if r.IntN(10) == 0 {
			cs = append(cs, cs[r.IntN(len(cs))]) // repeat a change
		}
	}
	table, err := template.Parse("{@table}", template.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]archive.Options{
		"zstd":       {},
		"gzip":       {Format: archive.JSONLGzip, Images: archive.PlainJSON},
		"parquet":    {Format: archive.Parquet, Columns: []archive.Column{{Name: "pk", Value: parse(t, "{PK}")}}},
		"folders":    {Partition: parse(t, "dt={@time|date:2006-01-02}")},
		"tags":       {Tags: []archive.TagTemplate{{Key: "table", Value: table}}},
		"masked":     {Mask: sinktest.Mask(t, "n")},
		"by item":    {Partition: parse(t, "k={PK}")},
		"some kinds": {Kinds: []archive.Kind{archive.UserDelete}},
	} {
		t.Run(name, func(t *testing.T) {
			plain, sortedly := &memory{}, &memory{}
			o.Store = plain
			ds := make([]pipeline.Delivery, 0, len(cs))
			s := newSink(t, o)
			twice := 0
			for _, c := range cs {
				d := pipeline.Delivery{Change: c}
				if err := s.Plan(&d); err != nil {
					t.Fatal(err)
				}
				ds = append(ds, d)
			}
			if err := s.Write(t.Context(), ds); err != nil {
				t.Fatal(err)
			}
			for i := range ds {
				if ds[i].Outcome == pipeline.Coalesced {
					twice++
				}
			}
			o.Store = sortedly
			s = newSink(t, o)
			for range 2 { // the second time the objects exist already
				coalesced, err := s.WriteSorted(t.Context(), sorted(t, s, cs))
				if err != nil {
					t.Fatal(err)
				}
				if coalesced != twice {
					t.Errorf("%d changes are coalesced, %d by Write", coalesced, twice)
				}
			}
			if !maps.EqualFunc(plain.objects, sortedly.objects, bytes.Equal) {
				t.Errorf("objects %v, want %v", sortedly.names(), plain.names())
			}
			tags := func(m *memory) (all []string) {
				for _, o := range m.put {
					all = append(all, fmt.Sprint(o.Name, o.Tags, o.ContentType))
				}
				slices.Sort(all)
				return all
			}
			if a, b := tags(plain), tags(sortedly); !slices.Equal(a, b) {
				t.Errorf("put %v, want %v", b, a)
			}
		})
	}
}

// If a mask hides keys, WriteSorted refuses to write. Objects are sorted by masked keys, and the changes come sorted by
// the keys themselves.
func TestWriteSorted_HiddenKeys(t *testing.T) {
	store := &memory{}
	s := newSink(t, archive.Options{Store: store, Mask: sinktest.Mask(t, "PK")})
	_, err := s.WriteSorted(t.Context(), sorted(t, s, changes(t, line("INSERT", "a", 1, ""))))
	if err == nil || !strings.Contains(err.Error(), "key") || len(store.put) > 0 {
		t.Errorf("%v, and %d objects", err, len(store.put))
	}
}
