package athena

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/archive"
)

// partition is a column of the partition template, with the settings by which Athena finds its values.
type partition struct {
	column string
	kind   string // date, integer, enum or injected
	more   []property
}

func (p partition) properties() []property {
	ps := []property{{"projection." + p.column + ".type", p.kind}}
	for _, m := range p.more {
		ps = append(ps, property{"projection." + p.column + "." + m.key, m.value})
	}
	return ps
}

// setPartitions sets the location of the objects, and the columns of their folders. It also sets the location template.
func (t *table) setPartitions() error {
	if t.Layout == archive.PerItem {
		t.perItem()
		return nil
	}
	t.folder = folderOf(t.Location)
	if t.Partition == nil {
		if t.folder != t.Location || strings.Count(t.Location, "/") == 3 {
			t.addNote("The objects have no folder of their own: every object in %s must be one of this archive.", t.folder)
		}
		return nil
	}
	literals := t.Partition.Literals()
	for _, l := range literals {
		if strings.ContainsAny(l, "${}") {
			return fmt.Errorf("athena: Partition %q holds $, { or }, which Athena takes for a column of its own", t.Partition)
		}
	}
	t.template = t.Location
	for i, h := range t.Partition.Placeholders() {
		t.template += literals[i]
		t.placeholder(h, nameOf(literals[i], i+1))
	}
	t.template += literals[len(literals)-1] + "/"
	// All folders begin with the literals before the first column.
	t.folder = folderOf(t.template[:strings.Index(t.template+"${", "${")])
	return nil
}

// folderOf returns a location up to and including its last slash.
func folderOf(location string) string { return location[:strings.LastIndexByte(location, '/')+1] }

// perItem adds notes about reading PerItem objects.
func (t *table) perItem() {
	t.Format = "json"
	t.folder = t.Location
	if t.Key != nil {
		prefix, _ := t.Key.Prefix()
		t.folder += prefix
	}
	t.folder = folderOf(t.folder)
	subject := "Each change"
	if t.Key != nil && !t.Key.HasVersion() {
		subject = "Each item"
		t.addNote("An object holds the newest change of its item. The changes before it are not in this archive.")
	}
	t.addNote("%s is an object of its own, and every query reads all of them: for more than some thousands write layout: log.", subject)
	if strings.Count(t.folder, "/") == 3 {
		t.addNote("The objects have no folder of their own: every object in %s must be one of this archive.", t.folder)
	}
}

// named matches the end of a folder name that names its column, such as "dt=" of "dt=2026-01-02".
var named = regexp.MustCompile(`(?:^|/)([A-Za-z][A-Za-z0-9_]*)=$`)

// nameOf returns the column name for a placeholder. literal is the text before the placeholder, n its number in the
// template.
func nameOf(literal string, n int) string {
	if m := named.FindStringSubmatch(literal); m != nil {
		return strings.ToLower(m[1])
	}
	return "partition_" + strconv.Itoa(n)
}

// add adds a column, and its placeholder in the location template. If the name is taken, add chooses another name. It
// returns the name.
func (t *table) add(p partition) string {
	name := p.column
	for n := 2; t.hasColumn(p.column); n++ {
		p.column = fmt.Sprintf("%s_%d", name, n)
	}
	t.partitions = append(t.partitions, p)
	t.template += "${" + p.column + "}"
	return p.column
}

// placeholder adds the columns for a placeholder.
func (t *table) placeholder(h template.Placeholder, name string) {
	hidden := h.Name[0] != '@' && t.Mask.Hides(h.Name)
	switch l, dated := parseLayout(h.Layout); {
	case h.Layout != "" && dated && !hidden:
		t.addDateColumn(l, h, name)
	case h.Name == "@op" && !h.Changed:
		ops := make([]string, 0, 5)
		for op := record.Unknown; op <= record.Snapshot; op++ {
			ops = append(ops, op.String())
		}
		t.add(partition{name, "enum", []property{{"values", strings.Join(ops, ",")}}})
	case h.Name == "@table" && !h.Changed && len(t.Tables) > 0 && !slices.Contains(t.Tables, ""):
		names := make([]string, len(t.Tables))
		for i, table := range t.Tables {
			names[i] = string(item.AppendEscaped(nil, table))
		}
		t.add(partition{name, "enum", []property{{"values", strings.Join(names, ",")}}})
	default:
		column := t.add(partition{name, "injected", nil})
		t.addNote("Athena cannot list the values of %s (%s), which it takes from the query: every query has to say WHERE %s = '...', "+
			"with the text of the folder: all but letters, digits, _, . and - percent-encoded, _none where the value misses.",
			column, placeholderText(h, hidden), column)
	}
}

func placeholderText(h template.Placeholder, hidden bool) string {
	switch {
	case hidden:
		return h.Name + ", masked"
	case h.Layout != "":
		return fmt.Sprintf("%s as %s, in which a projection cannot count", h.Name, h.Layout)
	case h.Changed:
		return h.Name + ", put through functions"
	}
	return h.Name
}

// addDateColumn adds the column of a date. If the units of the layout do not form a date, it adds a column of numbers
// for each unit.
func (t *table) addDateColumn(l layout, h template.Placeholder, name string) {
	subject, missing := h.Name, "Changes without "+h.Name
	if h.Name == "@time" {
		subject, missing = "the change", "Backfilled changes that have no time"
	}
	t.addNote("%s stand in the folder _none, which no projection of dates reads.", missing)
	if every, ok := l.date(); ok {
		column := t.add(partition{name, "date", []property{
			{"format", l.pattern()},
			{"range", l.format(t.From) + ",NOW+1DAYS"},
			{"interval", "1"},
			{"interval.unit", every.every},
		}})
		t.addNote("%s is the time of %s, UTC. Folders before %s and after tomorrow are not read: widen projection.%s.range for others.", column, subject, l.format(t.From), column)
		return
	}
	t.template += l.literals[0]
	for i, u := range l.units {
		n := name
		if len(l.units) > 1 {
			n += "_" + u.name
		}
		from, to := u.min, u.max
		if u.name == "year" {
			from, to = t.From.Year(), t.From.Year()+100
		}
		column := t.add(partition{n, "integer", []property{{"range", fmt.Sprintf("%d,%d", from, to)},
			{"digits", strconv.Itoa(len(u.layout))}}})
		t.addNote("%s is the %s of %s, UTC, as text of %d digits.", column, u.name, subject, len(u.layout))
		t.template += l.literals[i+1]
	}
}
