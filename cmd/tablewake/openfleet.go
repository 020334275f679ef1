package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
	leasesdynamo "github.com/tablewake/tablewake/shardreader/leases/dynamo"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
)

// openFleet is what consumers share, open for a command that looks at it, or changes
// it, from outside.
type openFleet struct {
	read    func(context.Context) (leases.Snapshot, error)
	table   leases.Table                    // nil where it is only looked at
	streams func() (shardreader.API, error) // nil where the stream is none of its business
	gaps    func(context.Context) ([]state.Gap, error)
	note    func(context.Context, state.Gap) error // nil where it is only looked at

	heldBack func(context.Context) ([]state.HeldBack, error) // nil where nobody notes it
	stores   sinks.Stores                                    // opened as they are; nil where they are another process's

	silent time.Duration // how long a consumer's beat stands still that is gone
	gone   time.Duration // for how long no consumer was there at all, as far as that is known without watching; 0: not known
	close  []func() error
}

// Close closes it.
func (f *openFleet) Close() error {
	var errs []error
	for i := len(f.close) - 1; i >= 0; i-- {
		errs = append(errs, f.close[i]())
	}
	return errors.Join(errs...)
}

// openFleet opens the leases, the stream and the gaps of cfg, to look at them, or to
// change leases. Of real ones it first says on w which they are.
func (t *target) openFleet(ctx context.Context, cfg *config.Config, w io.Writer, change bool) (*openFleet, error) {
	path, err := t.leaseFile(cfg)
	if err != nil {
		return nil, err
	}
	if !t.live {
		if err := wroteLocal(t.local); err != nil {
			return nil, err
		}
	}
	f := &openFleet{silent: leaseDuration(cfg), streams: func() (shardreader.API, error) {
		sdk, err := loadAWS(ctx)
		return &politely{API: newStreams(sdk, cfg, 2)}, err
	}}
	if path != "" {
		if change && !t.live {
			folder, err := local.Open(t.local) // nobody empties it meanwhile
			if err != nil {
				return nil, err
			}
			f.close = append(f.close, folder.Close)
		}
		if err := errors.Join(f.openFile(cfg, path, change), f.openHeldBack(ctx, t, cfg, w)); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
	sdk, err := loadAWS(ctx)
	if err != nil {
		return nil, err
	}
	announce(ctx, sdk, cfg, w)
	if err := f.openTable(ctx, t, sdk, cfg, w); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openFile opens leases in a file. A consumer may work with it, if they are only looked at.
func (f *openFleet) openFile(cfg *config.Config, path string, change bool) error {
	f.silent = max(f.silent, fileSilent)
	f.read = func(context.Context) (leases.Snapshot, error) {
		seen, _, err := leasesfile.Look(path)
		return seen, err
	}
	f.gaps = func(context.Context) ([]state.Gap, error) {
		_, noted, err := leasesfile.Look(path)
		gaps := make([]state.Gap, len(noted))
		for i, g := range noted {
			gaps[i] = gapOf(g, timeOf(g.Found))
		}
		return gaps, err
	}
	if !change {
		f.gone = idleSince(path)
		return nil
	}
	table, err := leasesfile.Open(path, cfg.Name)
	if err != nil {
		return err
	}
	f.table, f.close = table, append(f.close, table.Close)
	f.note = func(ctx context.Context, g state.Gap) error { return table.AddGap(ctx, workerGap(g)) }
	return nil
}

// idleSince is for how long nobody has worked with a file; 0 where somebody does.
func idleSince(path string) time.Duration {
	if used, err := leasesfile.InUse(path); used || err != nil {
		return 0
	}
	about, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return max(time.Since(about.ModTime()), time.Millisecond)
}

// fileSilent is how long the beats in a file stand still of a consumer that is gone: one
// that is idle writes the file every ten seconds.
const fileSilent = 13 * time.Second

// openTable opens leases in a table, and the state table beside it.
func (f *openFleet) openTable(ctx context.Context, t *target, sdk awssdk.Config, cfg *config.Config, w io.Writer) error {
	table, err := openLeaseTable(ctx, sdk, cfg, t.create)
	if err != nil {
		return err
	}
	f.table, f.read = table, table.Read
	return f.openState(ctx, t, sdk, cfg, w)
}

// openState opens the gaps in the state table.
func (f *openFleet) openState(ctx context.Context, t *target, sdk awssdk.Config, cfg *config.Config, w io.Writer) error {
	opened := aws.Stores(sdk, t.options(w)...)
	f.close = append(f.close, opened.Close)
	kept, err := opened.State(ctx, cfg)
	if err != nil {
		return err
	}
	f.note = kept.AddGap
	if noted, ok := kept.(heldBackStore); ok {
		f.heldBack = noted.HeldBack
	}
	if t.lookOnly {
		f.stores = opened
	}
	f.gaps = func(ctx context.Context) ([]state.Gap, error) { return allGaps(ctx, kept) }
	return nil
}

// openGaps opens the gaps of cfg, where there are no leases: nobody is there to be seen, and
// nobody's stream. It first says on w which stores are cfg's.
func (t *target) openGaps(ctx context.Context, cfg *config.Config, w io.Writer) (*openFleet, error) {
	if cfg.State == nil {
		return nil, fmt.Errorf("%s says nothing of leases, so that there is no consumer to look at, and nothing of state, where gaps are noted: add state: {table: NAME}", cfg.File)
	}
	sdk, err := loadAWS(ctx)
	if err != nil {
		return nil, err
	}
	announce(ctx, sdk, cfg, w)
	f := &openFleet{read: func(context.Context) (leases.Snapshot, error) { return leases.Snapshot{}, nil }}
	if err := f.openState(ctx, t, sdk, cfg, w); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// leaseFile is the file of cfg's leases, "" where they are in a table. With --local they
// are in the folder, whatever cfg says: a try on a laptop takes no shard from those who work.
func (t *target) leaseFile(cfg *config.Config) (string, error) {
	switch {
	case !t.live:
		return filepath.Join(t.local, "leases.json"), nil
	case cfg.Leases == nil:
		return "", fmt.Errorf("%s says nothing of leases: add leases: {table: NAME}, or leases: {file: PATH} for one consumer alone", cfg.File)
	}
	return cfg.Leases.File, nil
}

// openLeaseTable opens the table of cfg's leases, and makes it where create says so.
func openLeaseTable(ctx context.Context, sdk awssdk.Config, cfg *config.Config, create bool) (*leasesdynamo.Table, error) {
	err := errors.Join(aws.SameRegion("leases.table", cfg.Leases.ARN, sdk), aws.SameRegion("state.table", cfg.State.ARN, sdk))
	if err != nil {
		return nil, err
	}
	table, err := newLeaseTable(sdk, cfg)
	if err != nil {
		return nil, err
	}
	if create {
		return table, table.CreateTables(ctx)
	}
	return table, table.Check(ctx)
}

// newLeaseTable is the table of cfg's leases, which is not looked at yet.
func newLeaseTable(sdk awssdk.Config, cfg *config.Config) (*leasesdynamo.Table, error) {
	return leasesdynamo.New(leasesdynamo.Options{
		Client: dynamodb.NewFromConfig(sdk), Table: cfg.Leases.Table, State: cfg.State.Table, Pipeline: cfg.Name,
		Streams: len(cfg.Source.Tables) > 1,
	})
}

// leaseDuration is how long a consumer of cfg may be silent.
func leaseDuration(cfg *config.Config) time.Duration {
	if cfg.Leases == nil {
		return 6 * time.Second
	}
	return cfg.Leases.Duration
}
