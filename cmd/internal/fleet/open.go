package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// sharedStores are the open stores that consumers share, for a command that inspects or changes them.
type sharedStores struct {
	read    func(context.Context) (leases.Snapshot, error)
	table   leases.Table                    // nil if leases are only read
	streams func() (shardreader.API, error) // nil if the command does not read the stream
	gaps    func(context.Context) ([]state.NotedGap, error)
	note    func(context.Context, record.Gap) error // nil if gaps are only read

	heldBack func(context.Context) ([]state.HeldBack, error) // nil if no consumer notes it
	births   func(context.Context) ([]state.Birth, error)    // nil if the file names no state
	fills    fillReader                                      // nil if births is
	stores   sinks.Stores                                    // existing stores of sinks; nil if leases are in a file, or if the command does not read them

	silent time.Duration // a consumer without a new heartbeat for this long is silent
	gone   time.Duration // how long no process has used the lease file; 0: one does, or it is unknown
	target.Closers
}

// fillReader reads the backfills that fill the outputs of births.
type fillReader func(ctx context.Context, births []state.Birth) (map[string]Fill, error)

// openStores opens the leases, the stream and the gaps of cfg, to inspect them or to change leases. With --live it
// first names them on w.
func openStores(ctx context.Context, t *target.Flags, cfg *config.Config, w io.Writer, change bool) (*sharedStores, error) {
	path, err := stream.LeaseFile(t, cfg)
	if err != nil {
		return nil, err
	}
	if !t.Live {
		if err := target.CheckLocalFolder(t.Local); err != nil {
			return nil, err
		}
	}
	shared := &sharedStores{silent: stream.LeaseDuration(cfg), streams: func() (shardreader.API, error) {
		sdk, err := target.LoadAWS(ctx)
		return stream.OpenRateLimited(sdk, cfg, 2), err
	}}
	if path != "" {
		if change && !t.Live {
			folder, err := local.Open(t.Local) // no process empties it meanwhile
			if err != nil {
				return nil, err
			}
			shared.OnClose(folder.Close)
		}
		if err := errors.Join(shared.openFile(cfg, path, change), shared.openHeldBack(ctx, t, cfg, w)); err != nil {
			return nil, errors.Join(err, shared.Close())
		}
		return shared, nil
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return nil, err
	}
	target.Announce(ctx, sdk, cfg, w)
	if err := shared.openTable(ctx, t, sdk, cfg, w); err != nil {
		return nil, errors.Join(err, shared.Close())
	}
	return shared, nil
}

// openFile opens leases in a file. Without change a consumer can use the file at the same time.
func (shared *sharedStores) openFile(cfg *config.Config, path string, change bool) error {
	shared.silent = max(shared.silent, fileSilent)
	shared.read = func(context.Context) (leases.Snapshot, error) {
		seen, _, err := leasesfile.ReadUnlocked(path)
		return seen, err
	}
	shared.gaps = func(context.Context) ([]state.NotedGap, error) {
		_, noted, err := leasesfile.ReadUnlocked(path)
		return noted, err
	}
	if !change {
		shared.gone = idleSince(path)
		return nil
	}
	table, err := leasesfile.Open(path, cfg.Name)
	if err != nil {
		return err
	}
	shared.table = table
	shared.OnClose(table.Close)
	shared.note = table.AddGap
	return nil
}

// idleSince returns how long no process has used a file; 0 if one does.
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

// fileSilent is how long a file has no new heartbeat of a dead consumer: an idle one writes the file every ten
// seconds.
const fileSilent = 13 * time.Second

// openTable opens leases in a table, and the state table.
func (shared *sharedStores) openTable(ctx context.Context, t *target.Flags, sdk awssdk.Config, cfg *config.Config, w io.Writer) error {
	table, err := stream.OpenLeaseTable(ctx, sdk, cfg, t.Create)
	if err != nil {
		return err
	}
	shared.table, shared.read = table, table.Read
	return shared.openState(ctx, t, sdk, cfg, w)
}

// openState opens the state table, which has the gaps and the notes of consumers. It keeps the stores of sinks if the
// command only inspects.
func (shared *sharedStores) openState(ctx context.Context, t *target.Flags, sdk awssdk.Config, cfg *config.Config, w io.Writer) error {
	opened := aws.Stores(sdk, t.Options(w)...)
	shared.OnClose(opened.Close)
	kept, err := opened.State(ctx, cfg)
	if err != nil {
		return err
	}
	shared.note = kept.AddGap
	if noted, ok := kept.(interface {
		HeldBack(ctx context.Context) ([]state.HeldBack, error)
	}); ok {
		shared.heldBack = noted.HeldBack
	}
	if t.LookOnly {
		shared.stores = opened
	}
	shared.births = func(ctx context.Context) ([]state.Birth, error) { return stream.Collect(kept.Births(ctx)) }
	shared.fills = func(ctx context.Context, births []state.Birth) (map[string]Fill, error) {
		return ReadFills(ctx, kept, births)
	}
	shared.gaps = func(ctx context.Context) ([]state.NotedGap, error) { return stream.Collect(kept.Gaps(ctx)) }
	return nil
}

// openGaps opens the state table of cfg, without leases and streams. It first names the stores on w.
func openGaps(ctx context.Context, t *target.Flags, cfg *config.Config, w io.Writer) (*sharedStores, error) {
	if cfg.State == nil {
		return nil, fmt.Errorf("%s has neither leases, so that there is no consumer to inspect, nor state, which holds the gaps: add state: {table: NAME}", cfg.File)
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return nil, err
	}
	target.Announce(ctx, sdk, cfg, w)
	shared := &sharedStores{read: func(context.Context) (leases.Snapshot, error) { return leases.Snapshot{}, nil }}
	if err := shared.openState(ctx, t, sdk, cfg, w); err != nil {
		return nil, errors.Join(err, shared.Close())
	}
	return shared, nil
}

// openHeldBack opens the notes of consumers if the leases are in a file. The notes are in the --local folder, or in the
// state table if cfg has one.
func (shared *sharedStores) openHeldBack(ctx context.Context, t *target.Flags, cfg *config.Config, w io.Writer) error {
	if !t.Live {
		shared.heldBack = func(ctx context.Context) ([]state.HeldBack, error) { return localHeldBack(ctx, t.Local, cfg.Name) }
		shared.births = func(ctx context.Context) ([]state.Birth, error) { return localBirths(ctx, t.Local, cfg.Name) }
		shared.fills = func(ctx context.Context, births []state.Birth) (fills map[string]Fill, err error) {
			err = target.ReadState(ctx, local.Dir(t.Local), cfg.Name, func(kept *sqlite.State) error {
				fills, err = ReadFills(ctx, kept, births)
				return err
			})
			return fills, err
		}
		return nil
	}
	if cfg.State == nil {
		return nil
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return err
	}
	stateOnly := &sharedStores{}
	shared.OnClose(stateOnly.Close)
	err = stateOnly.openState(ctx, t, sdk, cfg, w)
	shared.heldBack, shared.births, shared.fills = stateOnly.heldBack, stateOnly.births, stateOnly.fills
	return err
}

// localHeldBack returns the notes in a --local folder. A consumer may use the folder at the same time.
func localHeldBack(ctx context.Context, dir, name string) (held []state.HeldBack, err error) {
	err = target.ReadState(ctx, local.Dir(dir), name, func(kept *sqlite.State) error {
		held, err = kept.HeldBack(ctx)
		return err
	})
	return held, err
}

// localBirths returns the births in a --local folder. A consumer may use the folder at the same time.
func localBirths(ctx context.Context, dir, name string) (births []state.Birth, err error) {
	err = target.ReadState(ctx, local.Dir(dir), name, func(kept *sqlite.State) error {
		births, err = stream.Collect(kept.Births(ctx))
		return err
	})
	return births, err
}
