package file

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/filelock"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks/state"
)

// heartbeatWriteInterval is the minimum time between two writes of the file that contain only heartbeats.
const heartbeatWriteInterval = 10 * time.Second

// Table is a lease table in a file. It is safe for concurrent use, and starts no goroutines.
type Table struct {
	path         string
	pipelineName string
	replaceFile  func(path string, content []byte) error
	lock         *filelock.Lock
	writing      chan struct{}  // full while a write is in flight; capacity 1
	rows         *leases.Memory // changes hold mu, so that lines and changeCount stay in step with rows

	mu          sync.Mutex
	gaps        []state.NotedGap // sorted by stream, shard and After
	lines       lineCache        // the encoded leases
	fileBytes   int              // bytes of the last written content
	changeCount int64            // number of changes so far
	savedCount  int64            // number of changes on disk
	lastWrite   fileWrite        // the last write that ended
	closed      bool
}

var _ leases.Table = (*Table)(nil)

// Open opens the file at path and locks it against other processes. If the file is missing, the first write creates it
// and its folder. Open clears the owners of all leases, because their process has ended. If another process uses the
// file, another pipeline wrote it, or it is damaged, the error says what to do.
func Open(path, pipelineName string) (*Table, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	l, err := lock(path)
	if err != nil {
		return nil, err
	}
	t, err := openLocked(path, pipelineName)
	if err != nil {
		return nil, errors.Join(err, l.Release())
	}
	t.lock = l
	return t, nil
}

// openLocked is Open for a file that is locked. The result has no lock.
func openLocked(path, pipelineName string) (*Table, error) {
	c, err := load(path)
	if err != nil {
		return nil, err
	}
	if c.pipeline != "" && c.pipeline != pipelineName {
		return nil, errs.Errorf("%s holds the leases of the pipeline %s, not of %s: give leases.file another name",
			redact.Safe(path), redact.Safe(c.pipeline), redact.Safe(pipelineName))
	}
	for i := range c.snapshot.Leases {
		l := &c.snapshot.Leases[i]
		if l.Owner != "" {
			l.Owner, l.RequestedBy = "", ""
			l.Counter++ // it rises with every change of Owner
		}
	}
	c.snapshot.Members = nil // their process has ended too
	t := &Table{
		path: path, pipelineName: pipelineName, replaceFile: replace, writing: make(chan struct{}, 1),
		rows: leases.NewMemory(c.snapshot), gaps: c.gaps, lines: newLines(),
	}
	for _, l := range c.snapshot.Leases { // the cache has no lines yet
		t.lines.markOutdated(l.Shard)
	}
	return t, nil
}

// ReadUnlocked returns the leases and gaps of the file at path. It takes no lock, so it works while a consumer runs. A
// missing file has no leases and no gaps.
func ReadUnlocked(path string) (leases.Snapshot, []state.NotedGap, error) {
	c, err := load(path)
	return c.snapshot, c.gaps, err
}

// Read implements [leases.Table].
func (t *Table) Read(ctx context.Context) (leases.Snapshot, error) {
	var s leases.Snapshot
	err := t.runDurably(ctx, func() (err error) {
		s, err = t.rows.Read(ctx)
		return err
	})
	if err != nil {
		return leases.Snapshot{}, err
	}
	return s, nil
}

// Create implements [leases.Table].
func (t *Table) Create(ctx context.Context, l leases.Lease) error {
	return t.changeDurably(ctx, func() error {
		t.lines.markOutdated(l.Shard)
		return t.rows.Create(ctx, l)
	})
}

// Swap implements [leases.Table].
func (t *Table) Swap(ctx context.Context, old, next leases.Lease) error {
	return t.changeDurably(ctx, func() error {
		t.lines.markOutdated(old.Shard)
		return t.rows.Swap(ctx, old, next)
	})
}

// Delete implements [leases.Table].
func (t *Table) Delete(ctx context.Context, old leases.Lease) error {
	return t.changeDurably(ctx, func() error {
		t.lines.markOutdated(old.Shard)
		return t.rows.Delete(ctx, old)
	})
}

// Heartbeat implements [leases.Table].
func (t *Table) Heartbeat(ctx context.Context, m leases.Member) error {
	t.mu.Lock()
	mustWrite := time.Since(t.lastWrite.ended) >= heartbeatWriteInterval
	t.mu.Unlock()
	storeHeartbeat := func() error { return t.rows.Heartbeat(ctx, m) }
	if mustWrite {
		return t.changeDurably(ctx, storeHeartbeat)
	}
	_, err := t.run(ctx, storeHeartbeat)
	return err
}

// RemoveMember implements [leases.Table].
func (t *Table) RemoveMember(ctx context.Context, consumer string) error {
	return t.changeDurably(ctx, func() error { return t.rows.RemoveMember(ctx, consumer) })
}

// MarkBegun implements [leases.Table].
func (t *Table) MarkBegun(ctx context.Context, stream string) error {
	return t.changeDurably(ctx, func() error { return t.rows.MarkBegun(ctx, stream) })
}

// ReserveCall implements [leases.Table]. The count is not in the file, because no other process uses the file.
func (t *Table) ReserveCall(ctx context.Context, quota string, seen int64) (count int64, ok bool, err error) {
	_, err = t.run(ctx, func() (callErr error) {
		count, ok, callErr = t.rows.ReserveCall(ctx, quota, seen)
		return callErr
	})
	return count, ok, err
}

// Close waits for the write in flight and releases the lock. All later calls fail. A second Close does nothing.
func (t *Table) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	t.mu.Unlock()
	t.writing <- struct{}{} // after the write in flight; a later write finds the table closed
	defer func() { <-t.writing }()
	return t.lock.Release()
}

// changeDurably runs f, which changes rows or gaps, and returns when the change is on disk.
func (t *Table) changeDurably(ctx context.Context, f func() error) error {
	return t.runDurably(ctx, func() error {
		err := f()
		if err == nil {
			t.changeCount++
		}
		return err
	})
}

// runDurably runs f, and waits until all changes so far are on disk. So no crash can undo what f saw or changed. The
// error is that of the write, or that of f.
func (t *Table) runDurably(ctx context.Context, f func() error) error {
	changes, err := t.run(ctx, f)
	if durableErr := t.waitDurable(ctx, changes); durableErr != nil {
		return durableErr
	}
	return err
}

// run runs f under the lock, and returns the number of changes so far; 0 if it does not run f.
func (t *Table) run(ctx context.Context, f func() error) (changes int64, err error) {
	if ctx.Err() != nil {
		return 0, pipeline.Transient(context.Cause(ctx))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return 0, t.closedError()
	}
	err = f()
	return t.changeCount, err
}

// closedError returns the error of a call after Close.
func (t *Table) closedError() error {
	return pipeline.Fatal(errs.Errorf("%s is closed", redact.Safe(t.path)))
}
