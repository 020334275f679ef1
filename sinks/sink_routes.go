package sinks

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/view"
)

// newRoute makes the route to one sink of the file.
func (a *assembly) newRoute(ctx context.Context, s config.Sink) (pipeline.Route, error) {
	r := pipeline.Route{
		Name:        s.Name,
		Rate:        s.Rate,
		Concurrency: s.Concurrency,
		Batch:       pipeline.Batch{Count: s.Batch.Count, Bytes: s.Batch.Bytes, Linger: s.Batch.Linger},
	}
	for _, f := range s.FiltersInOrder() {
		r.Filters = append(r.Filters, a.filter(f))
	}
	var err error
	switch {
	case s.View != nil:
		r.Sink, err = a.newView(ctx, s)
	case s.Aggregate != nil:
		err = a.setAggregate(ctx, s, &r)
	case s.Search != nil:
		r.Sink, err = a.newSearch(ctx, s)
	case s.Archive != nil:
		err = a.setArchive(s, &r)
	case s.Notify != nil:
		r.NeedsEvents, r.Suppress = true, a.suppress
		r.Sink, err = a.newNotify(s)
	case s.Custom != nil:
		r.NeedsEvents = len(a.cfg.Detectors) > 0
		err = a.setGoSink(ctx, s, &r)
	}
	if err != nil {
		return pipeline.Route{}, err
	}
	r.Sink = a.stageSink(s, a.protectSensitive(s, r.Sink))
	if a.finite && r.Batch.Linger > 0 {
		r.Batch.Linger, r.Batch.Fill = 0, true
	}
	return r, nil
}

func (a *assembly) newView(ctx context.Context, s config.Sink) (pipeline.Sink, error) {
	store, birth := openedStore[view.Store](a, s)
	o := view.Options{
		Name:       s.Name,
		Pipeline:   a.cfg.Name,
		Table:      s.View.Table.Name,
		When:       s.ItemCondition(),
		Unique:     s.View.Unique(),
		ForEach:    s.View.ForEach.Spec(),
		Attributes: viewAttributes(s.View.Attributes),
		Collision:  view.Collision(s.View.Collision),
		InPlace:    s.View.InPlace,
		Shards:     s.View.Shards,
		Mask:       a.sensitive,
		Birth:      birth.ID,
		Backfill:   a.backfill != nil,
		Store:      store,
	}
	if s.View.AllAttributes {
		o.All = &view.CopyAll{Hidden: a.sensitive.Except(s.AllowSensitive)}
	}
	o.NoTTLDeletes = a.cfg.DropsTTLDeletes(s)
	o.PK, o.SK = viewKey(s.View.Key)
	var err error
	if o.Retention, err = a.rowRetention(ctx, store, s.Name, birth, RowTable(s.View.Table.Name, s.View.Key)); err != nil {
		return nil, err
	}
	sink, err := view.New(o)
	if err == nil && a.backfill != nil && a.backfill.Views != nil {
		a.backfill.Views[s.Name] = sink
	}
	return sink, err
}

func (a *assembly) setAggregate(ctx context.Context, s config.Sink, r *pipeline.Route) error {
	store, birth := openedStore[view.GroupStore](a, s)
	o := AggregateOptions(a.cfg, s)
	o.Mask, o.Birth, o.Store = a.sensitive, birth.ID, store
	var err error
	if o.Retention, err = a.rowRetention(ctx, store, s.Name, birth,
		RowTable(s.Aggregate.Table.Name, s.Aggregate.Group)); err != nil {
		return err
	}
	sink, err := view.NewAggregate(o)
	if err != nil {
		return err
	}
	r.Sink = sink
	r.Batch.Count = cmp.Or(r.Batch.Count, sink.Batch().Count)
	return nil
}

// AggregateOptions returns the options of an aggregate sink that depend on the file alone. s.Aggregate must be set. The
// result has no birth, mask, store or retention.
func AggregateOptions(cfg *config.Config, s config.Sink) view.AggregateOptions {
	o := view.AggregateOptions{
		Name:      s.Name,
		Pipeline:  cfg.Name,
		Table:     s.Aggregate.Table.Name,
		When:      s.ItemCondition(),
		ForEach:   s.Aggregate.ForEach,
		Shards:    s.Aggregate.Shards,
		KeepOnTTL: s.Aggregate.KeepOnTTL,

		NoTTLDeletes: cfg.DropsTTLDeletes(s),
	}
	o.PK, o.SK = viewKey(s.Aggregate.Group)
	for _, v := range s.Aggregate.Values {
		o.Values = append(o.Values, view.Value{Name: v.Name, Kind: v.Kind, Path: v.Path, Each: v.Each, Bound: v.Bound})
	}
	return o
}

// RowTable returns the table with this name. Its key has the attributes in key.
func RowTable(name string, key []config.Column) view.Table {
	t := view.Table{Name: name, PK: key[0].Name}
	if len(key) > 1 {
		t.SK = key[1].Name
	}
	return t
}

// viewKey returns the key of a view's rows. sk is zero if the key has one attribute.
func viewKey(cs []config.Column) (pk, sk view.Attribute) {
	key := viewAttributes(cs)
	if len(key) > 1 {
		sk = key[1]
	}
	return key[0], sk
}

// viewAttributes returns columns as attributes of a view's rows.
func viewAttributes(columns []config.Column) []view.Attribute {
	attributes := make([]view.Attribute, len(columns))
	for i, c := range columns {
		attributes[i] = view.Attribute{Name: c.Name, Template: c.Template}
	}
	return attributes
}

func (a *assembly) newSearch(ctx context.Context, s config.Sink) (pipeline.Sink, error) {
	store, birth := openedStore[search.Store](a, s)
	o := search.Options{
		Pipeline: a.cfg.Name,
		Birth:    birth.ID,
		Store:    store,
		Index:    s.Search.Index,
		When:     s.ItemCondition(),
		ForEach:  s.Search.ForEach.Spec(),
		Fields:   Fields(s.Search),
		HMACKey:  []byte(a.cfg.HMACKey),
		HashID:   s.Search.HashID,
		Routing:  s.Search.Routing,
		Mask:     a.mask(s),

		NoTTLDeletes: a.cfg.DropsTTLDeletes(s),
	}
	var err error
	var isEmpty func(context.Context) (bool, error)
	if s, ok := store.(search.Emptier); ok {
		isEmpty = s.Empty
	}
	if o.Retention, err = a.sinkRetention(ctx, store, birth, isEmpty, ErrIndexNotEmpty); err != nil {
		return nil, err
	}
	return search.New(o)
}

// Fields returns the fields of a search sink's documents. Its store needs them for the index's
// mapping.
func Fields(s *config.Search) search.Fields {
	f := search.Fields{
		Include: s.Fields.Include,
		Exclude: s.Fields.Exclude,
		Rename:  s.Fields.Rename,
		Hash:    s.Fields.Hash,
		Numbers: make(map[string]search.Number, len(s.Fields.Numbers)),
	}
	for path, n := range s.Fields.Numbers {
		f.Numbers[path] = search.Number(n)
	}
	return f
}

// setArchive sets the sink of r. It also sets the batch limits of r, since each batch becomes an object of the archive.
func (a *assembly) setArchive(s config.Sink, r *pipeline.Route) error {
	o := ArchiveOptions(s)
	o.Store, _ = openedStore[archive.Store](a, s)
	o.Mask = a.mask(s)
	sink, err := archive.New(o)
	if err != nil {
		return err
	}
	own := sink.Batch()
	r.Sink = sink
	r.Concurrency = cmp.Or(r.Concurrency, sink.Concurrency())
	r.Batch.Count = cmp.Or(r.Batch.Count, own.Count)
	r.Batch.Bytes = cmp.Or(r.Batch.Bytes, own.Bytes)
	r.Batch.Linger = cmp.Or(r.Batch.Linger, own.Linger)
	r.Batch.Fill = own.Fill
	return nil
}

// ArchiveOptions returns the options of an archive sink that depend on the file alone. s.Archive must be set. The
// result has no store and no mask.
func ArchiveOptions(s config.Sink) archive.Options {
	o := archive.Options{
		Prefix:    s.Archive.Prefix,
		Layout:    archive.Log,
		Format:    archive.Format(s.Archive.Format),
		Images:    archive.LineFormat(s.Archive.Images),
		Key:       s.Archive.Key,
		RawNames:  s.Archive.RawNames,
		Partition: s.Archive.Partition,
		Roll: archive.RollLimits{
			Bytes: cmp.Or(s.Batch.Bytes, s.Archive.Roll.Bytes),
			Age:   cmp.Or(s.Batch.Linger, s.Archive.Roll.Age),
		},
	}
	if s.Archive.PerItem {
		o.Layout, o.Format = archive.PerItem, ""
	}
	for _, c := range s.Archive.Columns {
		o.Columns = append(o.Columns, archive.Column{Name: c.Name, Value: c.Template})
	}
	for _, t := range s.Archive.Tags {
		o.Tags = append(o.Tags, archive.TagTemplate{Key: t.Name, Value: t.Template})
	}
	for _, k := range s.Archive.Kinds {
		o.Kinds = append(o.Kinds, archive.Kind(k))
	}
	return o
}

func (a *assembly) newNotify(s config.Sink) (pipeline.Sink, error) {
	store, _ := openedStore[notify.Store](a, s)
	n := s.Notify
	return notify.New(notify.Options{
		Pipeline: a.cfg.Name, Store: store, Events: n.Events, Attributes: n.Attributes, Bound: n.Bound, Region: n.Region,
		Origin: n.Origin, Mask: a.mask(s),
	})
}

// setGoSink sets the sink of r. It is the Go sink that [With] registered, or a heldSink if the Go sink is held back.
func (a *assembly) setGoSink(ctx context.Context, s config.Sink, r *pipeline.Route) error {
	name := s.Custom.Name
	code, hasCode := a.custom[name]
	canBeHeld := isGoSink(s) && (hasCode || a.mayLackCode())
	if canBeHeld && a.isHeld(s.Name) {
		a.holdSink(r, "give the change to the Go sink "+name)
		return nil
	}
	if !hasCode {
		return a.noGoSink(name)
	}
	sink, err := code.make(ctx, s.Custom.With)
	if err == nil && sink == nil {
		err = errors.New("what was given with sinks.With made no sink: it returned nil")
	}
	r.Sink = sink
	return err
}

// noGoSink returns the error of a Go sink whose code the program lacks.
func (a *assembly) noGoSink(name string) error {
	return fmt.Errorf("no Go sink is named %q: give it to cli.Main, function.Main or Assemble with sinks.With (it has %s)",
		name, names(a.custom))
}
