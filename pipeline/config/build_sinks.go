package config

import (
	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/template"
)

// buildSink makes the spec of an entry of `sinks`.
func (c *checker) buildSink(v *value, src Source) Sink {
	s := Sink{Name: v.name, Line: v.line()}
	if len(v.all()) != 1 {
		return s // said by the walk
	}
	kind := v.entries[0]
	s.Filters = c.buildFilters(kind.get("filters"), src)
	s.Rate = c.rate(kind.get("rate"))
	s.Concurrency = int(kind.get("concurrency").integer())
	s.Batch = pipeline.Batch{
		Count:  int(kind.get("batch").get("count").integer()),
		Bytes:  kind.get("batch").get("bytes").integer(),
		Linger: kind.get("batch").get("linger").duration(),
	}
	switch kind.name {
	case "view":
		s.View = &View{
			Table:      tableName(kind.get("table").text()),
			When:       as[*expr.Item](kind.get("when")),
			Key:        buildColumns(kind.get("key")),
			Attributes: buildColumns(kind.get("attributes")),
		}
	case "search":
		fields := kind.get("fields")
		s.Search = &Search{
			Index:   as[*template.Template](kind.get("index")),
			When:    as[*expr.Item](kind.get("when")),
			Include: paths(fields.get("include")),
			Exclude: paths(fields.get("exclude")),
			Rename:  fields.get("rename").textMap(),
			Numbers: fields.get("numbers").textMap(),
		}
	case "archive":
		s.Archive = buildArchive(kind)
	case "notify":
		s.Notify = &Notify{
			Queue:  kind.get("queue").text(),
			Topic:  kind.get("topic").text(),
			Bus:    kind.get("bus").text(),
			Events: kind.get("events").texts(),
			When:   as[*expr.Change](kind.get("when")),
		}
	case "custom":
		s.Custom = &Custom{
			Name: kind.get("name").text(),
			When: as[*expr.Change](kind.get("when")),
			With: With{c.file, as[*yaml.Node](kind.get("with"))},
		}
	}
	return s
}

func buildArchive(v *value) *Archive {
	a := &Archive{
		Bucket:    v.get("bucket").text(),
		Prefix:    v.get("prefix").text(),
		PerItem:   v.get("layout").text() == "per_item",
		When:      as[*expr.Change](v.get("when")),
		Key:       as[*template.Template](v.get("key")),
		Partition: as[*template.Template](v.get("partition")),
		Roll:      Roll{Bytes: v.get("roll").get("bytes").integer(), Age: v.get("roll").get("age").duration()},
		Images:    DynamoDBJSON,
	}
	for _, k := range v.get("kinds").texts() {
		a.Kinds = append(a.Kinds, ArchiveKind(k))
	}
	if v.get("images").text() != "" {
		a.Images = Images(v.get("images").text())
	}
	return a
}

// rate is deliveries a second, above 0.
func (c *checker) rate(v *value) float64 {
	d, ok := pipeline.Decimal{}, false
	if v != nil {
		d, ok = v.data.(pipeline.Decimal)
	}
	if ok && d.Sign() <= 0 {
		c.fail(v, "remove the key for no limit", "a rate is above 0")
	}
	if !ok {
		return 0
	}
	return d.Float64()
}

func buildColumns(v *value) []Column {
	var cs []Column
	for _, e := range v.all() {
		if t := as[*template.Template](e); t != nil {
			cs = append(cs, Column{e.name, t})
		}
	}
	return cs
}

// paths is the paths of a list as they are written.
func paths(v *value) []string {
	if v == nil {
		return nil
	}
	ps := make([]string, len(v.entries))
	for i, e := range v.entries {
		ps[i] = e.source
	}
	return ps
}
