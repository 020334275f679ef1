package main

import (
	"context"
	"errors"
	"os"

	"github.com/tablewake/tablewake/test/auditinput"
)

const auditItems = 20_000

// auditRows measure the comparison of a view with its table.
func auditRows() []row {
	r := row{
		id:   "audit",
		work: "`tablewake audit` of a view in the embedded store: scan the table with the SDK's client, plan what each item should come to, list the rows, spool both sides to files, join and compare them",
		peer: "two bare scans: the paginator of aws-sdk-go-v2 over the table, and a SELECT of the rows, which stay text",
		note: "DynamoDB's answers are made up in this process; memory is collected as the command has it, on both sides",
		of:   rate, least: 0.8,
		open: func(ctx context.Context, b *bench) (*contest, error) {
			return openAudit(ctx, b, true, (*auditinput.Input).BareScan)
		},
	}
	own := r
	own.variant, own.least, own.peer = "beside its own reading", 0, "the same two scans as the audit makes them, which read and decode, and do nothing more"
	own.open = func(ctx context.Context, b *bench) (*contest, error) {
		return openAudit(ctx, b, true, (*auditinput.Input).Scan)
	}
	madeUp := own
	madeUp.variant, madeUp.note = "rows made up", "both sides are made up in this process, so that a scan is little more than decoding"
	madeUp.work = "the same of a view whose rows are made up"
	madeUp.open = func(ctx context.Context, b *bench) (*contest, error) {
		return openAudit(ctx, b, false, (*auditinput.Input).Scan)
	}
	return []row{r, own, madeUp}
}

// auditTally counts what one side read.
type auditTally struct{ items, rows int64 }

// scan reads what an audit reads, and returns how many items and rows it read.
type scan func(in *auditinput.Input, ctx context.Context) (items, rows int, err error)

func openAudit(ctx context.Context, b *bench, embedded bool, peer scan) (*contest, error) {
	dir, err := os.MkdirTemp("", "tablewake-bench-")
	if err != nil {
		return nil, err
	}
	in, err := auditinput.New(auditItems)
	closeStore := func() error { return nil }
	if err == nil && embedded {
		closeStore, err = in.Embed(ctx, dir)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	ours := func(ctx context.Context) (auditTally, error) {
		sum, err := in.Audit(ctx, dir)
		if err != nil {
			return auditTally{}, err
		}
		return auditTally{sum.Items, sum.Sinks[0].Stored}, nil
	}
	theirs := func(ctx context.Context) (auditTally, error) {
		items, rows, err := peer(in, ctx)
		return auditTally{int64(items), int64(rows)}, err
	}
	c, err := agree(ctx, b, auditItems, ours, theirs)
	if err != nil {
		return nil, errors.Join(err, closeStore(), os.RemoveAll(dir))
	}
	undo := collectAsCommands()
	c.close = func() error { return errors.Join(undo(), closeStore(), os.RemoveAll(dir)) }
	return c, nil
}
