package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tablewake/tablewake/test/auditinput"
)

const auditBytes = 150e6

// measureAudit lets a child audit a view of n items. The items are made up while they are read. Another child audits an
// embedded view of n items, which a third child wrote. measureAudit prints the memory and the speed of both audits.
func measureAudit(n int) (within bool, err error) {
	madeUp, err := measureAuditOf("items", n)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "tablewake-memory-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	if _, err := runAgain("-child", "embed", "-folder", dir, "-n", fmt.Sprint(n)); err != nil {
		return false, fmt.Errorf("write %d embedded rows: %w", n, err)
	}
	embedded, err := measureAuditOf("embedded rows", n, "-folder", dir)
	return madeUp && embedded, err
}

func measureAuditOf(what string, n int, flags ...string) (within bool, err error) {
	start := time.Now()
	resident, err := runAgain(append(flags, "-child", "audit", "-n", fmt.Sprint(n))...)
	if err != nil {
		return false, fmt.Errorf("audit of %d %s: %w", n, what, err)
	}
	fmt.Printf("audit of %d %s: %d MB resident at most (budget %d MB), %.0f items/s\n",
		n, what, resident/1e6, int64(auditBytes/1e6), float64(n)/time.Since(start).Seconds())
	return resident <= auditBytes, nil
}

// runAudit runs in the child that audits. It audits the embedded view in a folder, or a made-up view if embedded is "".
func runAudit(ctx context.Context, n int, embedded string) error {
	in, err := auditinput.New(n)
	if err != nil {
		return err
	}
	closeStore := func() error { return nil }
	if embedded != "" {
		if closeStore, err = in.OpenEmbedded(embedded); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "tablewake-memory-")
	if err == nil {
		_, err = in.Audit(ctx, dir)
	}
	return errors.Join(err, closeStore(), os.RemoveAll(dir))
}

// embed runs in the child that writes the embedded view of an audit.
func embed(ctx context.Context, n int, dir string) error {
	in, err := auditinput.New(n)
	if err != nil {
		return err
	}
	closeStore, err := in.Embed(ctx, dir)
	if err != nil {
		return err
	}
	return closeStore()
}
