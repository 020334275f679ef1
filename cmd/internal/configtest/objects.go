package configtest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/archive"
)

// objects are those of an archive sink or a bucket: by name, and of a sink that
// writes a log the changes in it, however they are cut into objects.
func (o *outcome) objects(ctx context.Context, x expectation) (value, error) {
	sink, bySink := o.sink(x.name)
	bySink = bySink && sink.Archive != nil
	log := bySink && !sink.Archive.PerItem && x.want.kind != item.KindM
	out, changes := object(), []archive.Entry(nil)
	found, err := o.archives(ctx, func(k config.Sink) bool { return bySink && k.Name == x.name || !bySink && bucketOf(k) == x.name })
	if err != nil {
		return value{}, err
	}
	for _, one := range found {
		es, err := o.entries(ctx, one)
		if err != nil {
			return value{}, err
		}
		if log {
			changes = append(changes, es...)
			continue
		}
		v, err := o.archived(es)
		if err != nil {
			return value{}, err
		}
		if len(v.elems) == 1 {
			v = v.elems[0]
		}
		out = out.with(one.info.Name, v)
	}
	if !log {
		return out, nil
	}
	slices.SortStableFunc(changes, func(a, b archive.Entry) int { return a.Version.Compare(b.Version) })
	return o.archived(changes)
}

// archives are the objects of some archive sinks, by their names.
func (o *outcome) archives(ctx context.Context, of func(config.Sink) bool) ([]oneObject, error) {
	var found []oneObject
	for _, k := range o.cfg.Sinks {
		if k.Archive == nil || !of(k) {
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
			found = append(found, oneObject{listed, info})
		}
	}
	slices.SortStableFunc(found, func(a, b oneObject) int { return cmp.Compare(a.info.Name, b.info.Name) })
	return found, nil
}

// entries are the changes of one object.
func (o *outcome) entries(ctx context.Context, one oneObject) ([]archive.Entry, error) {
	var es []archive.Entry
	for e, err := range archive.Read(ctx, one, archive.ReadOptions{TableInKey: len(o.cfg.Source.Tables) > 1}) {
		if err != nil {
			return nil, fmt.Errorf("object %s: %w", one.info.Name, err)
		}
		es = append(es, e)
	}
	return es, nil
}

// oneObject is an archive that lists one object.
type oneObject struct {
	archive.Lister
	info archive.Info
}

// List yields it.
func (one oneObject) List(context.Context, string) iter.Seq2[archive.Info, error] {
	return func(yield func(archive.Info, error) bool) { yield(one.info, nil) }
}

// archived are changes as an archive holds them.
func (o *outcome) archived(es []archive.Entry) (value, error) {
	out := list()
	for _, e := range es {
		v := object()
		if c := e.Change; c != nil {
			v = v.with("op", text(c.Op.String()))
			if c.TTLDelete() {
				v = v.with("ttl", yes())
			}
			v = v.with("table", text(c.Table)).with("keys", imageOf(c.Keys)).with("old", imageOf(c.Old)).with("new", imageOf(c.New))
		} else {
			line, err := parseJSON(e.Line)
			if err != nil {
				return value{}, err
			}
			v = v.with("op", line.get("op"))
			if line.get("kind").text == string(archive.TTLDelete) {
				v = v.with("ttl", yes())
			}
			for _, name := range []string{"table", "keys", "old", "new"} {
				v = v.with(name, line.get(name))
			}
		}
		if len(o.cfg.Source.Tables) < 2 {
			v = v.without("table")
		}
		if v.get("old").kind != item.Absent || v.get("new").kind != item.Absent {
			v = v.without("keys") // they stand in the images
		}
		out.elems = append(out.elems, v)
	}
	return out, nil
}

// named gives objects the names that an expectation has for them: a * in one
// stands for anything, where the name matches one object alone.
func named(got, want value) value {
	if got.kind != item.KindM || want.kind != item.KindM {
		return got
	}
	got.names = slices.Clone(got.names)
	for _, pattern := range want.names {
		match, matches := 0, 0
		for i, name := range got.names {
			if !slices.Contains(want.names, name) && glob(pattern, name) {
				match = i
				matches++
			}
		}
		if matches == 1 && strings.Contains(pattern, "*") {
			got.names[match] = pattern
		}
	}
	return got
}

// glob tells whether name is pattern, in which a * stands for any text.
func glob(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for i := range len(name) + 1 {
		if glob(rest, name[i:]) {
			return true
		}
	}
	return false
}
