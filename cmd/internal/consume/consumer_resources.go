package consume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
	leasesdynamo "github.com/tablewake/tablewake/shardreader/leases/dynamo"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// resources are the open stream, leases, gaps and stores of a consumer.
type resources struct {
	api    shardreader.API
	table  leases.Table
	gaps   state.Gaps
	stores *target.Stores

	state         state.Store
	priorReadText string // error text for an empty state, from [stream.PriorReadText]; "": the leases prove no reads

	target.Closers
}

// openResources opens the resources of a consumer, and prints to w what it opens.
func (o *options) openResources(ctx context.Context, cfg *config.Config, w io.Writer) (*resources, error) {
	path, err := stream.LeaseFile(&o.Flags, cfg)
	if err != nil {
		return nil, err
	}
	sdk, err := target.LoadAWSWithTelemetry(ctx, o.Telemetry)
	if err != nil {
		return nil, err
	}
	r := &resources{api: stream.Open(sdk, cfg, maxReadCalls)}
	// Find the streams first: in the wrong Region, opening the stores would create tables.
	streams, err := r.announceStreams(ctx, &o.start, cfg, w)
	if errors.Is(err, shardreader.ErrNotFound) {
		err = fmt.Errorf("Region %s: %w", sdk.Region, err)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.announceAccount(ctx, sdk, w)
	if err := o.checkViewType(ctx, r.api, cfg, streams); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if err := r.openStores(ctx, o, cfg, sdk, w); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if path != "" {
		err = r.openLeaseFile(ctx, cfg, path, w)
	} else {
		err = r.openLeaseTable(ctx, o, cfg, sdk, w)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// checkViewType returns an error if --create is set and a stream lacks images that the sinks need. Without this check,
// all tables would be created before the run ends at the first record. It skips a stream that cannot be described now,
// because reading describes that stream again.
func (o *options) checkViewType(
	ctx context.Context, api shardreader.API, cfg *config.Config, streams []shardreader.StreamRef,
) error {
	if !o.Create {
		return nil
	}
	p, err := sinks.Assemble(ctx, cfg, sinks.PlanOnly(), sinks.WithExtensions(o.extensions...),
		sinks.HoldCustom("consume"))
	if err != nil {
		return err
	}
	for _, s := range streams {
		d, err := api.DescribeStream(ctx, shardreader.DescribeQuery{StreamARN: s.ARN})
		if err != nil {
			continue
		}
		if err := p.CheckView(d.ViewType, s.ARN); err != nil {
			return fmt.Errorf("%s:%d: source: %w", cfg.File, cfg.Source.Line, err)
		}
	}
	return nil
}

// announceAccount prints the account in the background, so that a slow STS does not delay the start.
func (r *resources) announceAccount(ctx context.Context, sdk awssdk.Config, w io.Writer) {
	ctx, stop := context.WithCancel(ctx)
	var announcing sync.WaitGroup
	announcing.Go(func() {
		if account := target.AccountID(ctx, sdk); ctx.Err() == nil {
			fmt.Fprintf(w, "account %s, Region %s\n", account, sdk.Region)
		}
	})
	r.OnClose(func() error {
		stop()
		announcing.Wait()
		return nil
	})
}

// announceStreams prints the streams, where reading starts, and the cost of polling.
func (r *resources) announceStreams(
	ctx context.Context, s *startup, cfg *config.Config, w io.Writer,
) ([]shardreader.StreamRef, error) {
	refs, err := startStep(ctx, s, "listing the streams",
		func() ([]shardreader.StreamRef, error) { return stream.NewestStreams(ctx, r.api, cfg) })
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		fmt.Fprintf(w, "stream %s, %s, %s\n", ref.ARN, startText(cfg.Source.Start), gapTexts[cfg.Source.OnGap])
	}
	fmt.Fprintln(w, pollingText(cfg.Source.Polling))
	return refs, nil
}

// openStores opens the stores, and then the state. If the state table is lost but the sinks have output that belongs to
// it, opening the state fails and creates no new table. The lease table is opened later, because opening it creates a
// missing state table without that check.
func (r *resources) openStores(
	ctx context.Context, o *options, cfg *config.Config, sdk awssdk.Config, w io.Writer,
) (err error) {
	if o.Live {
		target.AnnounceStores(cfg, w)
		r.stores = target.LiveStores(sdk, o.Options(w)...)
	} else if r.stores, err = o.OpenLocal(cfg, w, false); err != nil {
		return err
	}
	r.OnClose(r.stores.Close)
	r.state, err = startStep(ctx, &o.start, "opening the state",
		func() (state.Store, error) { return r.stores.State(ctx, cfg) })
	return err
}

// openLeaseFile opens the lease file, which also has the gaps.
func (r *resources) openLeaseFile(ctx context.Context, cfg *config.Config, path string, w io.Writer) error {
	table, err := leasesfile.Open(path, cfg.Name)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "leases in %s, for this consumer alone\n", filepath.Clean(path))
	r.table, r.gaps = table, table
	r.OnClose(table.Close)
	snapshot, err := table.Read(ctx)
	r.priorReadText = stream.PriorReadText(snapshot, filepath.Clean(path))
	return err
}

// openLeaseTable opens and claims the lease table. The state has the gaps.
func (r *resources) openLeaseTable(
	ctx context.Context, o *options, cfg *config.Config, sdk awssdk.Config, w io.Writer,
) error {
	table, err := startStep(ctx, &o.start, "opening the lease table", func() (*leasesdynamo.Table, error) {
		return stream.OpenLeaseTable(ctx, sdk, cfg, o.Create)
	})
	if err != nil {
		return err
	}
	if _, err := startStep(ctx, &o.start, "claiming the lease table",
		func() (struct{}, error) { return struct{}{}, table.Claim(ctx) }); err != nil {
		return err
	}
	read := func(ctx context.Context) (leases.Snapshot, error) {
		return startStep(ctx, &o.start, "reading the lease table", func() (leases.Snapshot, error) { return table.Read(ctx) })
	}
	snapshot, err := read(ctx)
	if err != nil {
		return err
	}
	r.priorReadText = stream.PriorReadText(snapshot, "table "+cfg.Leases.Table.Name)
	r.table, r.gaps = table, r.state
	fmt.Fprintf(w, "leases in table %s, %s; this consumer is replaced after %s of silence\n", cfg.Leases.Table.Name,
		table.Format(), stream.LeaseDuration(cfg))
	return refuseRunningApplication(ctx, read, w)
}

// restTime is how long the leases of another application must stay unchanged to show that it has stopped. An
// application of the KCL renews its leases at least every ten seconds.
const restTime = 12 * time.Second

// refuseRunningApplication returns an error if another application still renews leases of the table, because two
// running applications would take the same shards from each other. If the table has leases of another application, it
// waits for restTime to find out.
func refuseRunningApplication(ctx context.Context, read stream.LeaseReader, w io.Writer) error {
	before, err := read(ctx)
	if err != nil || len(before.Foreign()) == 0 {
		return err
	}
	fmt.Fprintf(w, "there are leases of another application (%s): watching for %s whether it is at rest\n",
		strings.Join(before.Foreign(), ", "), restTime)
	if err := pipeline.Sleep(ctx, restTime); err != nil {
		return err
	}
	after, err := read(ctx)
	if err != nil {
		return err
	}
	if active := leases.ActiveForeign(before, after); len(active) > 0 {
		return fmt.Errorf(
			"another application works on these leases (%s): stop it first, all of it; then this one continues where it stopped",
			strings.Join(active, ", "))
	}
	return nil
}
