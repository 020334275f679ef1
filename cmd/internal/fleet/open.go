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

// opened has the open stores that consumers share, for a command that inspects or changes them.
type opened struct {
	read    func(context.Context) (leases.Snapshot, error)
	table   leases.Table                    // nil if leases are only read
	streams func() (shardreader.API, error) // nil if the command does not read the stream
	gaps    func(context.Context) ([]record.Gap, error)
	note    func(context.Context, record.Gap) error // nil if gaps are only read

	heldBack func(context.Context) ([]state.HeldBack, error) // nil if no consumer notes it
	stores   sinks.Stores                                    // existing stores of sinks; nil if leases are in a file, or if the command does not read them

	silent time.Duration // a consumer without a new heartbeat for this long is silent
	gone   time.Duration // how long no process has used the lease file; 0: one does, or it is unknown
	target.Closers
}

// openStores opens the leases, the stream and the gaps of cfg, to inspect them or to change leases. With --live it
// first names them on w.
func openStores(ctx context.Context, t *target.Flags, cfg *config.Config, w io.Writer, change bool) (*opened, error) {
	path, err := stream.LeaseFile(t, cfg)
	if err != nil {
		return nil, err
	}
	if !t.Live {
		if err := target.CheckLocalFolder(t.Local); err != nil {
			return nil, err
		}
	}
	f := &opened{silent: stream.LeaseDuration(cfg), streams: func() (shardreader.API, error) {
		sdk, err := target.LoadAWS(ctx)
		return stream.OpenRateLimited(sdk, cfg), err
	}}
	if path != "" {
		if change && !t.Live {
			folder, err := local.Open(t.Local) // no process empties it meanwhile
			if err != nil {
				return nil, err
			}
			f.OnClose(folder.Close)
		}
		if err := errors.Join(f.openFile(cfg, path, change), f.openHeldBack(ctx, t, cfg, w)); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return nil, err
	}
	target.Announce(ctx, sdk, cfg, w)
	if err := f.openTable(ctx, t, sdk, cfg, w); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openFile opens leases in a file. A consumer can use the file meanwhile if change is false.
func (f *opened) openFile(cfg *config.Config, path string, change bool) error {
	f.silent = max(f.silent, fileSilent)
	f.read = func(context.Context) (leases.Snapshot, error) {
		seen, _, err := leasesfile.ReadUnlocked(path)
		return seen, err
	}
	f.gaps = func(context.Context) ([]record.Gap, error) {
		_, noted, err := leasesfile.ReadUnlocked(path)
		return noted, err
	}
	if !change {
		f.gone = idleSince(path)
		return nil
	}
	table, err := leasesfile.Open(path, cfg.Name)
	if err != nil {
		return err
	}
	f.table = table
	f.OnClose(table.Close)
	f.note = table.AddGap
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
func (f *opened) openTable(ctx context.Context, t *target.Flags, sdk awssdk.Config, cfg *config.Config, w io.Writer) error {
	table, err := stream.OpenLeaseTable(ctx, sdk, cfg, t.Create)
	if err != nil {
		return err
	}
	f.table, f.read = table, table.Read
	return f.openState(ctx, t, sdk, cfg, w)
}

// openState opens the state table: gaps, and what consumers noted of held back shards. It keeps the stores of sinks
// if the command only looks.
func (f *opened) openState(ctx context.Context, t *target.Flags, sdk awssdk.Config, cfg *config.Config, w io.Writer) error {
	opened := aws.Stores(sdk, t.Options(w)...)
	f.OnClose(opened.Close)
	kept, err := opened.State(ctx, cfg)
	if err != nil {
		return err
	}
	f.note = kept.AddGap
	if noted, ok := kept.(interface {
		HeldBack(ctx context.Context) ([]state.HeldBack, error)
	}); ok {
		f.heldBack = noted.HeldBack
	}
	if t.LookOnly {
		f.stores = opened
	}
	f.gaps = func(ctx context.Context) ([]record.Gap, error) { return stream.AllGaps(ctx, kept) }
	return nil
}

// openGaps opens the state table of cfg, without leases and streams. It first names the stores on w.
func openGaps(ctx context.Context, t *target.Flags, cfg *config.Config, w io.Writer) (*opened, error) {
	if cfg.State == nil {
		return nil, fmt.Errorf("%s has neither leases, so that there is no consumer to inspect, nor state, which holds the gaps: add state: {table: NAME}", cfg.File)
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return nil, err
	}
	target.Announce(ctx, sdk, cfg, w)
	f := &opened{read: func(context.Context) (leases.Snapshot, error) { return leases.Snapshot{}, nil }}
	if err := f.openState(ctx, t, sdk, cfg, w); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openHeldBack opens what is noted beside leases that are in a file: in the --local folder, or
// in the state table, where there is one.
func (f *opened) openHeldBack(ctx context.Context, t *target.Flags, cfg *config.Config, w io.Writer) error {
	if !t.Live {
		f.heldBack = func(ctx context.Context) ([]state.HeldBack, error) { return localHeldBack(ctx, t.Local, cfg.Name) }
		return nil
	}
	if cfg.State == nil {
		return nil
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return err
	}
	beside := &opened{}
	f.OnClose(beside.Close)
	err = beside.openState(ctx, t, sdk, cfg, w)
	f.heldBack = beside.heldBack
	return err
}

// localHeldBack is what is noted in a folder, which a consumer may work on.
func localHeldBack(ctx context.Context, dir, name string) (held []state.HeldBack, err error) {
	err = target.ReadState(ctx, local.Dir(dir), name, func(kept *sqlite.State) error {
		held, err = kept.HeldBack(ctx)
		return err
	})
	return held, err
}
