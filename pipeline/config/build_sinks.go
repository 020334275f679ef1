package config

import (
	"cmp"
	"slices"
	"strings"
	"time"

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
	s.AllowSensitive = patterns(kind.get("allow_sensitive"))
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
			ARN:        tableARN(kind.get("table").text()),
			When:       as[*expr.Item](kind.get("when")),
			Key:        buildColumns(kind.get("key")),
			Attributes: buildColumns(kind.get("attributes")),
			Collision:  cmp.Or(Collision(kind.get("on_collision").text()), DeadLetterCollision),
			InPlace:    kind.get("tombstones").text() == "in_place",
		}
	case "aggregate":
		s.Aggregate = buildAggregate(kind)
	case "search":
		s.Search = c.buildSearch(kind)
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

func buildAggregate(v *value) *Aggregate {
	a := &Aggregate{
		Table:     tableName(v.get("table").text()),
		ARN:       tableARN(v.get("table").text()),
		When:      as[*expr.Item](v.get("when")),
		Group:     buildColumns(v.get("group")),
		ForEach:   v.get("for_each").written(),
		Shards:    int(cmp.Or(v.get("shards").integer(), 1)),
		KeepOnTTL: v.get("on_ttl_delete").text() == "keep",
	}
	for _, e := range v.get("values").all() {
		of := AggregateValue{Name: e.name, Of: e.text()}
		if ways := e.all(); len(ways) == 1 { // {sum: path}
			of.Of, of.Path = ways[0].name, ways[0].source
			if rest, each := cutEach(of.Path); each && a.ForEach != "" {
				of.Path, of.Each = rest, true
			}
		}
		if of.Of != "" {
			a.Values = append(a.Values, of)
		}
	}
	return a
}

// cutEach is the path within the element of each.path, each[0].path or each alone.
func cutEach(path string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, "each")
	if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return "", false
	}
	return strings.TrimPrefix(rest, "."), true
}

func (c *checker) buildSearch(v *value) *Search {
	fields := v.get("fields")
	s := &Search{
		Index:      as[*template.Template](v.get("index")),
		When:       as[*expr.Item](v.get("when")),
		Include:    paths(fields.get("include")),
		Exclude:    paths(fields.get("exclude")),
		Rename:     fields.get("rename").textMap(),
		Hash:       paths(fields.get("hash")),
		HashID:     v.get("id").text() == "hmac",
		Numbers:    fields.get("numbers").textMap(),
		Fast:       v.get("mode").text() == "fast",
		Routing:    as[*template.Template](v.get("routing")),
		OnDemand:   v.get("create").text() == "on_demand",
		MaxIndexes: int(v.get("max_indexes").integer()),
		Connection: v.get("connection").text(),
		Mapping:    c.mapping(v.get("mapping")),
	}
	for _, p := range s.Hash {
		if s.Include != nil && !slices.Contains(s.Include, p) {
			s.Include = append(s.Include, p)
		}
	}
	return s
}

// defaultRollAge bounds how long an archive holds the checkpoint of a quiet table back.
const defaultRollAge = 5 * time.Minute

func buildArchive(v *value) *Archive {
	a := &Archive{
		Bucket:    v.get("bucket").text(),
		Prefix:    v.get("prefix").text(),
		PerItem:   v.get("layout").text() == "per_item",
		When:      as[*expr.Change](v.get("when")),
		Key:       as[*template.Template](v.get("key")),
		Partition: as[*template.Template](v.get("partition")),
		Roll:      Roll{Bytes: v.get("roll").get("bytes").integer(), Age: v.get("roll").get("age").duration()},
		Format:    cmp.Or(Format(v.get("format").text()), JSONLinesZstd),
		Columns:   buildColumns(v.get("columns")),
		Images:    DynamoDBJSON,
		Masked:    as[bool](v.get("masked")),

		StorageClass: v.get("storage_class").text(),
		KMSKey:       v.get("kms_key").text(),
		Tags:         buildColumns(v.get("tags")),
	}
	if !a.PerItem {
		a.Roll.Age = cmp.Or(a.Roll.Age, defaultRollAge)
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
