// Package linefile appends lines to files so that each is there whole.
//
// [File] makes lines durable and cuts off what a crash left half-written;
// [Recent] remembers which lines came lately, so that one that comes again is
// not appended again.
package linefile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
)

// File is a file of lines, open for appending. It is for one goroutine at a time.
type File struct {
	f    *os.File
	size int64 // where the last durable line ends
}

// Open opens the file at path, makes it and its folder when absent, shows each
// line in it to see, and cuts off an unterminated last line. An error of see is
// returned with the place of the line.
func Open(path string, see func(line []byte) error) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	l := &File{f: f}
	if err := l.recover(see); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

func (l *File) recover(see func(line []byte) error) error {
	for line, err := range Lines(l.f) {
		if err != nil {
			return err
		}
		if err := see(line); err != nil {
			return fmt.Errorf("%s: line at byte %d: %w", l.f.Name(), l.size, err)
		}
		l.size += int64(len(line)) + 1
	}
	info, err := l.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > l.size {
		if err := errors.Join(l.f.Truncate(l.size), l.f.Sync()); err != nil {
			return err
		}
	}
	if l.size == 0 {
		return SyncDir(filepath.Dir(l.f.Name())) // it may be new
	}
	return nil
}

// Append writes lines, each ended by '\n', and returns when they are on disk.
// After an error none of them is in the file.
func (l *File) Append(lines []byte) error {
	_, err := l.f.WriteAt(lines, l.size)
	if err == nil {
		err = l.f.Sync()
	}
	if err != nil {
		return errors.Join(err, l.f.Truncate(l.size))
	}
	l.size += int64(len(lines))
	return nil
}

// Size is the length of the file in bytes.
func (l *File) Size() int64 { return l.size }

// Close closes the file.
func (l *File) Close() error { return l.f.Close() }

// Lines yields the terminated lines of r without their '\n'; what follows the
// last one is left out. A line is valid until the next. A pulled error ends the
// sequence.
func Lines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		br := bufio.NewReaderSize(r, 64<<10)
		var long []byte
		for {
			part, err := br.ReadSlice('\n')
			switch {
			case errors.Is(err, bufio.ErrBufferFull):
				long = append(long, part...)
				continue
			case err == io.EOF:
				return
			case err != nil:
				yield(nil, err)
				return
			}
			line := part
			if len(long) > 0 {
				long = append(long, part...)
				line = long
			}
			if !yield(bytes.TrimSuffix(line, []byte("\n")), nil) {
				return
			}
			long = long[:0]
		}
	}
}

// SyncDir makes the names in a folder durable.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
