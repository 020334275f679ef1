package configtest

import (
	"cmp"
	"context"
	"errors"
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
	writer := rows.writers(o.cfg, name)[0]
	table := tableOf(writer)
	store, err := o.stores.View(ctx, o.cfg, writer)
	if err != nil {
		return out, err
	}
	isTable := writer.Name != name
	for row, err := range store.(view.Reader).Rows(ctx, table, view.Query{}) {
		if err != nil {
			return out, err
		}
		if isTable || row.View == name {
			out.add("", rowValue(table, row))
		}
	}
	return out, nil
}

// aggregateRows returns the rows of an aggregate. It adds up the shards of each group. The shards are the rows over
// which a group is spread.
func (o *outcome) aggregateRows(ctx context.Context, name string) (out entries, err error) {
	sink, _ := o.cfg.Sink(name)
	options := sinks.AggregateOptions(o.cfg, sink)
	g := view.GroupRows{Table: tableOf(sink), Aggregate: name, Values: options.Values, Shards: options.Shards}
	store, err := o.stores.Aggregate(ctx, o.cfg, sink)
	if err != nil {
		return out, err
	}
	for row, err := range g.All(ctx, store.(view.Reader), view.Query{}) {
		if err != nil {
			return out, err
		}
		out.add("", rowValue(g.Table, row))
	}
	return out, nil
}

// rowValue converts a row of a table, without ownAttribute and with its key attributes first.
func rowValue(t view.Table, r view.Row) item.Value {
	keyNames, attributes := keyNames(t), canonicalNumbers(r.Item.Value())
	row := entriesOf(pick(attributes, keyNames))
	for name, v := range attributes.Members() {
		if name != ownAttribute && !slices.Contains(keyNames, name) {
			row.add(name, v)
		}
	}
	return row.value()
}

// keyNames returns the key attributes of the rows of a table.
func keyNames(t view.Table) []string {
	return slices.DeleteFunc([]string{t.PK, t.SK}, func(name string) bool { return name == "" })
}

// tableOf returns the table of a view or aggregate sink.
func tableOf(s config.Sink) view.Table {
	if s.View != nil {
		return sinks.RowTable(s.View.Table.Name, s.View.Key)
	}
	return sinks.RowTable(s.Aggregate.Table.Name, s.Aggregate.Group)
}

// documentValues returns the documents of an index by their ids. name is the index, or a sink that writes to the index.
func (o *outcome) documentValues(ctx context.Context, name string) (entries, error) {
	out := entries{named: true}
	for _, s := range documents.writers(o.cfg, name) {
		store, err := o.stores.Search(ctx, o.cfg, s)
		if err != nil {
			return out, err
		}
		for d, err := range store.(search.Reader).Documents(ctx, s.Search.Index.String()) {
			if errors.Is(err, search.ErrNoIndex) {
				break // no document was written
			}
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
	if isDetector := len(events.writers(o.cfg, name)) == 0; isDetector {
		for _, e := range o.raisedEvents[name] {
			out.add("", o.withoutOnlyTable(e))
		}
		return out, nil
	}
	for line, err := range jsonl.Read(o.stores.Dir().Events(name)) {
		if err != nil {
			return out, err
		}
		data, _ := plainJSON(line).Get("data")
		out.add("", o.withoutOnlyTable(data))
	}
	return out, nil
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
	out.addDrops("", o.ledger.Source.Filtered)
	for _, s := range o.cfg.Sinks {
		out.addDrops(s.Name, o.ledger.Sinks[s.Name].RouteFiltered)
	}
	return out
}

// addDrops adds the counts of the filters before a sink. sink is "" for the filters of the source.
func (es *entries) addDrops(sink string, counts map[string]int64) {
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		if counts[reason] > 0 {
			es.add("", object(entry{"sink", optionalText(sink)}, entry{"reason", item.StringValue(reason)},
				entry{"count", item.NumberValue(decimal.Of(counts[reason]))}))
		}
	}
}

// letterValues returns the dead letters. An expected letter may have only some of the fields. A letter that matches an
// expected one gets the fields of the expectation, so that the two are equal.
func (o *outcome) letterValues(want []entry) (out entries, err error) {
	unmatched := slices.Clone(want)
	for _, l := range o.deadLetters {
		keys, err := o.letterKey(l)
		if err != nil {
			return out, err
		}
		v := object(entry{"sink", optionalText(l.Sink)}, entry{"class", item.StringValue(l.Class)}, entry{"keys", keys})
		i := slices.IndexFunc(unmatched, func(w entry) bool { return letterMatches(w.value, v, l.Error) })
		if i >= 0 {
			v = unmatched[i].value
			unmatched = slices.Delete(unmatched, i, i+1)
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
	wantSink, _ := want.Get("sink")
	gotSink, _ := letter.Get("sink")
	if !wantSink.Equal(gotSink) {
		return false
	}
	for name, w := range want.Members() {
		got, _ := letter.Get(name)
		matches := w.Equal(got)
		if name == "error" {
			matches = strings.Contains(message, errorText(w))
		}
		if !matches {
			return false
		}
	}
	return true
}

// errorText returns the text of an expected error. It can be a number, because the file need not quote it.
func errorText(v item.Value) string {
	if text, isText := v.Text(); isText {
		return text
	}
	return string(v.Raw())
}

// letterKey returns the key of a letter as attributes, or an absent value if the letter has no key. A canonical key has
// values without names, sorted by the names of their attributes. So letterKey pairs the values with the sorted names.
func (o *outcome) letterKey(l pipeline.DeadLetter) (item.Value, error) {
	if l.Key == "" {
		return item.Value{}, nil
	}
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
	keys := make([]entry, len(names))
	for i, v := range values {
		keys[i] = entry{names[i], v}
	}
	return object(keys...), nil
}

// identity returns the attributes that are the key of an expectation's elements, or nil if they have no key. Elements
// with the same key are compared attribute by attribute.
func (o *outcome) identity(x expectation) []string {
	if x.section == rows || x.section == aggregates {
		return keyNames(tableOf(x.section.writers(o.cfg, x.name)[0]))
	}
	return x.section.identity
}
