package initconfig

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/sample"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
)

const (
	placeholderTable = "my-table"
	maxStates        = 20 // maximum number of different values of an attribute that selects rows of the view
)

var (
	ttlName   = regexp.MustCompile(`(?i)^_?(ttl|(expires?|expiry|expiration)(_?(at|on|time|date))?)$`)
	stateName = regexp.MustCompile(`(?i)(status|state|stage|phase|type|kind|category)$`)
	notName   = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
)

// draft is what the configuration will contain.
type draft struct {
	table    string
	keys     []string
	entities []*draftEntity
	omitted  []*draftEntity    // entities that the file leaves out
	sampled  []*entity.Sampled // the samples of entities, in their order
	all      *entity.Sampled

	module bool // the file has the sink whose code is in the Go module

	text strings.Builder // the lines that are written
}

// newDraft returns the draft for a sample. The Keys of the sample must be set.
func newDraft(s *sample.Sample) *draft {
	d := &draft{table: s.Table, keys: s.Keys, all: sampleOf(s.Items)}
	d.entities, d.omitted = findEntities(s.Items, s.Keys)
	for _, k := range d.entities {
		d.sampled = append(d.sampled, sampleOf(k.items))
	}
	return d
}

// line writes a line.
func (d *draft) line(format string, args ...any) { fmt.Fprintf(&d.text, format+"\n", args...) }

// write returns the text of the configuration.
func (d *draft) write() string {
	table := d.table
	d.line("# Written by `tablewake init`. `tablewake validate --schema` describes every key.")
	d.line("version: 1")
	d.line("name: %s", pipelineName(table))
	if table == "" {
		d.line("# Write the name of your table here.")
		table = placeholderTable
	}
	source := "table: " + yamlScalar(table)
	if ttl := d.ttl(); ttl != "" {
		source += ", ttl_attribute: " + yamlScalar(ttl)
	}
	d.line("source: {%s}", source)
	d.line("state: {table: %s}   # what sinks remember of items", yamlScalar(table+"-state"))
	if paths := sensitivePaths(d.all, d.keys); len(paths) > 0 {
		d.writeSensitive(paths)
	}
	d.writeEntities()
	d.writeSinks(table)
	return d.text.String()
}

func (d *draft) writeSensitive(paths []string) {
	d.line("")
	d.line("# What looks sensitive by its name: it is masked where people look, and reaches only sinks that name it.")
	d.line("hmac_key: '${TABLEWAKE_HMAC_KEY:-no secret, for saved records only}'")
	for i, p := range paths {
		paths[i] = yamlScalar(p)
	}
	d.line("sensitive: [%s]", strings.Join(paths, ", "))
}

func (d *draft) writeEntities() {
	d.line("")
	d.line("# The kinds of items, by their keys, and the attributes that the sample has. Correct what it does not show.")
	d.line("entities:")
	for i, k := range d.entities {
		d.writeEntity(k, d.sampled[i])
	}
	if n := len(d.omitted); n > 0 {
		items := 0
		for _, k := range d.omitted {
			items += len(k.items)
		}
		d.line("  # %s with fewer items, %s of the sample in all, left out: add those that you need.", cli.Count(n, "kind"),
			cli.Count(items, "item"))
	}
}

func (d *draft) writeEntity(k *draftEntity, s *entity.Sampled) {
	comment := ""
	if k.overlap != "" {
		d.line("  # Keys of %s are also keys of %s: change the patterns, or give both a `when`, as in item.Type == \"%[1]s\".",
			k.name, k.overlap)
		comment = "# "
	}
	d.line("  %s%s:", comment, k.name)
	d.line("  %s  key: {%s}", comment, d.keyPatterns(k.entity))
	// With more than maxAttributes names, s is incomplete. If the file declared only some of the attributes, each other
	// attribute would be an error.
	if declared := declaredMembers(s, d.keys...); declared != "{}" && len(s.Members) <= maxAttributes {
		d.line("  %s  attributes: %s", comment, declared)
	}
}

// keyPatterns returns the patterns of an entity's key attributes. It leaves out patterns that match every value, unless
// there is no other pattern or no other entity.
func (d *draft) keyPatterns(e *entity.Entity) string {
	var patterns []string
	for _, p := range e.Key {
		if len(d.entities) == 1 || !p.Pattern.BindsAll() {
			patterns = append(patterns, yamlScalar(p.Attribute)+": "+yamlScalar(p.Pattern.String()))
		}
	}
	if len(patterns) == 0 {
		patterns = append(patterns, yamlScalar(e.Key[0].Attribute)+": "+yamlScalar(e.Key[0].Pattern.String()))
	}
	return strings.Join(patterns, ", ")
}

// writeSinks writes one view, and the other sinks as comments.
func (d *draft) writeSinks(table string) {
	k, attribute := d.viewedEntity()
	d.line("")
	d.line("sinks:")
	if attribute == "" {
		d.line("  %s_items:", strings.ToLower(k.name))
		d.line("    view: {of: %s, table: %s, key: {PK: '%s', SK: '{@key}'}, attributes: all}", k.name, yamlScalar(table+"-views"),
			strings.ToUpper(k.name))
	} else {
		d.line("  # The items of %s by %s. `tablewake query view --local DIR` shows the rows.", k.name,
			item.PathText([]string{attribute}))
		d.line("  %s_by_%s:", strings.ToLower(k.name), strings.ToLower(notName.ReplaceAllString(attribute, "_")))
		d.line("    view: {of: %s, table: %s, key: {PK: %s, SK: '{@key}'}, attributes: all}",
			k.name, yamlScalar(table+"-views"), yamlScalar(strings.ToUpper(notName.ReplaceAllString(attribute, "_"))+"#{"+
				item.PathText([]string{attribute})+"}"))
	}
	if d.module {
		d.line("  # Go code of your own, in extensions. `go run . replay` runs it with --custom %s.", moduleSink)
		d.line("  %s:", moduleSink)
		d.line("    custom: {name: log}")
	}
	d.line("")
	d.line("  # Other sinks: remove the # of those that you want.")
	d.line("  # counts:")
	d.line("  #   aggregate: {of: %s, table: %s-counts, group: {PK: COUNT, SK: %[1]s}, values: {items: count}, on_ttl_delete: keep}", k.name, table)
	d.line("  # history:")
	d.line("  #   archive: {bucket: %s-archive, partition: 'dt={@time|date:2006-01-02}'%s}", bucketName(table), d.masked())
	d.line("  # documents:")
	d.line("  #   search: {of: %s, connection: os, index: %s, create: on_start}   # and: connections: {os: {opensearch: 'https://...'}}", k.name, bucketName(k.name))
	d.line("  # mail:")
	d.line("  #   notify: {queue: %s-events, events: [created]}   # and: detect: {created: {of: %s, op: [INSERT]}}", table,
		k.name)
	d.line("")
	d.line("# Where changes go that cannot be delivered.")
	d.line("# dead_letters: {bucket: %s-dead}", bucketName(table))
}

// viewedEntity returns the entity that the view shows, and the attribute that selects its rows. It returns the first
// entity with such an attribute. If no entity has one, it returns the first entity and "". The first entity has the
// most items. Entities that overlap with another entity are left out.
func (d *draft) viewedEntity() (k *draftEntity, attribute string) {
	for i, e := range d.entities {
		if e.overlap != "" {
			continue
		}
		if k == nil {
			k = e
		}
		if attribute := d.stateAttribute(e, d.sampled[i]); attribute != "" {
			return e, attribute
		}
	}
	return k, ""
}

// masked returns the setting of an archive that masks sensitive attributes; "" if no attribute looks sensitive.
func (d *draft) masked() string {
	if len(sensitivePaths(d.all, d.keys)) > 0 {
		return ", masked: true"
	}
	return ""
}

// stateAttribute returns the attribute that holds one of a few states of an item; "" if there is none.
func (d *draft) stateAttribute(k *draftEntity, s *entity.Sampled) string {
	best, bestScore := "", 0
	for name, m := range s.Members {
		isUsualText := m.Kind() == item.KindS && m.Kinds[item.KindS]*2 >= len(k.items)
		if !isUsualText || slices.Contains(d.keys, name) || looksSensitive(name) {
			continue
		}
		score := stateScore(name, k.items)
		isFirstOfBest := score == bestScore && name < best
		if score > bestScore || isFirstOfBest {
			best, bestScore = name, score
		}
	}
	return best
}

// stateScore returns how likely an attribute holds a state; 0 if it has too many values.
func stateScore(name string, items []item.Image) int {
	values := make(map[string]bool)
	for _, m := range items {
		v, _ := m.Get(name)
		text, _ := v.Text()
		values[text] = true
	}
	if len(values) > maxStates {
		return 0
	}
	score := 1
	if len(values) > 1 {
		score += 2
	}
	if stateName.MatchString(name) {
		score += 3
	}
	return score
}

// ttl returns the attribute that probably is the TTL; "" if there is none.
func (d *draft) ttl() string {
	for _, name := range slices.Sorted(maps.Keys(d.all.Members)) {
		if ttlName.MatchString(name) && d.all.Members[name].Kind() == item.KindN && !slices.Contains(d.keys, name) {
			return name
		}
	}
	return ""
}

// pipelineName returns a name of a pipeline for a table.
func pipelineName(table string) string {
	name := strings.Trim(notName.ReplaceAllString(table, "-"), "-_0123456789")
	if name == "" {
		return "changes"
	}
	return strings.TrimRight(name[:min(len(name), 64)], "-")
}

// bucketName returns a name that S3 and OpenSearch accept.
func bucketName(name string) string {
	return strings.Trim(strings.ReplaceAll(strings.ToLower(notName.ReplaceAllString(name, "-")), "_", "-"), "-")
}
