package configtest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/archive"
)

// objects returns the objects of an archive sink or a bucket by their names. If the sink writes a log and the
// expectation is a list, objects returns the changes of the log instead.
func (o *outcome) objects(ctx context.Context, x expectation) (out entries, err error) {
	writers := objects.writers(o.cfg, x.name)
	found, err := o.archiveObjects(ctx, writers)
	if err != nil {
		return out, err
	}
	isLogSink := writers[0].Name == x.name && !writers[0].Archive.PerItem
	if isLogSink && !x.contents.named {
		return o.logChanges(ctx, found)
	}
	out.named = true
	for _, object := range found {
		changes, err := o.readObject(ctx, object)
		if err != nil {
			return out, err
		}
		values := o.changeValues(changes)
		contents := values.value()
		if len(values.list) == 1 { // an expectation has the single change without a list around it
			contents = values.list[0].value
		}
		out.add(object.info.Name, contents)
	}
	return out, nil
}

// logChanges returns the changes in all objects of a log, in the order of their versions.
func (o *outcome) logChanges(ctx context.Context, log []singleObject) (out entries, err error) {
	var all []archive.Entry
	for _, object := range log {
		changes, err := o.readObject(ctx, object)
		if err != nil {
			return out, err
		}
		all = append(all, changes...)
	}
	slices.SortStableFunc(all, func(a, b archive.Entry) int { return a.Version.Compare(b.Version) })
	return o.changeValues(all), nil
}

// archiveObjects lists the objects of archive sinks, sorted by name.
func (o *outcome) archiveObjects(ctx context.Context, writers []config.Sink) ([]singleObject, error) {
	var found []singleObject
	for _, k := range writers {
		store, err := o.stores.Archive(ctx, o.cfg, k)
		if err != nil {
			return nil, err
		}
		listed := store.(archive.Lister)
		for info, err := range listed.List(ctx, "") {
			if err != nil {
				return nil, err
			}
			found = append(found, singleObject{listed, info})
		}
	}
	slices.SortStableFunc(found, func(a, b singleObject) int { return cmp.Compare(a.info.Name, b.info.Name) })
	return found, nil
}

// readObject returns the changes of one object.
func (o *outcome) readObject(ctx context.Context, one singleObject) ([]archive.Entry, error) {
	var es []archive.Entry
	for e, err := range archive.Read(ctx, one, archive.ReadOptions{TableInKey: len(o.cfg.Source.Tables) > 1}) {
		if err != nil {
			return nil, fmt.Errorf("object %s: %w", one.info.Name, err)
		}
		es = append(es, e)
	}
	return es, nil
}

// singleObject is an archive that has only one object.
type singleObject struct {
	archive.Lister
	info archive.Info
}

// List yields the object.
func (one singleObject) List(context.Context, string) iter.Seq2[archive.Info, error] {
	return func(yield func(archive.Info, error) bool) { yield(one.info, nil) }
}

// changeValues converts the changes of an archive.
func (o *outcome) changeValues(changes []archive.Entry) (out entries) {
	for _, e := range changes {
		out.add("", canonicalNumbers(o.withoutOnlyTable(changeValue(e))))
	}
	return out
}

// changeValue converts a change of an archive. It leaves the keys out if there is an image, because images have the
// keys.
func changeValue(e archive.Entry) item.Value {
	fields := plainJSON(e.Line) // those of a projection, unless the entry has a change
	kind, _ := fields.Get("kind")
	isTTL := kind.Equal(item.StringValue(string(archive.TTLDelete)))
	if c := e.Change; c != nil {
		isTTL = c.TTLDelete()
		fields = object(entry{"op", item.StringValue(c.Op.String())}, entry{"table", item.StringValue(c.Table)},
			entry{"keys", c.Keys.Value()}, entry{"old", c.Old.Value()}, entry{"new", c.New.Value()})
	}
	v := entriesOf(pick(fields, []string{"op"}))
	if isTTL {
		v.add("ttl", item.BoolValue(true))
	}
	names := []string{"table", "old", "new"}
	if pick(fields, []string{"old", "new"}).Len() == 0 {
		names = []string{"table", "keys"}
	}
	for _, name := range names {
		m, _ := fields.Get(name)
		v.add(name, m)
	}
	return v.value()
}

// renameToPatterns renames objects of got to the patterns of want. A pattern is a name with a *, which matches any
// text. It must match exactly one object of got, without those whose own names are in want.
func renameToPatterns(got, want entries) {
	for _, w := range want.list {
		if !strings.Contains(w.name, "*") {
			continue
		}
		name := regexp.MustCompile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(w.name), `\*`, ".*") + "$")
		matches := func(e entry) bool { return !want.has(e.name) && name.MatchString(e.name) }
		i := slices.IndexFunc(got.list, matches)
		if i >= 0 && !slices.ContainsFunc(got.list[i+1:], matches) {
			got.list[i].name = w.name
		}
	}
}
