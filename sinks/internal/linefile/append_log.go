// Package linefile appends whole lines to files that several processes of a host share.
//
// A [Log] makes lines durable, and passes the lines of other processes to its user. [Recent] remembers the ids of the
// last lines, so that a repeated line is not appended again.
package linefile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/filelock"
	"github.com/tablewake/tablewake/pipeline/private"
)

// Position is the position of a line: the path of its file, and its number in the file, from 1.
type Position struct {
	File string
	Line int
}

// Compare orders positions in the order in which their lines were appended: by the name of the file, then by the line.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line))
}

// LogOptions describe a log.
type LogOptions struct {
	// Lock is the path of the lock file. A process has the lock while it uses the files. Required.
	Lock string
	// Files lists the paths of the existing files, sorted by name. The order of the names is the order of the lines.
	// Required.
	Files func() ([]string, error)
	// Next returns the path of the file that follows last. last is "" if there is no file yet. Required.
	Next func(last string) string
	// Bytes is the size in bytes at which a file is full. The next line then goes to a new file. Default: no limit.
	Bytes int64

	// OnLine is called once with each line that another process appended, and with each line that existed when the log
	// was opened. The line is valid during the call. OnLine returns an error if the line is broken. Required.
	OnLine func(position Position, line []byte) error
	// OnReset is called when files were removed or replaced. After that, OnLine is called with all lines again.
	// Required.
	OnReset func()

	// Logger logs each broken line. Default: discards.
	Logger *slog.Logger
}

// Log appends lines to files. Any number of processes of a host can append to the same files, one at a time.
//
// A Log sets a broken line aside. It copies the line to a file FILE.lineN.broken, and replaces the line by blanks. A
// Log is for one goroutine at a time.
type Log struct {
	o     LogOptions
	paths []string // paths of the files when they were last read
	file  *file    // the last of the files; nil if no file is open
	lock  *filelock.Lock
}

// lockTimeout is how long Acquire waits for the lock. Another process has the lock while it writes and syncs lines.
const lockTimeout = 30 * time.Second

// NewLog returns a log that has seen no line.
func NewLog(o LogOptions) *Log {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Log{o: o}
}

// Acquire takes the lock. Then it calls OnLine with each line that other processes have appended. All lines that OnLine
// got are on disk when Acquire returns. Other processes wait until end is called.
//
// Acquire blocks while another process has the lock. After 30 seconds it returns [filelock.ErrInUse]. If ctx is done
// before that, it returns the cause of ctx. It creates a missing folder.
func (l *Log) Acquire(ctx context.Context) (end func(), err error) {
	lock, err := filelock.Take(ctx, l.o.Lock, filelock.Exclusive, lockTimeout)
	if errors.Is(err, filelock.ErrInUse) {
		err = fmt.Errorf("%w for %s: is that stopped? (`fuser %s` tells which it is)", err, lockTimeout, l.o.Lock)
	}
	if err != nil {
		return nil, err
	}
	l.lock = lock
	end = func() { _ = lock.Release() } // after an error the system releases the lock when the process ends
	if err := l.catchUp(); err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// catchUp passes new lines to OnLine. If files were removed or replaced, it calls OnReset and passes all lines again.
func (l *Log) catchUp() error {
	files, err := l.o.Files()
	if err != nil {
		return err
	}
	hasKnownFiles, err := l.hasKnownFiles(files)
	if err != nil {
		return err
	}
	if !hasKnownFiles {
		if err := l.Close(); err != nil {
			return err
		}
		l.o.OnReset()
	}
	first := 0 // index of the first file that may have new lines
	if l.file != nil {
		first = slices.Index(files, l.file.path)
	}
	for _, path := range files[first:] {
		isOpen := l.file != nil && l.file.path == path
		if !isOpen {
			if err := l.openFile(path); err != nil {
				return err
			}
		}
		if err := l.file.catchUp(l.takeLine); err != nil {
			return err
		}
	}
	l.paths = files
	return nil
}

// hasKnownFiles reports whether files contains all files that were read before, and the last of these was not replaced.
func (l *Log) hasKnownFiles(files []string) (bool, error) {
	for _, path := range l.paths {
		if !slices.Contains(files, path) {
			return false, nil
		}
	}
	if l.file == nil {
		return true, nil
	}
	return l.file.isCurrent()
}

// takeLine passes a line to OnLine. If the line is broken, takeLine sets it aside. stays is false if the line was set
// aside.
func (l *Log) takeLine(position Position, line []byte) (stays bool) {
	if err := l.o.OnLine(position, line); err == nil {
		return true
	}
	isSetAside := l.setAside(position, line)
	return !isSetAside
}

// openFile makes the file at path the last file of the log.
func (l *Log) openFile(path string) error {
	opened, err := openFile(path)
	if err != nil {
		return err
	}
	replaced := l.file
	l.file = opened
	if replaced != nil {
		return replaced.f.Close()
	}
	return nil
}

// Append appends n lines, each ended by '\n'. When all lines are on disk, it returns the position of the last one.
// OnLine is not called with these lines. After an error, none of the lines is in the log. If the file was removed or
// replaced, the next Acquire calls OnReset. Append may be called between Acquire and end.
func (l *Log) Append(lines []byte, n int) (Position, error) {
	isFull := l.file != nil && l.o.Bytes > 0 && l.file.end >= l.o.Bytes
	if l.file == nil || isFull {
		if err := l.Rotate(); err != nil {
			return Position{}, err
		}
	}
	if err := l.file.append(lines, n); err != nil {
		return Position{}, err
	}
	isCurrent, err := l.file.isCurrent()
	if err := errors.Join(err, l.lock.Held()); err != nil {
		return Position{}, err
	}
	if !isCurrent {
		return Position{}, fmt.Errorf("%s was removed or replaced while it was written", l.file.path)
	}
	return Position{l.file.path, l.file.lines}, nil
}

// Rotate begins a new file. It may be called between Acquire and end.
func (l *Log) Rotate() error {
	last := ""
	if l.file != nil {
		last = l.file.path
	}
	path := l.o.Next(last)
	if err := l.openFile(path); err != nil {
		return err
	}
	l.paths = append(l.paths, path)
	return nil
}

// Files returns the paths of the files when they were last read. size is the number of bytes of the last file that were
// read or appended, and lines is the number of lines in these bytes. These bytes do not change, except for broken
// lines.
func (l *Log) Files() (files []string, size int64, lines int) {
	if l.file != nil {
		size, lines = l.file.end, l.file.lines
	}
	return slices.Clone(l.paths), size, lines
}

// Close closes the last file, and forgets all files.
func (l *Log) Close() error {
	f := l.file
	l.file, l.paths = nil, nil
	if f == nil {
		return nil
	}
	return f.f.Close()
}

// setAside copies a broken line to a separate file, and reports whether that succeeded. It appends to that file,
// because several broken lines may have the same number. That happens because a broken last line is cut off, and the
// next line then gets its number.
func (l *Log) setAside(position Position, line []byte) bool {
	copyPath := fmt.Sprintf("%s.line%d.broken", position.File, position.Line)
	f, err := private.OpenFile(copyPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY)
	if err == nil {
		_, err = f.Write(append(slices.Clone(line), '\n'))
		err = errors.Join(err, f.Sync(), f.Close(), SyncDir(filepath.Dir(copyPath)))
	}
	attributes := []any{slog.String("file", position.File), slog.Int("line", position.Line)}
	if err != nil {
		l.o.Logger.Warn("a broken line is passed over, and cannot be set aside",
			append(attributes, slog.String("error", err.Error()))...)
		return false
	}
	l.o.Logger.Warn("a broken line was set aside: fix what it says, or delete it",
		append(attributes, slog.String("now_in", copyPath))...)
	return true
}
