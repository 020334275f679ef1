package archive

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// spillFanIn is the number of spills that are merged together. Each open spill needs about a megabyte.
const spillFanIn = 32

// spills are sorted runs on disk that exist during one reading. They have levels. If a level has spillFanIn runs, they
// are merged into one run of the next level. So each entry is written only a few times.
type spills struct {
	dir    string // parent of folder
	folder string // "" until it is created
	levels [][]string
	count  int // number of runs that were written
}

// put writes the remaining entries of m to disk, as a run of the level. If the level is full then, put merges it up.
func (s *spills) put(ctx context.Context, m *merge, level int) error {
	path, err := s.write(ctx, m)
	if err != nil || path == "" {
		return err
	}
	if level == len(s.levels) {
		s.levels = append(s.levels, nil)
	}
	s.levels[level] = append(s.levels[level], path)
	if len(s.levels[level]) < spillFanIn {
		return nil
	}
	return s.mergeUp(ctx, level)
}

// mergeUp merges the runs of a level into one run of the next level.
func (s *spills) mergeUp(ctx context.Context, level int) error {
	m := &merge{}
	defer m.close()
	if err := s.openLevel(ctx, m, level); err != nil {
		return err
	}
	s.levels[level] = nil
	return s.put(ctx, m, level+1)
}

// openRuns adds all entries on disk to m, as at most spillFanIn runs. Before that, it merges the runs of each level but
// the last into a run of the next level.
func (s *spills) openRuns(ctx context.Context, m *merge) error {
	for level := 0; level < len(s.levels)-1; level++ { // a merge may add a level
		if len(s.levels[level]) == 0 {
			continue
		}
		if err := s.mergeUp(ctx, level); err != nil {
			return err
		}
	}
	if len(s.levels) == 0 {
		return nil
	}
	return s.openLevel(ctx, m, len(s.levels)-1)
}

// openLevel adds the runs of a level to m.
func (s *spills) openLevel(ctx context.Context, m *merge, level int) error {
	for _, path := range s.levels[level] {
		if err := s.openOne(ctx, m, path); err != nil {
			return err
		}
	}
	return nil
}

// write writes the entries of m into a file, and returns its path; "" if m is empty.
func (s *spills) write(ctx context.Context, m *merge) (path string, err error) {
	if m.Len() == 0 {
		return "", nil
	}
	if s.folder == "" {
		s.folder, err = os.MkdirTemp(s.dir, "tablewake-archive-*") // only its owner can read it
		if err != nil {
			return "", fmt.Errorf("archive: make a folder for what does not fit into memory: %w", err)
		}
	}
	s.count++
	path = filepath.Join(s.folder, fmt.Sprint(s.count))
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(writeSpill(ctx, f, m), f.Close())
	}
	if err != nil {
		return "", fmt.Errorf("archive: merge by way of %s: %w", s.folder, err)
	}
	return path, nil
}

// writeSpill writes the entries of m, compressed. Each has three fields: key, version and line.
func writeSpill(ctx context.Context, w io.Writer, m *merge) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(z)
	var version []byte
	for {
		e, err := m.next(ctx)
		if pipeline.IsEnd(err) {
			return errors.Join(out.Flush(), z.Close())
		}
		if err != nil {
			return errors.Join(err, z.Close())
		}
		version = e.Version.Append(version[:0])
		for _, field := range [][]byte{[]byte(e.Key), version, e.Line} {
			_, _ = out.Write(binary.AppendUvarint(nil, uint64(len(field))))
			if _, err := out.Write(field); err != nil { // also if the length was not written
				return errors.Join(err, z.Close())
			}
		}
	}
}

// openOne adds a run on disk to m.
func (s *spills) openOne(ctx context.Context, m *merge, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return m.add(ctx, &spillRun{file: f, plain: z, in: bufio.NewReader(z)})
}

// close removes all files.
func (s *spills) close() error {
	if s.folder == "" {
		return nil
	}
	return os.RemoveAll(s.folder)
}

// spillRun reads one spill, and removes its file on close.
type spillRun struct {
	file  *os.File
	plain *zstd.Decoder
	in    *bufio.Reader
}

func (r *spillRun) next(ctx context.Context) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	_, err := r.in.Peek(1)
	if pipeline.IsEnd(err) {
		return Entry{}, io.EOF
	}
	if err != nil {
		return Entry{}, fmt.Errorf("archive: %s: %w", r.file.Name(), err)
	}
	var fields [3][]byte // as in writeSpill
	for i := range fields {
		if fields[i], err = r.readField(); err != nil {
			return Entry{}, fmt.Errorf("archive: %s: %w", r.file.Name(), err)
		}
	}
	version, err := record.ParseVersion(string(fields[1]))
	if err != nil {
		return Entry{}, fmt.Errorf("archive: %s: %w", r.file.Name(), err)
	}
	return Entry{Key: item.Key(fields[0]), Version: version, Line: fields[2]}, nil
}

// readField reads one field of an entry. The end of the run is an error.
func (r *spillRun) readField() ([]byte, error) {
	length, err := binary.ReadUvarint(r.in)
	var field []byte
	if err == nil {
		field = make([]byte, length)
		_, err = io.ReadFull(r.in, field)
	}
	if pipeline.IsEnd(err) {
		err = io.ErrUnexpectedEOF
	}
	return field, err
}

func (r *spillRun) close() error {
	r.plain.Close()
	return errors.Join(r.file.Close(), os.Remove(r.file.Name()))
}
