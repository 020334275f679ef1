package linefile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline/filelock"
	"github.com/tablewake/tablewake/pipeline/private"
)

// file is one file of a [Log], open for appending. It is used only while the process has the log's lock.
type file struct {
	path  string
	f     *os.File
	end   int64 // offset of the end of the last line that was read or appended
	lines int   // number of lines up to end
	dirty bool  // some lines up to end may not be on disk
}

// openFile opens the file at path, and creates it if it is missing.
func openFile(path string) (*file, error) {
	f, err := private.OpenFile(path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = private.OpenFile(path, os.O_RDWR|os.O_CREATE); err != nil {
			return nil, err
		}
		folder := filepath.Dir(path)
		if err := errors.Join(SyncDir(folder), SyncDir(filepath.Dir(folder))); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if err != nil {
		return nil, err
	}
	return &file{path: path, f: f}, nil
}

// isCurrent reports whether this file is still at its path, and still has all bytes up to end.
func (l *file) isCurrent() (bool, error) {
	info, err := l.f.Stat()
	if err != nil {
		return false, err
	}
	if wasCut := info.Size() < l.end; wasCut {
		return false, nil
	}
	return filelock.Current(l.path, info)
}

// catchUp calls take with each line that was appended since the last call of catchUp. Then it syncs the file, because
// the writer of the lines may have died before its sync.
//
// take returns false if the line is broken and take has kept a copy of it. catchUp then replaces the line by blanks, or
// cuts it off if it is a last line without '\n'. Otherwise the line stays. If a last line without '\n' stays, catchUp
// adds the '\n'.
func (l *file) catchUp(take func(Position, []byte) (stays bool)) error {
	info, err := l.f.Stat()
	if err != nil {
		return err
	}
	hasNewBytes := info.Size() != l.end
	if !hasNewBytes && !l.dirty {
		return nil
	}
	l.dirty = true
	for line, err := range Lines(io.NewSectionReader(l.f, l.end, info.Size()-l.end)) {
		if err != nil {
			return err
		}
		isBlank := len(bytes.TrimSpace(line)) == 0
		stays := isBlank || take(l.nextPosition(), line)
		if !stays {
			if _, err := l.f.WriteAt(bytes.Repeat([]byte{' '}, len(line)), l.end); err != nil {
				return err
			}
		}
		l.end += int64(len(line)) + 1
		l.lines++
	}
	if rest := info.Size() - l.end; rest > 0 {
		if err := l.endLine(rest, take); err != nil {
			return err
		}
	}
	err = l.f.Sync()
	l.dirty = err != nil
	return err
}

// nextPosition returns the position of the line that begins at end.
func (l *file) nextPosition() Position { return Position{File: l.path, Line: l.lines + 1} }

// endLine ends or cuts off a last line of n bytes that lacks its '\n'.
func (l *file) endLine(n int64, take func(Position, []byte) (stays bool)) error {
	line := make([]byte, n)
	if _, err := l.f.ReadAt(line, l.end); err != nil {
		return err
	}
	stays := take(l.nextPosition(), line)
	if !stays {
		return l.f.Truncate(l.end)
	}
	if _, err := l.f.WriteAt([]byte{'\n'}, l.end+n); err != nil {
		return err
	}
	l.end += n + 1
	l.lines++
	return nil
}

// append writes n lines, each ended by '\n', and returns when they are on disk. After an error none of the lines is in
// the file.
func (l *file) append(lines []byte, n int) error {
	_, err := l.f.WriteAt(lines, l.end)
	if err == nil {
		err = l.f.Sync()
	}
	if err != nil {
		return errors.Join(err, l.f.Truncate(l.end))
	}
	l.end += int64(len(lines))
	l.lines += n
	return nil
}

// SyncDir makes the names in a folder durable.
func SyncDir(path string) error { return private.SyncDir(path) }

// Lines yields the lines of r without their '\n'. It leaves out a last line that has no '\n'. A line is valid until the
// next line is yielded. An error ends the sequence.
func Lines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		br := bufio.NewReaderSize(r, 64<<10)
		var longLine []byte
		for {
			part, err := br.ReadSlice('\n')
			switch {
			case errors.Is(err, bufio.ErrBufferFull):
				longLine = append(longLine, part...)
				continue
			case err == io.EOF:
				return
			case err != nil:
				yield(nil, err)
				return
			}
			line := part
			if len(longLine) > 0 {
				longLine = append(longLine, part...)
				line = longLine
			}
			if !yield(bytes.TrimSuffix(line, []byte("\n")), nil) {
				return
			}
			longLine = longLine[:0]
		}
	}
}
