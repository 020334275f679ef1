package archive_test

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// The objects of a masked archive contain no hidden value, and neither do their names. This is so in both layouts and
// with both kinds of images. Read returns each version of an item once, even if the key is hidden.
func TestMasked(t *testing.T) {
	for _, hidden := range [][]string{{"Email", "Address.**"}, {"Email", "Address.**", "PK"}} {
		m := sinktest.Mask(t, hidden...)
		for _, o := range []archive.Options{
			{Partition: parse(t, "by={Email|lower}/{PK}/{@key}")},
			{Partition: parse(t, "by={Address.City}"), Images: archive.PlainJSON},
			{Layout: archive.PerItem, Key: parse(t, "{PK}/{Email}/{@version}.json")},
			{Layout: archive.PerItem, Key: parse(t, "{@key}/{@version}.json"), Images: archive.PlainJSON},
		} {
			store := &memory{}
			o.Store, o.Mask = store, m
			var records []string
			want := make(map[item.Key]int)
			for i, pk := range []string{"canary-a", "b", "canary-a", "z"} {
				images := strings.Replace(line("MODIFY", pk, i+1, ""), `"n":`, `"Email":{"S":"Canary@x.org"},"Address":{"M":{"City":{"S":"canary"}}},"n":`, 1)
				records = append(records, images)
			}
			cs := changes(t, records...)
			for _, c := range cs {
				want[m.Key(c)]++
			}
			for range 2 { // the second time the objects exist already
				if got := mustWrite(t, newSink(t, o), cs...); got != "written written written written" {
					t.Errorf("%q, %s: %s", hidden, o.Layout, got)
				}
			}
			keyHidden := len(hidden) == 3
			for _, name := range store.names() {
				text := strings.ToLower(name + store.text(t, name))
				if !keyHidden {
					text = strings.ReplaceAll(text, "canary-a", "")
				}
				if strings.Contains(text, "canary") || !strings.Contains(text, "masked-") {
					t.Errorf("%q: %s", hidden, text)
				}
			}
			got := make(map[item.Key]int)
			for e, err := range archive.Read(t.Context(), store, archive.ReadOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Change != nil {
					if v, _ := e.Change.New.Get("n"); v.String() != `{"N":"1.50"}` {
						t.Errorf("what is open reads back as %v", v)
					}
				}
				got[e.Key]++
			}
			if len(got) != 3 || len(want) != 3 {
				t.Errorf("%q: read back %v, want %v", hidden, got, want)
			}
			for k, n := range want {
				if got[k] != n {
					t.Errorf("%q: read back %v, want %v", hidden, got, want)
				}
			}
		}
	}
	c := changes(t, line("MODIFY", "a", 1, ""))[0]
	d := pipeline.Delivery{Change: c}
	s := newSink(t, archive.Options{Store: &memory{}, Mask: sinktest.Mask(t, "PK")})
	if err := s.Plan(&d); err != nil {
		t.Fatal(err)
	}
	if d.Change != c || c.Key != "a" {
		t.Error("planning changed the change")
	}
}
