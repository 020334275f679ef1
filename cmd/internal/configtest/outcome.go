package configtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
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
	raisedEvents map[string][]value // events by detector
	ledger       pipeline.Ledger
	deadLetters  []pipeline.DeadLetter
}

// ownAttribute is tablewake's own attribute in rows and documents. Expectations do not have it.
const ownAttribute = "_tw"

// addEvents stores the events that the detectors of a pipeline raise on changes.
func (o *outcome) addEvents(p *pipeline.Pipeline, changes []record.Change) {
	for i := range changes {
		for _, e := range p.Explain(&changes[i]).Events {
			v := object().with("detector", textValue(e.Detector)).with("path", optionalText(e.Path)).
				with("op", textValue(e.Change.Op.String())).with("table", textValue(e.Change.Table)).
				with("keys", plainJSON(e.Change.Keys.Value())).with("old", plainJSON(e.Old)).with("new", plainJSON(e.New))
			o.raisedEvents[e.Detector] = append(o.raisedEvents[e.Detector], v)
		}
	}
}

// plainJSON converts a value of DynamoDB to plain JSON.
func plainJSON(v item.Value) (out value) {
	if v.Exists() {
		_ = json.Unmarshal(v.AppendJSON(nil), &out) // AppendJSON writes valid JSON
	}
	return out
}

// actualValue returns the actual contents that belong to an expectation, in the form of the expectation.
func (o *outcome) actualValue(ctx context.Context, x expectation) (value, error) {
	switch x.section {
	case rows:
		return o.viewRows(ctx, x.name)
	case aggregates:
		return o.aggregateRows(ctx, x.name)
	case documents:
		return o.documentValues(ctx, x.name)
	case objects:
		got, err := o.objects(ctx, x)
		return renameToPatterns(got, x.contents), err
	case events:
		return o.eventValues(x.name)
	case drops:
		return o.dropCounts(), nil
	default:
		return o.letterValues(x.contents)
	}
}

// viewRows returns the rows of a view sink, or of all views in a table.
func (o *outcome) viewRows(ctx context.Context, name string) (value, error) {
	_, isSink := rows.sinkOf(o.cfg, name)
	table := o.tableOf(name)
	writesTable := func(s config.Sink) bool { return s.View != nil && s.View.Table.Name == table }
	i := slices.IndexFunc(o.cfg.Sinks, writesTable)
	store, err := o.stores.View(ctx, o.cfg, o.cfg.Sinks[i])
	if err != nil {
		return value{}, err
	}
	out := list()
	for row, err := range store.(view.Reader).Rows(ctx, view.Table{Name: table}, view.Query{}) {
		if err != nil {
			return value{}, err
		}
		if !isSink || row.View == name {
			out.elems = append(out.elems, o.rowValue(name, row))
		}
	}
	return out, nil
}

// aggregateRows returns the rows of an aggregate. It adds up the shards of each group. The shards are the rows over
// which a group is spread.
func (o *outcome) aggregateRows(ctx context.Context, name string) (value, error) {
	sink, _ := o.cfg.Sink(name)
	a := sink.Aggregate
	g := view.GroupRows{Table: view.Table{Name: a.Table.Name, PK: a.Group[0].Name}, Aggregate: name, Shards: a.Shards}
	if len(a.Group) > 1 {
		g.Table.SK = a.Group[1].Name
	}
	for _, v := range a.Values {
		g.Values = append(g.Values, view.Value{Name: v.Name, Of: v.Of})
	}
	store, err := o.stores.Aggregate(ctx, o.cfg, sink)
	if err != nil {
		return value{}, err
	}
	out := list()
	for row, err := range g.All(ctx, store.(view.Reader), view.Query{}) {
		if err != nil {
			return value{}, err
		}
		out.elems = append(out.elems, o.rowValue(name, row))
	}
	return out, nil
}

// rowValue converts a row, without ownAttribute and with its key attributes first. name is the sink or the table of the
// row.
func (o *outcome) rowValue(name string, r view.Row) value {
	attributes := imageValue(r.Item).without(ownAttribute)
	keyNames := o.keyAttributes(o.tableOf(name))
	out := attributes.pick(keyNames)
	for i, name := range attributes.names {
		if !slices.Contains(keyNames, name) {
			out = out.with(name, attributes.elems[i])
		}
	}
	return out
}

// keyAttributes returns the key attributes of a view table.
func (o *outcome) keyAttributes(table string) (names []string) {
	var key []config.Column
	for _, s := range o.cfg.Sinks {
		switch {
		case s.View != nil && s.View.Table.Name == table:
			key = s.View.Key
		case s.Aggregate != nil && s.Aggregate.Table.Name == table:
			key = s.Aggregate.Group
		}
	}
	for _, k := range key {
		names = append(names, k.Name)
	}
	return names
}

// documentReader is implemented by the embedded search index.
type documentReader interface {
	Documents(ctx context.Context, index string) iter.Seq2[search.Document, error]
}

// documentValues returns the documents of an index by their ids. name is the index, or a sink that writes to the index.
func (o *outcome) documentValues(ctx context.Context, name string) (value, error) {
	out := object()
	for _, s := range o.cfg.Sinks {
		section, index := placeOf(s)
		isNamed := s.Name == name || index == name
		if section != documents || !isNamed {
			continue
		}
		store, ok := o.stores.indexes[s.Name].store.(documentReader)
		if !ok {
			continue // no document was written
		}
		var err error
		if out, err = appendDocuments(out, store.Documents(ctx, s.Search.Index.String())); err != nil {
			return value{}, err
		}
	}
	return out, nil
}

// appendDocuments returns out with the documents added. It skips a document whose id is already in out.
func appendDocuments(out value, documents iter.Seq2[search.Document, error]) (value, error) {
	for d, err := range documents {
		if err != nil {
			return value{}, err
		}
		var doc value
		if err := json.Unmarshal(d.Doc, &doc); err != nil {
			return value{}, fmt.Errorf("document %s: %w", d.ID, err)
		}
		if out.get(d.ID).kind == item.Absent {
			out = out.with(d.ID, doc.without(ownAttribute))
		}
	}
	return out, nil
}

// eventValues returns the events that a notify sink sent, or that a detector raised.
func (o *outcome) eventValues(name string) (value, error) {
	all := o.raisedEvents[name]
	if _, isSink := events.sinkOf(o.cfg, name); isSink {
		var err error
		if all, err = o.sentEvents(name); err != nil {
			return value{}, err
		}
	}
	out := list()
	for _, e := range all {
		out.elems = append(out.elems, o.withoutOnlyTable(e))
	}
	return out, nil
}

// sentEvents returns the events that a notify sink sent.
func (o *outcome) sentEvents(sink string) (sent []value, err error) {
	for line, err := range jsonl.Read(o.stores.dir.Events(sink)) {
		if err != nil {
			return nil, err
		}
		var message value
		if err := json.Unmarshal(line, &message); err != nil {
			return nil, err
		}
		sent = append(sent, message.get("data"))
	}
	return sent, nil
}

// withoutOnlyTable returns a change or an event without its table if the source has only one table.
func (o *outcome) withoutOnlyTable(v value) value {
	if len(o.cfg.Source.Tables) > 1 {
		return v
	}
	return v.without("table")
}

// dropCounts returns the counts of dropped changes: first the counts of the source's filters, then the counts of each
// sink's filters.
func (o *outcome) dropCounts() value {
	out := value{kind: item.KindL, elems: dropsByReason("", o.ledger.Source.Filtered)}
	for _, s := range o.cfg.Sinks {
		out.elems = append(out.elems, dropsByReason(s.Name, o.ledger.Sinks[s.Name].RouteFiltered)...)
	}
	return out
}

// dropsByReason returns an element of the section drops for each reason, in the order of the reasons. sink is "" for
// the source's filters.
func dropsByReason(sink string, counts map[string]int64) (elems []value) {
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		if counts[reason] > 0 {
			elems = append(elems, object().with("sink", optionalText(sink)).with("reason", textValue(reason)).
				with("count", count(counts[reason])))
		}
	}
	return elems
}

// letterValues returns the dead letters. An expected letter may have only some of the fields. A letter that matches an
// expected one gets the fields of the expectation, so that the two are equal.
func (o *outcome) letterValues(want value) (value, error) {
	out := list()
	matched := make([]bool, len(want.elems))
	for _, l := range o.deadLetters {
		v := object().with("sink", optionalText(l.Sink)).with("class", textValue(l.Class))
		if l.Key != "" {
			keys, err := o.letterKey(l)
			if err != nil {
				return value{}, err
			}
			v = v.with("keys", keys)
		}
		for i, w := range want.elems {
			if !matched[i] && letterMatches(w, v, l.Error) {
				matched[i], v = true, w
				break
			}
		}
		out.elems = append(out.elems, v)
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
func letterMatches(want, letter value, message string) bool {
	for i, name := range want.names {
		matches := want.elems[i].equal(letter.get(name))
		if name == "error" {
			matches = strings.Contains(message, want.elems[i].text)
		}
		if !matches {
			return false
		}
	}
	return want.get("sink").equal(letter.get("sink"))
}

// letterKey returns the key of a letter as attributes. A canonical key has values without names, sorted by the names of
// their attributes. So letterKey pairs the values with the sorted names.
func (o *outcome) letterKey(l pipeline.DeadLetter) (value, error) {
	table, values, err := l.Key.Decode()
	if err != nil {
		return value{}, err
	}
	if table == "" && len(o.cfg.Source.Tables) == 1 {
		table = o.cfg.Source.Tables[0].Name
	}
	names := slices.Sorted(slices.Values(o.keys[table]))
	if len(names) != len(values) {
		return textValue(string(l.Key)), nil // `keys` of the file does not fit the table
	}
	out := object()
	for i, v := range values {
		out = out.with(names[i], fromItem(v))
	}
	return out, nil
}

// identity returns the attributes that are the key of an expectation's elements, or nil if they have no key. Elements
// with the same key are compared attribute by attribute.
func (o *outcome) identity(x expectation) []string {
	if x.section == rows || x.section == aggregates {
		return o.keyAttributes(o.tableOf(x.name))
	}
	return x.section.identity
}

// tableOf returns the table of the view or aggregate sink called name. If there is no such sink, name is a table, and
// tableOf returns name.
func (o *outcome) tableOf(name string) string {
	s, _ := o.cfg.Sink(name)
	if section, table := placeOf(s); section == rows || section == aggregates {
		return table
	}
	return name
}
