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
	column   string
	kind     string     // type of the projection: date, integer, enum or injected
	settings []property // further settings of the projection
}

// properties returns the table's properties for the column.
func (p partition) properties() []property {
	ps := []property{{"projection." + p.column + ".type", p.kind}}
	for _, s := range p.settings {
		ps = append(ps, property{"projection." + p.column + "." + s.key, s.value})
	}
	return ps
}

// setPartitions sets the location of the objects, and the columns of their folders. It also sets the location template.
func (t *table) setPartitions() error {
	switch {
	case t.Layout == archive.PerItem:
		t.setPerItem()
		return nil
	case t.Partition == nil:
		t.setOneFolder()
		return nil
	}

	literals := t.Partition.Literals()
	for _, literal := range literals {
		if strings.ContainsAny(literal, "${}") {
			return fmt.Errorf("athena: Partition %q holds $, { or }, which Athena takes for a column of its own", t.Partition)
		}
	}
	t.template = t.Location
	for i, p := range t.Partition.Placeholders() {
		t.template += literals[i]
		t.addPlaceholder(p, columnName(literals[i], i+1))
	}
	t.template += literals[len(literals)-1] + "/"
	commonStart, _, _ := strings.Cut(t.template, "${") // all folders begin with it
	t.folder = folderOf(commonStart)
	return nil
}

// setOneFolder sets the location of objects that are all in one folder.
func (t *table) setOneFolder() {
	t.folder = folderOf(t.Location)
	hasOwnFolder := t.folder == t.Location && !isBucket(t.Location)
	if !hasOwnFolder {
		t.addSharedFolderNote()
	}
}

// isBucket reports whether a location is a whole bucket, such as s3://bucket/.
func isBucket(location string) bool { return strings.Count(location, "/") == 3 }

// addSharedFolderNote adds a note that other objects than those of the archive may be in the folder.
func (t *table) addSharedFolderNote() {
	t.addNote("The objects have no folder of their own: every object in %s must be one of this archive.", t.folder)
}

// setPerItem sets the format and the location of PerItem objects, and adds notes about reading them.
func (t *table) setPerItem() {
	t.Format = "json"
	t.folder = t.Location
	subject := "Each change"
	if t.Key != nil {
		prefix, _ := t.Key.Prefix()
		t.folder += prefix
		if !t.Key.HasVersion() {
			subject = "Each item"
			t.addNote("An object holds the newest change of its item. The changes before it are not in this archive.")
		}
	}
	t.folder = folderOf(t.folder)
	t.addNote("%s is an object of its own, and every query reads all of them: for more than some thousands write layout: log.", subject)
	if isBucket(t.folder) {
		t.addSharedFolderNote()
	}
}

// namedFolder matches the end of a folder name that names its column, such as "dt=" of "dt=2026-01-02".
var namedFolder = regexp.MustCompile(`(?:^|/)([A-Za-z][A-Za-z0-9_]*)=$`)

// columnName returns the column name for a placeholder. literal is the text before the placeholder. number is the
// number of the placeholder in the template.
func columnName(literal string, number int) string {
	if m := namedFolder.FindStringSubmatch(literal); m != nil {
		return strings.ToLower(m[1])
	}
	return "partition_" + strconv.Itoa(number)
}

// addColumn adds a column, and its placeholder in the location template. If the name is taken, it chooses another name.
// It returns the name.
func (t *table) addColumn(p partition) string {
	name := p.column
	for n := 2; t.hasColumn(p.column); n++ {
		p.column = fmt.Sprintf("%s_%d", name, n)
	}
	t.partitions = append(t.partitions, p)
	t.template += "${" + p.column + "}"
	return p.column
}

// addPlaceholder adds the columns for a placeholder.
func (t *table) addPlaceholder(p template.Placeholder, name string) {
	isHidden := p.Name[0] != '@' && t.Mask.Hides(p.Name)
	knowsTables := len(t.Tables) > 0 && !slices.Contains(t.Tables, "")
	dateLayout, isCountable := parseLayout(p.Layout)
	switch {
	case isCountable && !isHidden:
		t.addDate(dateLayout, p, name)
	case p.Name == "@op" && !p.Changed:
		var operations []string
		for op := record.Unknown; op <= record.Snapshot; op++ {
			operations = append(operations, op.String())
		}
		t.addColumn(enumColumn(name, operations))
	case p.Name == "@table" && !p.Changed && knowsTables:
		tables := make([]string, len(t.Tables))
		for i, table := range t.Tables {
			tables[i] = string(item.AppendEscaped(nil, table))
		}
		t.addColumn(enumColumn(name, tables))
	default:
		column := t.addColumn(partition{name, "injected", nil})
		t.addNote("Athena cannot list the values of %s (%s), which it takes from the query: every query has to say WHERE %s = '...', "+
			"with the text of the folder: all but letters, digits, _, . and - percent-encoded, _none where the value misses.",
			column, placeholderText(p, isHidden), column)
	}
}

// enumColumn returns a column with the given values.
func enumColumn(name string, values []string) partition {
	return partition{name, "enum", []property{{"values", strings.Join(values, ",")}}}
}

// folderOf returns a location up to and including its last slash.
func folderOf(location string) string { return location[:strings.LastIndexByte(location, '/')+1] }

// placeholderText describes a placeholder whose values cannot be listed, with the reason.
func placeholderText(p template.Placeholder, isHidden bool) string {
	switch {
	case isHidden:
		return p.Name + ", masked"
	case p.Layout != "":
		return fmt.Sprintf("%s as %s, in which a projection cannot count", p.Name, p.Layout)
	case p.Changed:
		return p.Name + ", put through functions"
	}
	return p.Name
}

// addDate adds the column of a date. If the units of the layout do not form a date, it adds a column of numbers for
// each unit.
func (t *table) addDate(l layout, p template.Placeholder, name string) {
	subject, missing := p.Name, "Changes without "+p.Name
	if p.Name == "@time" {
		subject, missing = "the change", "Backfilled changes that have no time"
	}
	t.addNote("%s stand in the folder _none, which no projection of dates reads.", missing)
	smallest, isDate := l.date()
	if !isDate {
		t.addUnitColumns(l, subject, name)
		return
	}
	column := t.addColumn(partition{name, "date", []property{
		{"format", l.pattern()},
		{"range", l.format(t.From) + ",NOW+1DAYS"},
		{"interval", "1"},
		{"interval.unit", smallest.interval},
	}})
	t.addNote("%s is the time of %s, UTC. Folders before %s and after tomorrow are not read: widen projection.%s.range for others.", column, subject, l.format(t.From), column)
}

// addUnitColumns adds a column of numbers for each unit of a layout. subject says in the notes whose time it is.
func (t *table) addUnitColumns(l layout, subject, name string) {
	t.template += l.literals[0]
	for i, u := range l.units {
		unitName := name
		if len(l.units) > 1 {
			unitName += "_" + u.name
		}
		least, greatest := u.min, u.max
		if u.name == "year" {
			least, greatest = t.From.Year(), t.From.Year()+100
		}
		digits := len(u.layout)
		column := t.addColumn(partition{unitName, "integer", []property{
			{"range", fmt.Sprintf("%d,%d", least, greatest)},
			{"digits", strconv.Itoa(digits)},
		}})
		t.addNote("%s is the %s of %s, UTC, as text of %d digits.", column, u.name, subject, digits)
		t.template += l.literals[i+1]
	}
}
