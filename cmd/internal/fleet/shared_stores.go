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
	cfg         *config.Config
	readLeases  stream.LeaseReader
	table       leases.Table                    // nil if leases are only read
	openStreams func() (shardreader.API, error) // nil if the command does not read the stream
	readGaps    func(context.Context) ([]state.NotedGap, error)
	noteGap     func(context.Context, record.Gap) error // nil if gaps are only read

	withState func(ctx context.Context, do func(state.Store) error) error // nil if the file names no state
	// stores are the existing stores of sinks; nil if leases are in a file, or if the command does not read them
	stores sinks.Stores

	maxSilence time.Duration // a consumer without a new heartbeat for this long is silent
	unusedFor  time.Duration // for how long no process has used the lease file; 0: a process uses it, or unknown
	target.Closers
}

// readState calls read with the state, if the file names one, and ends it after lookTimeout. It adds an error to obs as
// a failed read of subject.
func (shared *sharedStores) readState(
	ctx context.Context, obs *Observation, subject string, read func(context.Context, state.Store) error,
) {
	if shared.withState == nil {
		return
	}
	_, err := withTimeout(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, shared.withState(ctx, func(store state.Store) error { return read(ctx, store) })
	})
	obs.AddReadFailure(subject, err)
}

// leaseAccess is how a command uses the leases.
type leaseAccess int

const (
	inspectLeases leaseAccess = iota
	changeLeases
)

// openStores opens the leases, the stream and the gaps of cfg. With --live it first prints the names of the stores to
// w.
func openStores(
	ctx context.Context, t *target.Flags, cfg *config.Config, w io.Writer, access leaseAccess,
) (*sharedStores, error) {
	leaseFile, err := stream.LeaseFile(t, cfg)
	if err != nil {
		return nil, err
	}
	if err := t.CheckFolder(cfg); err != nil {
		return nil, err
	}
	shared := &sharedStores{cfg: cfg, maxSilence: stream.MaxSilence(t, cfg), openStreams: func() (shardreader.API, error) {
		sdk, err := target.LoadAWS(ctx)
		return stream.OpenRateLimited(sdk, cfg, 2), err
	}}
	if access == changeLeases && !t.Live {
		folder, err := local.Open(t.Local) // the open folder is locked, so no process can empty it meanwhile
		if err != nil {
			return nil, err
		}
		shared.OnClose(folder.Close)
	}
	if leaseFile == "" {
		err = shared.openLeaseTable(ctx, t, w)
	} else {
		err = errors.Join(shared.openLeaseFile(leaseFile, access), shared.openStateBesideFile(ctx, t, w))
	}
	if err != nil {
		return nil, errors.Join(err, shared.Close())
	}
	return shared, nil
}

// openLeaseFile opens leases in a file. To inspect them it does not lock the file, and a consumer can use the file at
// the same time.
func (shared *sharedStores) openLeaseFile(path string, access leaseAccess) error {
	shared.readLeases = func(context.Context) (leases.Snapshot, error) {
		snapshot, _, err := leasesfile.ReadUnlocked(path)
		return snapshot, err
	}
	shared.readGaps = func(context.Context) ([]state.NotedGap, error) {
		_, gaps, err := leasesfile.ReadUnlocked(path)
		return gaps, err
	}
	if access == inspectLeases {
		shared.unusedFor = idleTime(path)
		return nil
	}
	table, err := leasesfile.Open(path, shared.cfg.Name)
	if err != nil {
		return err
	}
	shared.table = table
	shared.OnClose(table.Close)
	shared.noteGap = table.AddGap
	return nil
}

// idleTime returns the time for which no process has used a file. It returns 0 if a process uses the file, or if the
// time is unknown.
func idleTime(path string) time.Duration {
	if used, err := leasesfile.InUse(path); used || err != nil {
		return 0
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return max(time.Since(info.ModTime()), time.Millisecond)
}

// openLeaseTable opens leases in a table, and the state table. It first prints their names to w.
func (shared *sharedStores) openLeaseTable(ctx context.Context, t *target.Flags, w io.Writer) error {
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return err
	}
	target.Announce(ctx, sdk, shared.cfg, w)
	table, err := stream.OpenLeaseTable(ctx, sdk, shared.cfg, t.Create)
	if err != nil {
		return err
	}
	shared.table, shared.readLeases = table, table.Read
	return shared.openState(ctx, t, sdk, w)
}

// openState opens the state table, which has the gaps and the notes of consumers. It keeps the stores of sinks if the
// command only inspects.
func (shared *sharedStores) openState(ctx context.Context, t *target.Flags, sdk awssdk.Config, w io.Writer) error {
	opened := aws.Stores(sdk, t.Options(w)...)
	shared.OnClose(opened.Close)
	store, err := opened.State(ctx, shared.cfg)
	if err != nil {
		return err
	}
	shared.noteGap = store.AddGap
	shared.readGaps = func(ctx context.Context) ([]state.NotedGap, error) { return stream.Collect(store.Gaps(ctx)) }
	shared.withState = func(_ context.Context, do func(state.Store) error) error { return do(store) }
	if t.ReadOnly {
		shared.stores = opened
	}
	return nil
}

// openStateOnly opens the state table of cfg, without leases and streams. It first prints the names of the stores to w.
func openStateOnly(ctx context.Context, t *target.Flags, cfg *config.Config, w io.Writer) (*sharedStores, error) {
	if cfg.State == nil {
		return nil, fmt.Errorf(
			"%s has neither leases, so that there is no consumer to inspect, nor state, which holds the gaps: add state: {table: NAME}", cfg.File)
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return nil, err
	}
	target.Announce(ctx, sdk, cfg, w)
	noLeases := func(context.Context) (leases.Snapshot, error) { return leases.Snapshot{}, nil }
	shared := &sharedStores{cfg: cfg, readLeases: noLeases}
	if err := shared.openState(ctx, t, sdk, w); err != nil {
		return nil, errors.Join(err, shared.Close())
	}
	return shared, nil
}

// openStateBesideFile opens the state if the leases are in a file. With --local that is the state of the folder, which
// a consumer may use at the same time. Otherwise it is the state table, if cfg has one.
func (shared *sharedStores) openStateBesideFile(ctx context.Context, t *target.Flags, w io.Writer) error {
	if !t.Live {
		shared.withState = func(ctx context.Context, do func(state.Store) error) error {
			read := func(store *sqlite.State) error { return do(store) }
			return target.ReadState(ctx, local.Dir(t.Local), shared.cfg.Name, read)
		}
		return nil
	}
	if shared.cfg.State == nil {
		return nil
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return err
	}
	// openState would replace the functions for gaps, but the gaps are in the lease file. So it opens other stores.
	stateOnly := &sharedStores{cfg: shared.cfg}
	shared.OnClose(stateOnly.Close)
	err = stateOnly.openState(ctx, t, sdk, w)
	shared.withState = stateOnly.withState
	return err
}
