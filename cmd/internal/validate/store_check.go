package validate

import (
	"context"
	"errors"

	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/aws"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
)

// checkStores checks the state table, the lease table, the targets of the sinks, and the store of dead letters.
func (a *account) checkStores(ctx context.Context, stores *aws.Bundle) {
	if s := a.cfg.State; s != nil {
		a.check(ctx, part{"state.table", s.Line, "table " + s.Table.Name}, func(ctx context.Context) (string, error) {
			_, err := stores.State(ctx, a.cfg)
			return "", err
		})
	}
	if l := a.cfg.Leases; l != nil && l.Table.Name != "" {
		a.check(ctx, part{"leases.table", l.Line, "table " + l.Table.Name}, a.checkLeases)
	}
	for _, s := range a.cfg.Sinks {
		p := part{"sinks." + s.Name, s.Line, target.Destination(a.cfg, s)}
		switch {
		case s.Custom != nil:
			a.skip(p.field+": "+p.description, "only its code knows what it needs")
			continue
		case s.Archive != nil:
			p.description = "bucket " + s.Archive.Bucket
		}
		a.check(ctx, p, func(ctx context.Context) (string, error) { return stores.CheckSink(ctx, a.cfg, s) })
	}
	a.checkLetters(ctx, stores)
}

// checkLeases checks the lease table. It ignores problems of the state table.
func (a *account) checkLeases(ctx context.Context) (string, error) {
	if err := aws.SameRegion("leases.table", a.cfg.Leases.Table.ARN, a.sdk); err != nil {
		return "", err
	}
	table, err := stream.NewLeaseTable(a.sdk, a.cfg)
	if err == nil {
		err = table.Check(ctx)
	}
	if e, ok := errors.AsType[*statedynamo.Error](err); ok && e.Table == a.cfg.State.Table.Name {
		err = nil // checkStores has checked the state table
	}
	return "", err
}

// checkLetters checks the queue and the bucket of dead letters separately, so that a problem of the queue does not hide
// a problem of the bucket.
func (a *account) checkLetters(ctx context.Context, stores *aws.Bundle) {
	d := a.cfg.DeadLetters
	if d == nil {
		return
	}
	if d.Queue != "" {
		p := part{"dead_letters.queue", d.Line, "queue " + d.Queue}
		a.checkLetterStore(ctx, stores, p, config.DeadLetters{Queue: d.Queue})
	}
	if d.Bucket != "" {
		p := part{"dead_letters.bucket", d.Line, "bucket " + d.Bucket}
		a.checkLetterStore(ctx, stores, p, config.DeadLetters{Bucket: d.Bucket, Prefix: d.Prefix})
	}
}

// checkLetterStore opens one store of dead letters.
func (a *account) checkLetterStore(ctx context.Context, stores *aws.Bundle, p part, d config.DeadLetters) {
	lettersConfig := *a.cfg
	lettersConfig.Sinks, lettersConfig.DeadLetters = nil, &d
	a.check(ctx, p, func(ctx context.Context) (string, error) {
		_, err := stores.DeadLetters(ctx, &lettersConfig)
		return "", err
	})
}
