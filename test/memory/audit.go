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

// measureAudit has a child audit a view of n items, which are made up while they are read, and prints what it took.
func measureAudit(n int) (within bool, err error) {
	start := time.Now()
	resident, err := runAgain("-child", "audit", "-n", fmt.Sprint(n))
	if err != nil {
		return false, fmt.Errorf("audit of %d items: %w", n, err)
	}
	fmt.Printf("audit of %d items: %d MB resident at most (budget %d MB), %.0f items/s\n",
		n, resident/1e6, int64(auditBytes/1e6), float64(n)/time.Since(start).Seconds())
	return resident <= auditBytes, nil
}

// runAudit is the child.
func runAudit(ctx context.Context, n int) error {
	dir, err := os.MkdirTemp("", "tablewake-memory-")
	if err != nil {
		return err
	}
	in, err := auditinput.New(n)
	if err == nil {
		_, err = in.Audit(ctx, dir)
	}
	return errors.Join(err, os.RemoveAll(dir))
}
