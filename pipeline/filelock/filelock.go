// Package filelock prevents processes of one host from using the same file or folder at once.
//
// A lock is a file without any other use: do not remove it. Locks use flock(2), and are advisory. A second lock on the
// same path in one process is refused like a lock of another process. The system releases a lock when the process ends,
// even after a crash.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/private"
)

// ErrInUse reports that another process, or another part of this one, has the lock.
var ErrInUse = errors.New("in use by another process")

// Mode defines which other locks on the same path are possible at the same time.
type Mode int

// The modes.
const (
	Exclusive Mode = syscall.LOCK_EX // no other lock
	Shared    Mode = syscall.LOCK_SH // other locks with Shared
)

// Lock is a lock that this process has. Call Release once.
type Lock struct {
	path string
	f    *os.File
}

// The pause between two tries.
const (
	firstPause = time.Millisecond
	lastPause  = 16 * time.Millisecond
)

// Take takes the lock at path. It creates the file and its folder if they are missing. If another process has the lock,
// Take waits up to patience, and then returns [ErrInUse] with the path. With a patience of 0, Take does not wait. If
// ctx ends, Take returns the cause of ctx.
func Take(ctx context.Context, path string, mode Mode, patience time.Duration) (*Lock, error) {
	deadline := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		l, err := tryLock(path, mode)
		mayRetry := errors.Is(err, ErrInUse) && time.Now().Before(deadline)
		if !mayRetry {
			return l, err
		}
		if err := pipeline.Sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return nil, err
		}
	}
}

// tryLock takes the lock unless another process has it. The file can be removed or replaced while tryLock locks it.
// tryLock then locks the file that is at path afterwards, because other processes lock this file, too.
func tryLock(path string, mode Mode) (*Lock, error) {
	for {
		f, err := open(path)
		if err != nil {
			return nil, err
		}
		l := &Lock{path: path, f: f}
		if err := flock(f, int(mode)|syscall.LOCK_NB); err != nil {
			if errors.Is(err, syscall.EWOULDBLOCK) {
				err = ErrInUse
			}
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
		}
		held, err := l.held()
		if held {
			return l, nil
		}
		// The file at path was removed or replaced: the new one has to be locked instead.
		if err := errors.Join(err, l.Release()); err != nil {
			return nil, err
		}
	}
}

// open opens the file for writing, because a lock over NFS needs a writable file. It tries several times, because
// another process may remove the folder after open has created it.
func open(path string) (f *os.File, err error) {
	for range 10 {
		f, err = private.OpenFile(path, os.O_CREATE|os.O_RDWR)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		if err := private.MkdirAll(filepath.Dir(path)); err != nil {
			return nil, err
		}
	}
	return nil, err
}

// flock calls flock(2). It repeats the call if a signal interrupted it.
func flock(f *os.File, operation int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), operation); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Held returns an error if the file of the lock was removed or replaced. Another process can then take the lock, so the
// caller must not write the protected files.
func (l *Lock) Held() error {
	held, err := l.held()
	if err == nil && !held {
		err = fmt.Errorf("%s was removed or replaced while it was locked", l.path)
	}
	return err
}

func (l *Lock) held() (bool, error) {
	ours, err := l.f.Stat()
	if err != nil {
		return false, err
	}
	return Current(l.path, ours)
}

// Current reports whether path still leads to the file or folder that the caller opened. It returns false if the file
// or folder was removed or replaced.
func Current(path string, opened fs.FileInfo) (bool, error) {
	current, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(opened, current), err
}

// Release releases the lock. The file stays.
func (l *Lock) Release() error { return l.f.Close() }

// Taken reports whether another process has the lock at path exclusively. It creates no file, and returns false if
// there is no file at path.
func Taken(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = flock(f, syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, f.Close()
	}
	return false, errors.Join(err, f.Close())
}
