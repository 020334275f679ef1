package configtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/notify/jsonl"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/view"
)

// outcome reads the results of a case: stores, events, dropped changes and dead letters. It returns them in the format
// of a file of tests.
type outcome struct {
	cfg          *config.Config
	keys         map[string][]string // key attributes of the source's tables
	stores       *stores
	raisedEvents map[string][]item.Value // events by detector
	ledger       pipeline.Ledger
	deadLetters  []pipeline.DeadLetter
}

// ownAttribute is tablewake's own attribute in rows and documents. Expectations do not have it.
const ownAttribute = "_tw"

// addEvents stores the events that the detectors of a pipeline raise on changes.
func (o *outcome) addEvents(p *pipeline.Pipeline, changes []record.Change) {
	for i := range changes {
		for _, e := range p.Explain(&changes[i]).Events {
			v := object(entry{"detector", item.StringValue(e.Detector)}, entry{"path", optionalText(e.Path)},
				entry{"op", item.StringValue(e.Change.Op.String())}, entry{"table", item.StringValue(e.Change.Table)},
				entry{"keys", e.Change.Keys.Value()}, entry{"old", e.Old}, entry{"new", e.New})
			o.raisedEvents[e.Detector] = append(o.raisedEvents[e.Detector], plainJSON(v.AppendJSON(nil)))
		}
	}
}

// actualContents returns the actual contents that belong to an expectation, in the form of the expectation.
func (o *outcome) actualContents(ctx context.Context, x expectation) (entries, error) {
	switch x.section {
	case rows:
		return o.viewRows(ctx, x.name)
	case aggregates:
		return o.aggregateRows(ctx, x.name)
	case documents:
		return o.documentValues(ctx, x.name)
	case objects:
		got, err := o.objects(ctx, x)
		renameToPatterns(got, x.contents)
		return got, err
	case events:
		return o.eventValues(x.name)
	case drops:
		return o.dropCounts(), nil
	default:
		return o.letterValues(x.contents.list)
	}
}

// viewRows returns the rows of a view sink, or of all views in a table.
func (o *outcome) viewRows(ctx context.Context, name string) (out entries, err error) {
	_, isSink := rows.sinkOf(o.cfg, name)
	table := o.tableOf(name)
	writesTable := func(s config.Sink) bool { return s.View != nil && s.View.Table.Name == table.Name }
	i := slices.IndexFunc(o.cfg.Sinks, writesTable)
	store, err := o.stores.View(ctx, o.cfg, o.cfg.Sinks[i])
	if err != nil {
		return out, err
	}
	for row, err := range store.(view.Reader).Rows(ctx, table, view.Query{}) {
		if err != nil {
			return out, err
		}
		if !isSink || row.View == name {
			out.add("", o.rowValue(name, row))
		}
	}
	return out, nil
}

// aggregateRows returns the rows of an aggregate. It adds up the shards of each group. The shards are the rows over
// which a group is spread.
func (o *outcome) aggregateRows(ctx context.Context, name string) (out entries, err error) {
	sink, _ := o.cfg.Sink(name)
	options := sinks.AggregateOptions(o.cfg, sink)
	g := view.GroupRows{Table: o.tableOf(name), Aggregate: name, Values: options.Values, Shards: options.Shards}
	store, err := o.stores.Aggregate(ctx, o.cfg, sink)
	if err != nil {
		return out, err
	}
	for row, err := range g.All(ctx, store.(view.Reader), view.Query{}) {
		if err != nil {
			return out, err
		}
		out.add("", o.rowValue(name, row))
	}
	return out, nil
}

// rowValue converts a row, without ownAttribute and with its key attributes first. name is the sink or the table of the
// row.
func (o *outcome) rowValue(name string, r view.Row) item.Value {
	keyNames, attributes := o.keyNames(name), canonicalNumbers(r.Item.Value())
	row := entriesOf(pick(attributes, keyNames))
	for name, v := range attributes.Members() {
		if name != ownAttribute && !slices.Contains(keyNames, name) {
			row.add(name, v)
		}
	}
	return row.value()
}

// keyNames returns the key attributes of the rows of a sink or a table.
func (o *outcome) keyNames(name string) []string {
	t := o.tableOf(name)
	return slices.DeleteFunc([]string{t.PK, t.SK}, func(name string) bool { return name == "" })
}

// documentValues returns the documents of an index by their ids. name is the index, or a sink that writes to the index.
func (o *outcome) documentValues(ctx context.Context, name string) (entries, error) {
	out := entries{named: true}
	for _, s := range o.cfg.Sinks {
		section, index := placeOf(s)
		isNamed := s.Name == name || index == name
		if section != documents || !isNamed {
			continue
		}
		store, ok := o.stores.indexes[s.Name].store.(search.Reader)
		if !ok {
			continue // no document was written
		}
		for d, err := range store.Documents(ctx, s.Search.Index.String()) {
			if err != nil {
				return out, err
			}
			if !out.has(d.ID) { // sinks can share an index
				out.add(d.ID, without(plainJSON(d.Doc), ownAttribute))
			}
		}
	}
	return out, nil
}

// eventValues returns the events that a notify sink sent, or that a detector raised.
func (o *outcome) eventValues(name string) (out entries, err error) {
	all := o.raisedEvents[name]
	if _, isSink := events.sinkOf(o.cfg, name); isSink {
		if all, err = o.sentEvents(name); err != nil {
			return out, err
		}
	}
	for _, e := range all {
		out.add("", o.withoutOnlyTable(e))
	}
	return out, nil
}

// sentEvents returns the events that a notify sink sent.
func (o *outcome) sentEvents(sink string) (sent []item.Value, err error) {
	for line, err := range jsonl.Read(o.stores.dir.Events(sink)) {
		if err != nil {
			return nil, err
		}
		data, _ := plainJSON(line).Get("data")
		sent = append(sent, data)
	}
	return sent, nil
}

// withoutOnlyTable returns a change or an event without its table if the source has only one table.
func (o *outcome) withoutOnlyTable(v item.Value) item.Value {
	if len(o.cfg.Source.Tables) > 1 {
		return v
	}
	return without(v, "table")
}

// dropCounts returns the counts of dropped changes: first the counts of the source's filters, then the counts of each
// sink's filters.
func (o *outcome) dropCounts() (out entries) {
	addCounts := func(sink string, counts map[string]int64) {
		for _, reason := range slices.Sorted(maps.Keys(counts)) {
			if counts[reason] > 0 {
				out.add("", object(entry{"sink", optionalText(sink)}, entry{"reason", item.StringValue(reason)},
					entry{"count", item.NumberValue(decimal.Of(counts[reason]))}))
			}
		}
	}
	addCounts("", o.ledger.Source.Filtered)
	for _, s := range o.cfg.Sinks {
		addCounts(s.Name, o.ledger.Sinks[s.Name].RouteFiltered)
	}
	return out
}

// letterValues returns the dead letters. An expected letter may have only some of the fields. A letter that matches an
// expected one gets the fields of the expectation, so that the two are equal.
func (o *outcome) letterValues(want []entry) (out entries, err error) {
	matched := make([]bool, len(want))
	for _, l := range o.deadLetters {
		var keys item.Value
		if l.Key != "" {
			if keys, err = o.letterKey(l); err != nil {
				return out, err
			}
		}
		v := object(entry{"sink", optionalText(l.Sink)}, entry{"class", item.StringValue(l.Class)}, entry{"keys", keys})
		for i, w := range want {
			if !matched[i] && letterMatches(w.value, v, l.Error) {
				matched[i], v = true, w.value
				break
			}
		}
		out.add("", v)
	}
	return out, nil
}

// letterTexts describes each dead letter with its error.
func (o *outcome) letterTexts() []string {
	var lines []string
	for _, l := range o.deadLetters {
		lines = append(lines, fmt.Sprintf("%s of %s: %s", cmp.Or(l.Sink, "every sink"), cmp.Or(string(l.Key), "a record"),
			l.Error))
	}
	return lines
}

// letterMatches reports whether a letter has all fields of want, and the same sink. message is the text of the letter's
// error. If want has an error, message must contain it.
func letterMatches(want, letter item.Value, message string) bool {
	for name, w := range want.Members() {
		got, _ := letter.Get(name)
		matches := w.Equal(got)
		if name == "error" {
			text, isText := w.Text()
			if !isText {
				text = string(w.Raw()) // the digits of a number
			}
			matches = strings.Contains(message, text)
		}
		if !matches {
			return false
		}
	}
	wantSink, _ := want.Get("sink")
	gotSink, _ := letter.Get("sink")
	return wantSink.Equal(gotSink)
}

// letterKey returns the key of a letter as attributes. A canonical key has values without names, sorted by the names of
// their attributes. So letterKey pairs the values with the sorted names.
func (o *outcome) letterKey(l pipeline.DeadLetter) (item.Value, error) {
	table, values, err := l.Key.Decode()
	if err != nil {
		return item.Value{}, err
	}
	if table == "" && len(o.cfg.Source.Tables) == 1 {
		table = o.cfg.Source.Tables[0].Name
	}
	names := slices.Sorted(slices.Values(o.keys[table]))
	if len(names) != len(values) {
		return item.StringValue(string(l.Key)), nil // `keys` of the file does not fit the table
	}
	keys := entries{named: true}
	for i, v := range values {
		keys.add(names[i], v)
	}
	return keys.value(), nil
}

// identity returns the attributes that are the key of an expectation's elements, or nil if they have no key. Elements
// with the same key are compared attribute by attribute.
func (o *outcome) identity(x expectation) []string {
	if x.section == rows || x.section == aggregates {
		return o.keyNames(x.name)
	}
	return x.section.identity
}

// tableOf returns the table of the view or aggregate sink called name. If there is no such sink, tableOf returns the
// table called name.
func (o *outcome) tableOf(name string) (t view.Table) {
	s, _ := o.cfg.Sink(name)
	if section, table := placeOf(s); section == rows || section == aggregates {
		name = table
	}
	for _, s := range o.cfg.Sinks {
		switch {
		case s.View != nil && s.View.Table.Name == name:
			t = sinks.RowTable(name, s.View.Key)
		case s.Aggregate != nil && s.Aggregate.Table.Name == name:
			t = sinks.RowTable(name, s.Aggregate.Group)
		}
	}
	return t
}
