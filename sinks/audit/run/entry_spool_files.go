package run

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/private"
	"github.com/tablewake/tablewake/pipeline/redact"
)

const (
	// spoolFiles is the number of files of a spool.
	spoolFiles = 64
	// fileBuffer is the number of bytes of a file that are collected before they are written.
	fileBuffer = 8 << 10
	// maxRecord is more than the length of any record, which has a place and a key of an item.
	maxRecord = 1 << 20
)

// spool divides records over files by a hash, so that each file fits into memory. Only one goroutine may use it.
type spool struct {
	dir     string
	files   [spoolFiles]*os.File // nil before the first record of the file
	pending [spoolFiles][]byte
	lengths [spoolFiles]int64 // lengths of the files, without pending bytes
}

// openSpool opens the spool in a folder, and creates the folder if it is missing. lengths has the lengths of the files
// at the last checkpoint. openSpool cuts the files to these lengths, because later records are written again. A file of
// length 0 is opened and cut only when its first record is written. If lengths is nil, all files have length 0.
func openSpool(dir string, lengths []int64) (*spool, error) {
	if err := private.MkdirAll(dir); err != nil {
		return nil, err
	}
	s := &spool{dir: dir}
	copy(s.lengths[:], lengths)
	for i := range s.lengths {
		if s.lengths[i] == 0 {
			continue
		}
		if err := s.openFile(i); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

// openFile opens a file, creates it if it is missing, and cuts it to its length.
func (s *spool) openFile(i int) (err error) {
	if s.files[i], err = private.OpenFile(s.path(i), os.O_RDWR|os.O_CREATE); err != nil {
		return err
	}
	size, err := s.files[i].Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if size < s.lengths[i] {
		return errs.Errorf("%s has %d bytes, and had %d: start the audit anew without its work folder",
			redact.Safe(s.path(i)), size, s.lengths[i])
	}
	if err := s.files[i].Truncate(s.lengths[i]); err != nil {
		return err
	}
	_, err = s.files[i].Seek(s.lengths[i], io.SeekStart)
	return err
}

func (s *spool) path(i int) string { return filepath.Join(s.dir, fmt.Sprintf("%02x", i)) }

// add adds a record to the file that the hash selects.
func (s *spool) add(hash uint64, record []byte) error {
	i := int(hash % spoolFiles)
	s.pending[i] = binary.AppendUvarint(s.pending[i], uint64(len(record)))
	s.pending[i] = append(s.pending[i], record...)
	if len(s.pending[i]) < fileBuffer {
		return nil
	}
	return s.write(i)
}

// write writes the pending records of a file.
func (s *spool) write(i int) error {
	if s.files[i] == nil {
		if err := s.openFile(i); err != nil {
			return err
		}
	}
	n, err := s.files[i].Write(s.pending[i])
	s.lengths[i] += int64(n)
	s.pending[i] = s.pending[i][:0]
	return err
}

// flush writes pending records, and returns the lengths of all files.
func (s *spool) flush() ([]int64, error) {
	for i := range s.pending {
		if len(s.pending[i]) > 0 {
			if err := s.write(i); err != nil {
				return nil, err
			}
		}
	}
	return slices.Clone(s.lengths[:]), nil
}

// size returns the size of the spool in bytes.
func (s *spool) size() (n int64) {
	for i := range s.lengths {
		n += s.lengths[i] + int64(len(s.pending[i]))
	}
	return n
}

// each calls do with each record of a file, in the order of add. do must not keep the record. Call flush first.
func (s *spool) each(i int, do func(record []byte) error) error {
	if s.files[i] == nil {
		return nil
	}
	r := bufio.NewReaderSize(io.NewSectionReader(s.files[i], 0, s.lengths[i]), 64<<10)
	var record []byte
	for {
		length, err := binary.ReadUvarint(r)
		switch {
		case pipeline.IsEnd(err):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", s.path(i), err)
		case length > maxRecord:
			return errs.Errorf("%s: a record of %d bytes: the file was changed; start the audit anew without its work folder",
				redact.Safe(s.path(i)), length)
		}
		record = slices.Grow(record[:0], int(length))[:length]
		if _, err := io.ReadFull(r, record); err != nil {
			return fmt.Errorf("%s: %w", s.path(i), err)
		}
		if err := do(record); err != nil {
			return err
		}
	}
}

// close closes the files, and keeps them. It may be called again.
func (s *spool) close() error {
	var failures []error
	for i, f := range s.files {
		if f != nil {
			failures = append(failures, f.Close())
			s.files[i] = nil
		}
	}
	return errors.Join(failures...)
}

// remove closes and deletes the files.
func (s *spool) remove() error { return errors.Join(s.close(), os.RemoveAll(s.dir)) }

// hashOf returns the FNV-1a hash of some texts. It is the same in every process.
func hashOf(texts ...string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	hash := uint64(offset)
	for _, text := range texts {
		for i := range len(text) {
			hash = (hash ^ uint64(text[i])) * prime
		}
		hash = (hash ^ 0xff) * prime // 0xff is not a byte of UTF-8
	}
	return hash
}
