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

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/leases"
	leasesdynamo "github.com/tablewake/tablewake/shardreader/leases/dynamo"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks/state"
)

// parts is what a consumer works on: the stream, leases, gaps and stores.
type parts struct {
	api    shardreader.API
	table  leases.Table
	gaps   pipeline.GapStore
	stores *target.Stores

	heldBack   heldBackStore // nil where there is no place for it
	readBefore string        // how leases tell that the stream was read before; "" where they don't

	target.Closers
	asking sync.WaitGroup
}

// openParts opens what a consumer works on, and says on w what that is.
func (o *options) openParts(ctx context.Context, cfg *config.Config, w io.Writer) (*parts, error) {
	path, err := stream.LeaseFile(&o.Flags, cfg)
	if err != nil {
		return nil, err
	}
	sdk, err := target.LoadAWSWithTelemetry(ctx, o.Telemetry)
	if err != nil {
		return nil, err
	}
	p := &parts{api: stream.Open(sdk, cfg, readCalls)}
	p.announce(ctx, sdk, w)
	if err := errors.Join(p.say(ctx, &o.start, cfg, w), p.open(ctx, o, cfg, sdk, path, w)); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// announce says whose account it is, as soon as that is known: nothing waits for it.
func (p *parts) announce(ctx context.Context, sdk awssdk.Config, w io.Writer) {
	ctx, stop := context.WithCancel(ctx)
	p.asking.Go(func() {
		if account := target.AccountID(ctx, sdk); ctx.Err() == nil {
			fmt.Fprintf(w, "account %s, Region %s\n", account, sdk.Region)
		}
	})
	p.OnClose(func() error {
		stop()
		p.asking.Wait()
		return nil
	})
}

// say says which streams are read, from where, and what that costs.
func (p *parts) say(ctx context.Context, s *starting, cfg *config.Config, w io.Writer) error {
	refs, err := waiting(ctx, s, "listing the streams", func() ([]shardreader.StreamRef, error) { return stream.NewestStreams(ctx, p.api, cfg) })
	if err != nil {
		return err
	}
	for _, ref := range refs {
		fmt.Fprintf(w, "stream %s, %s, %s\n", ref.ARN, startText(cfg.Source.Start), cli.Either(cfg.Source.ContinueOnGap, "gaps are passed over", "shards stop at gaps"))
	}
	fmt.Fprintln(w, pollingText(cfg.Source.Polling))
	return nil
}

// open opens leases, gaps and stores.
func (p *parts) open(ctx context.Context, o *options, cfg *config.Config, sdk awssdk.Config, path string, w io.Writer) (err error) {
	if o.Live {
		target.AnnounceStores(cfg, w)
		p.stores = target.LiveStores(sdk, o.Options(w)...)
	} else if p.stores, err = o.OpenLocal(cfg, w, false); err != nil {
		return err
	}
	p.OnClose(p.stores.Close)
	kept, err := waiting(ctx, &o.start, "opening the state", func() (state.Store, error) { return p.stores.State(ctx, cfg) }) // first: a state table is not made beside what was written under another one
	if err != nil {
		return err
	}
	p.heldBack, _ = kept.(heldBackStore)
	if path != "" {
		table, err := leasesfile.Open(path, cfg.Name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "leases in %s, for this consumer alone\n", filepath.Clean(path))
		p.table, p.gaps = table, table
		p.OnClose(table.Close)
		seen, err := table.Read(ctx)
		p.readBefore = stream.ReadBeforeText(seen, filepath.Clean(path))
		return err
	}
	table, err := waiting(ctx, &o.start, "opening the lease table", func() (*leasesdynamo.Table, error) {
		return stream.OpenLeaseTable(ctx, sdk, cfg, o.Create)
	})
	if err != nil {
		return err
	}
	read := func(ctx context.Context) (leases.Snapshot, error) {
		return waiting(ctx, &o.start, "reading the lease table", func() (leases.Snapshot, error) { return table.Read(ctx) })
	}
	if _, err := waiting(ctx, &o.start, "claiming the lease table", func() (struct{}, error) { return struct{}{}, table.Claim(ctx) }); err != nil {
		return err
	}
	seen, err := read(ctx)
	if err != nil {
		return err
	}
	p.readBefore = stream.ReadBeforeText(seen, "table "+cfg.Leases.Table.Name)
	p.table, p.gaps = table, kept
	fmt.Fprintf(w, "leases in table %s, %s; this consumer is replaced after %s of silence\n", cfg.Leases.Table.Name, table.Form(), stream.LeaseDuration(cfg))
	return takeOver(ctx, read, w)
}

// atRest is how long leases must stand still for another application to be at rest: it
// renews them at least every ten seconds.
const atRest = 12 * time.Second

// takeOver waits, where leases are of another application, until it is seen to be at
// rest: two that read the same shards would each take them from the other.
func takeOver(ctx context.Context, read func(context.Context) (leases.Snapshot, error), w io.Writer) error {
	before, err := read(ctx)
	if err != nil || len(before.Foreign()) == 0 {
		return err
	}
	fmt.Fprintf(w, "there are leases of another application (%s): watching for %s whether it is at rest\n", strings.Join(before.Foreign(), ", "), atRest)
	if err := pipeline.Sleep(ctx, atRest); err != nil {
		return err
	}
	after, err := read(ctx)
	if moving := leases.Moving(before, after); err == nil && len(moving) > 0 {
		return fmt.Errorf("another application works on these leases (%s): stop it first, all of it; then this one goes on where it stood", strings.Join(moving, ", "))
	}
	return err
}

// startText is where a stream is begun, in words.
func startText(s config.Start) string {
	switch {
	case s.Latest:
		return "from its newest records where it was not read before"
	case !s.Time.IsZero():
		return "from " + s.Time.Format(time.RFC3339) + " where it was not read before"
	}
	return "from its oldest record where it was not read before"
}
