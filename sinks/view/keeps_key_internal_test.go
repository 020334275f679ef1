package view

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
)

// If keepsKey returns true, the old and the new image make the same row key, whatever the values are and however they
// are written.
func TestKeepsKey(t *testing.T) {
	parse := func(text string) Attribute {
		tpl, err := template.Parse(text, template.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return Attribute{Name: "K", Template: tpl}
	}
	keys := []Attribute{parse("{a}"), parse("x#{a}#{b.c}"), parse("{a|lower}/{@key}"), parse("{b.c|pad:3}#{@key}"), parse("{a?}#{@key}"), parse("fixed#{@key}")}
	values := []string{`{"S":"x"}`, `{"S":"\u0078"}`, `{"S":"X"}`, `{"S":""}`, `{"N":"1"}`, `{"N":"1.0"}`, `{"N":"10e-1"}`, `{"N":"2"}`, `{"B":"eA=="}`, `{"NULL":true}`, `{"BOOL":true}`, ``}
	item := func(t *rapid.T) item.Image {
		a, c := rapid.SampledFrom(values).Draw(t, "a"), rapid.SampledFrom(values).Draw(t, "c")
		text := `{"PK":{"S":"k"}`
		if a != "" {
			text += `,"a":` + a
		}
		if c != "" {
			text += `,"b":{"M":{"c":` + c + `}}`
		}
		m, err := item.Parse([]byte(text + "}"))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	stayed := 0
	rapid.Check(t, func(t *rapid.T) {
		s, err := New(Options{Name: "v", Pipeline: "p", Table: "t", PK: rapid.SampledFrom(keys).Draw(t, "key")})
		if err != nil {
			t.Fatal(err)
		}
		c := &record.Change{Op: record.Modify, Key: "k", Old: item(t), New: item(t)}
		var rooms [2]keyBuffer
		was, err := s.locationBefore(c, &rooms[0])
		if err != nil || !s.keepsKey(c, &was) {
			return
		}
		stayed++
		is, err := s.locationAfter(c, &rooms[1])
		if err != nil || is.reason != "" || !is.key.equal(&was.key) {
			t.Fatalf("it stays at %q, and its key is %q, %q, %v", was.key.text, is.key.text, is.reason, err)
		}
		show := func(p *rowLocation) string {
			pk, _, _ := p.key.attributeValues(&pipeline.Delivery{})
			text, _ := pk.Text()
			n, _ := pk.Number()
			return fmt.Sprint(pk.Kind(), text, n)
		}
		if show(&was) != show(&is) {
			t.Fatalf("it stays at %s, and comes to %s", show(&was), show(&is))
		}
	})
	if stayed == 0 {
		t.Fatal("no item stayed")
	}
}
