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
	ttlName      = regexp.MustCompile(`(?i)^_?(ttl|(expires?|expiry|expiration)(_?(at|on|time|date))?)$`)
	stateName    = regexp.MustCompile(`(?i)(status|state|stage|phase|type|kind|category)$`)
	nonNameChars = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
)

// draft is what the configuration will contain.
type draft struct {
	table    string
	keys     []string
	entities []*draftEntity
	omitted  []*draftEntity    // entities that the file leaves out
	sampled  []*entity.Sampled // the samples of entities, in their order
	all      *entity.Sampled

	module bool // the file has the custom sink moduleSink, whose code is in the Go module

	text strings.Builder // the lines that are written
}

// newDraft returns the draft for a sample. The Keys of the sample must be set.
func newDraft(s *sample.Sample) *draft {
	d := &draft{table: s.Table, keys: s.Keys, all: sampleOf(s.Items)}
	d.entities, d.omitted = findEntities(s.Items, s.Keys)
	for _, e := range d.entities {
		d.sampled = append(d.sampled, sampleOf(e.items))
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
	for i, e := range d.entities {
		d.writeEntity(e, d.sampled[i])
	}
	if n := len(d.omitted); n > 0 {
		items := 0
		for _, e := range d.omitted {
			items += len(e.items)
		}
		d.line("  # %s with fewer items, %s of the sample in all, left out: add those that you need.", cli.Count(n, "kind"),
			cli.Count(items, "item"))
	}
}

func (d *draft) writeEntity(e *draftEntity, s *entity.Sampled) {
	comment := ""
	if e.overlap != "" {
		d.line("  # Keys of %s are also keys of %s: change the patterns, or give both a `when`, as in item.Type == \"%[1]s\".",
			e.name, e.overlap)
		comment = "# "
	}
	d.line("  %s%s:", comment, e.name)
	d.line("  %s  key: {%s}", comment, d.keyPatterns(e.entity.Key))
	// An expression that reads an attribute which its entity does not declare is an error. So the file declares all
	// attributes or none. With more than maxAttributes names, s is incomplete.
	if declared := declaredMembers(s, d.keys...); declared != "{}" && len(s.Members) <= maxAttributes {
		d.line("  %s  attributes: %s", comment, declared)
	}
}

// keyPatterns returns the patterns of an entity's key attributes. If there are several entities, it leaves out the
// patterns that match every value. If all of them do, it returns the pattern of the first attribute.
func (d *draft) keyPatterns(key []entity.KeyPattern) string {
	var patterns []string
	for _, p := range key {
		if len(d.entities) == 1 || !p.Pattern.BindsAll() {
			patterns = append(patterns, patternText(p))
		}
	}
	if len(patterns) == 0 {
		return patternText(key[0])
	}
	return strings.Join(patterns, ", ")
}

// patternText returns a key attribute of the file: its name and its pattern.
func patternText(p entity.KeyPattern) string {
	return yamlScalar(p.Attribute) + ": " + yamlScalar(p.Pattern.String())
}

// writeSinks writes one view, and the other sinks as comments.
func (d *draft) writeSinks(table string) {
	viewed, attribute := d.viewedEntity()
	d.line("")
	d.line("sinks:")
	suffix, partitionKey := "items", "'"+strings.ToUpper(viewed.name)+"'"
	if attribute != "" {
		name, path := nonNameChars.ReplaceAllString(attribute, "_"), item.PathText([]string{attribute})
		suffix, partitionKey = "by_"+strings.ToLower(name), yamlScalar(strings.ToUpper(name)+"#{"+path+"}")
		d.line("  # The items of %s by %s. `tablewake query view --local DIR` shows the rows.", viewed.name, path)
	}
	d.line("  %s_%s:", strings.ToLower(viewed.name), suffix)
	d.line("    view: {of: %s, table: %s, key: {PK: %s, SK: '{@key}'}, attributes: all}", viewed.name,
		yamlScalar(table+"-views"), partitionKey)
	if d.module {
		d.line("  # Go code of your own, in extensions. `go run . replay` runs it with --custom %s.", moduleSink)
		d.line("  %s:", moduleSink)
		d.line("    custom: {name: log}")
	}
	d.line("")
	d.line("  # Other sinks: remove the # of those that you want.")
	d.line("  # counts:")
	d.line("  #   aggregate: {of: %s, table: %s-counts, group: {PK: COUNT, SK: %[1]s}, values: {items: count}, on_ttl_delete: keep}",
		viewed.name, table)
	d.line("  # history:")
	d.line("  #   archive: {bucket: %s-archive, partition: 'dt={@time|date:2006-01-02}'%s}", bucketName(table),
		d.maskedSetting())
	d.line("  # documents:")
	d.line("  #   search: {of: %s, connection: os, index: %s, create: on_start}   # and: connections: {os: {opensearch: 'https://...'}}",
		viewed.name, bucketName(viewed.name))
	d.line("  # mail:")
	d.line("  #   notify: {queue: %s-events, events: [created]}   # and: detect: {created: {of: %s, op: [INSERT]}}", table,
		viewed.name)
	d.line("")
	d.line("# Where changes go that cannot be delivered.")
	d.line("# dead_letters: {bucket: %s-dead}", bucketName(table))
}

// viewedEntity returns the entity that the view shows, and the attribute that selects its rows. It returns the first
// entity with such an attribute. If no entity has one, it returns the first entity and "". The first entity has the
// most items. It skips entities that are marked as overlapping; markOverlaps leaves at least one without a mark.
func (d *draft) viewedEntity() (viewed *draftEntity, attribute string) {
	for i, e := range d.entities {
		if e.overlap != "" {
			continue
		}
		if viewed == nil {
			viewed = e
		}
		if attribute := d.stateAttribute(e, d.sampled[i]); attribute != "" {
			return e, attribute
		}
	}
	return viewed, ""
}

// maskedSetting returns the setting of an archive that masks sensitive attributes; "" if no attribute looks
// sensitive.
func (d *draft) maskedSetting() string {
	if len(sensitivePaths(d.all, d.keys)) > 0 {
		return ", masked: true"
	}
	return ""
}

// stateAttribute returns the attribute that holds one of a few states of an item; "" if there is none.
func (d *draft) stateAttribute(e *draftEntity, s *entity.Sampled) string {
	best, bestScore := "", 0 // a score of 0 never replaces these
	for name, member := range s.Members {
		isMostlyText := member.Kind() == item.KindS && member.Kinds[item.KindS]*2 >= len(e.items)
		if !isMostlyText || slices.Contains(d.keys, name) || looksSensitive(name) {
			continue
		}
		score := stateScore(name, e.items)
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
	for _, image := range items {
		v, _ := image.Get(name)
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
	name := strings.Trim(nonNameChars.ReplaceAllString(table, "-"), "-_0123456789")
	if name == "" {
		return "changes"
	}
	return strings.TrimRight(name[:min(len(name), 64)], "-")
}

// bucketName returns a name that S3 and OpenSearch accept.
func bucketName(name string) string {
	return strings.Trim(strings.ReplaceAll(strings.ToLower(nonNameChars.ReplaceAllString(name, "-")), "_", "-"), "-")
}
