package canary

import (
	"context"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/search"
)

type (
	faultySearch struct {
		search.Store
		faults *faulty
	}
	faultyArchive struct {
		archive.Store
		faults *faulty
	}
	faultyNotify struct {
		notify.Store
		faults *faulty
	}
)

func (f *faulty) Search(ctx context.Context, cfg *config.Config, s config.Sink) (search.Store, error) {
	store, err := f.Stores.Search(ctx, cfg, s)
	return faultySearch{store, f}, err
}

func (f *faulty) Archive(ctx context.Context, cfg *config.Config, s config.Sink) (archive.Store, error) {
	store, err := f.Stores.Archive(ctx, cfg, s)
	return faultyArchive{store, f}, err
}

func (f *faulty) Notify(ctx context.Context, cfg *config.Config, s config.Sink) (notify.Store, error) {
	store, err := f.Stores.Notify(ctx, cfg, s)
	return faultyNotify{store, f}, err
}

func (s faultySearch) Apply(ctx context.Context, ms []search.Mutation) ([]search.Result, error) {
	if err := s.faults.fail(ms); err != nil {
		return nil, err
	}
	return s.Store.Apply(ctx, ms)
}

func (s faultyArchive) Put(ctx context.Context, o archive.Object) error {
	if err := s.faults.fail(o.Name + string(o.Body)); err != nil {
		return err
	}
	return s.Store.Put(ctx, o)
}

func (s faultyNotify) Publish(ctx context.Context, ms []notify.Message) error {
	if err := s.faults.fail(ms); err != nil {
		return err
	}
	return s.Store.Publish(ctx, ms)
}
