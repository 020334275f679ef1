package main

import (
	"context"
	"errors"
	"os"

	"github.com/tablewake/tablewake/test/auditinput"
)

const auditItems = 20_000

// auditRows compare a view with its table.
func auditRows() []row {
	r := row{
		id:   "audit",
		work: "`tablewake audit` of a view in the embedded store: scan the table with the SDK's client, plan what each item should come to, list the rows, spool both sides to files, join and compare them",
		peer: "the same two scans, which read and decode, and do nothing more",
		note: "DynamoDB's answers are made up in this process; memory is collected as the command has it, on both sides",
		of:   rate, least: 0.8, reaches: 0.35,
		missed: "reading and decoding take 5 µs for an item and its row here, and an audit has 9 µs to add: by the profile, planning the item, the digests of both sides, " +
			"and writing, reading and joining them take 2 to 3 µs each",
		open: func(ctx context.Context, b *bench) (*contest, error) { return openAudit(ctx, b, true) },
	}
	bare := r
	bare.variant, bare.least, bare.reaches, bare.missed, bare.note = "rows made up", 0, 0, "", "both sides are made up in this process, so that a scan is little more than decoding"
	bare.work = "the same of a view whose rows are made up"
	bare.open = func(ctx context.Context, b *bench) (*contest, error) { return openAudit(ctx, b, false) }
	return []row{r, bare}
}

// auditTally is what one side read.
type auditTally struct{ items, rows int64 }

func openAudit(ctx context.Context, b *bench, embedded bool) (*contest, error) {
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
		items, rows, err := in.Scan(ctx)
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
