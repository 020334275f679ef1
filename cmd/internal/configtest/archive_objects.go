package configtest

import (
	"cmp"
	"context"
	"encoding/json"
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
// expectation is a list, objects returns the changes of the log instead. The changes are in the order of their
// versions.
func (o *outcome) objects(ctx context.Context, x expectation) (value, error) {
	sink, isSink := objects.sinkOf(o.cfg, x.name)
	found, err := o.archiveObjects(ctx, func(k config.Sink) bool {
		section, bucket := placeOf(k)
		if isSink {
			return k.Name == x.name
		}
		return section == objects && bucket == x.name
	})
	if err != nil {
		return value{}, err
	}
	isLog := isSink && !sink.Archive.PerItem
	if isLog && x.contents.kind != item.KindM {
		return o.logValues(ctx, found)
	}
	out := object()
	for _, object := range found {
		entries, err := o.readEntries(ctx, object)
		if err != nil {
			return value{}, err
		}
		v, err := o.entryValues(entries)
		if err != nil {
			return value{}, err
		}
		if len(v.elems) == 1 {
			v = v.elems[0]
		}
		out = out.with(object.info.Name, v)
	}
	return out, nil
}

// logValues returns the changes of all objects of a log, sorted by version.
func (o *outcome) logValues(ctx context.Context, found []singleObject) (value, error) {
	var changes []archive.Entry
	for _, object := range found {
		entries, err := o.readEntries(ctx, object)
		if err != nil {
			return value{}, err
		}
		changes = append(changes, entries...)
	}
	slices.SortStableFunc(changes, func(a, b archive.Entry) int { return a.Version.Compare(b.Version) })
	return o.entryValues(changes)
}

// archiveObjects lists the objects of the archive sinks for which selects returns true. The objects are sorted by name.
func (o *outcome) archiveObjects(ctx context.Context, selects func(config.Sink) bool) ([]singleObject, error) {
	var found []singleObject
	for _, k := range o.cfg.Sinks {
		if !selects(k) {
			continue
		}
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

// readEntries returns the changes of one object.
func (o *outcome) readEntries(ctx context.Context, one singleObject) ([]archive.Entry, error) {
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

// entryValues converts the changes of an archive to values.
func (o *outcome) entryValues(es []archive.Entry) (value, error) {
	out := list()
	for _, e := range es {
		v, err := entryValue(e)
		if err != nil {
			return value{}, err
		}
		v = o.withoutOnlyTable(v)
		hasImage := v.get("old").kind != item.Absent || v.get("new").kind != item.Absent
		if hasImage {
			v = v.without("keys") // the images have the keys
		}
		out.elems = append(out.elems, v)
	}
	return out, nil
}

// entryValue converts one change of an archive, with its table and its keys.
func entryValue(e archive.Entry) (value, error) {
	if c := e.Change; c != nil {
		return object().with("op", textValue(c.Op.String())).with("ttl", ifTrue(c.TTLDelete())).
			with("table", textValue(c.Table)).with("keys", imageValue(c.Keys)).
			with("old", imageValue(c.Old)).with("new", imageValue(c.New)), nil
	}
	var line value
	if err := json.Unmarshal(e.Line, &line); err != nil {
		return value{}, err
	}
	isTTL := line.get("kind").text == string(archive.TTLDelete)
	v := object().with("op", line.get("op")).with("ttl", ifTrue(isTTL))
	for _, name := range []string{"table", "keys", "old", "new"} {
		v = v.with(name, line.get(name))
	}
	return v, nil
}

// renameToPatterns gives objects of got the names in want that match them. In these names, a * matches any text. A name
// with a * is used only if it matches exactly one object of got whose own name is not in want.
func renameToPatterns(got, want value) value {
	if got.kind != item.KindM || want.kind != item.KindM {
		return got
	}
	got.names = slices.Clone(got.names)
	for _, pattern := range want.names {
		if !strings.Contains(pattern, "*") {
			continue
		}
		name := regexp.MustCompile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
		matches := func(s string) bool { return !slices.Contains(want.names, s) && name.MatchString(s) }
		i := slices.IndexFunc(got.names, matches)
		if i >= 0 && !slices.ContainsFunc(got.names[i+1:], matches) {
			got.names[i] = pattern
		}
	}
	return got
}
