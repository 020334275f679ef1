package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/inputs"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Partition is the partition of all records. There is only one, so that the order of the files is kept.
const Partition = "replay"

// Options configure a Source.
type Options struct {
	// Paths are required: files, folders (recursively, in the order of names) and "-" for standard input
	Paths   []string
	Stdin   io.Reader             // standard input. Default: os.Stdin
	Decoder record.DecoderOptions // options of the decoder
	// From is the position at which an earlier replay of the same paths ended. Default: the start
	From       pipeline.Position
	BlockBytes int // size of the blocks into which files are split. Default: 1 MiB
	// Skipped is called for each file of a folder that has no stream records. If a source has no other files, its end is
	// a *BrokenError. Default: not called
	Skipped func(path string, why error)
	// Complete means that no file may be missing. Then a file in a folder is a broken input if it has no stream records:
	// it may be a damaged file of records, or have changes that the other files lack. Default: such a file is left out
	Complete bool
}

// Source reads saved records. Only one goroutine may call Read; any goroutine may call Progress.
type Source struct {
	options       Options
	decoder       *record.Decoder
	inputs        []inputs.File // files that are not opened yet
	startPosition inputPosition // position in inputs[0] at which reading begins
	maxRecord     int           // maximum size of a record, in bytes
	file          *file         // the open file; nil if there is none
	hasAccepted   bool          // at least one file was read as saved records; it may have no record
	broken        []*FileError
	leftOut       []*FileError // files of folders that are not saved records
	streams       streamNames

	totalBytes int64
	bytesRead  atomic.Int64
	stdin      *interruptibleReader
	readCtx    context.Context // context of the running Read
}

var _ pipeline.Source = (*Source)(nil)

// Open lists the files of o.Paths, and fails if a path does not exist or cannot be read. The caller must close the
// source.
func Open(o Options) (*Source, error) {
	if len(o.Paths) == 0 {
		return nil, errors.New("replay: Paths is empty: name files, folders, or - for standard input")
	}
	if o.BlockBytes < 0 {
		return nil, fmt.Errorf("replay: BlockBytes is %d: it must not be negative", o.BlockBytes)
	}
	o.BlockBytes = cmp.Or(o.BlockBytes, 1<<20)
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	if o.Skipped == nil {
		o.Skipped = func(string, error) {}
	}
	files, err := inputs.List(o.Paths)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	if err := checkReadable(files); err != nil {
		return nil, fmt.Errorf("replay: an input cannot be read: %w", err)
	}
	s := &Source{
		options:       o,
		decoder:       record.NewDecoder(o.Decoder),
		inputs:        files,
		startPosition: inputPosition{Line: 1},
		maxRecord:     maxRecordBytes,
		stdin:         &interruptibleReader{r: o.Stdin},
	}
	for _, in := range files {
		s.totalBytes += in.Size
	}
	if o.From != "" {
		if err := s.skipTo(o.From); err != nil {
			return nil, fmt.Errorf("replay: %w", err)
		}
	}
	return s, nil
}

// skipTo skips the files before a position.
func (s *Source) skipTo(p pipeline.Position) error {
	from, err := parsePosition(p)
	if err != nil {
		return err
	}
	for i, in := range s.inputs {
		if in.Path == from.File {
			s.inputs, s.startPosition, s.hasAccepted = s.inputs[i:], from, true
			return nil
		}
		s.bytesRead.Add(in.Size)
	}
	return errs.Errorf("the position to continue from is in %s, which is not among the files", from.File)
}

// Read returns the next block of records. The caller decodes it with Page.Decode. At the end Read returns io.EOF, or a
// *BrokenError if files were broken.
func (s *Source) Read(ctx context.Context) (*pipeline.Page, error) {
	s.readCtx = ctx
	for ctx.Err() == nil {
		if s.file == nil {
			if len(s.inputs) == 0 {
				return nil, s.endError()
			}
			s.openNext()
			continue
		}
		b, err := s.file.next()
		switch {
		case err == nil:
			return s.page(b), nil
		case ctx.Err() != nil && errors.Is(err, errInterrupted):
			return nil, context.Cause(ctx)
		}
		s.endFile(err)
	}
	return nil, context.Cause(ctx)
}

// checkReadable returns an error if a regular file cannot be opened. It skips other files: a pipe can be opened only
// once.
func checkReadable(files []inputs.File) error {
	for _, in := range files {
		info, err := os.Stat(in.Path)
		if err != nil || !info.Mode().IsRegular() {
			continue // standard input, or an error that Read reports
		}
		f, err := os.Open(in.Path)
		if err != nil {
			return err
		}
		_ = f.Close()
	}
	return nil
}

// openNext opens the next file. If the file cannot be opened, openNext notes that in broken.
func (s *Source) openNext() {
	in, from := s.inputs[0], s.startPosition
	s.inputs, s.startPosition = s.inputs[1:], inputPosition{Line: 1}
	var err error
	s.file, err = s.openFile(in, from)
	if err != nil && !errors.Is(err, errInterrupted) {
		s.broken = append(s.broken, &FileError{File: in.Path, Offset: from.Offset, Line: from.Line, Err: err})
	}
}

// endFile closes the current file and notes its faults. err is the error that ended it.
func (s *Source) endFile(err error) {
	f := s.file
	refused, isRefused := errors.AsType[*fault](err)
	switch {
	case !isRefused:
		s.hasAccepted = true
	case !s.options.Complete && f.mayBeLeftOut(err):
		s.options.Skipped(f.Path, err)
		s.leftOut = append(s.leftOut, refused.in(f.Path))
	default:
		s.broken = append(s.broken, refused.in(f.Path))
	}
	for _, e := range f.docs.faults {
		s.broken = append(s.broken, e.in(f.Path))
	}
	_ = f.content.Close() // nothing more is read, so an error loses nothing
	s.file = nil
}

// mayBeLeftOut reports whether a refused file is probably no input. The file must be in a folder, and be empty or of
// another kind. A file named as JSON is an input: it is damaged if it is not JSON. An empty file of JSON lines is
// whole, but an empty .json file is damaged.
func (f *file) mayBeLeftOut(refused error) bool {
	extension := filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(f.Path, ".gz"), ".zst"))
	switch {
	case f.Named:
		return false
	case errors.Is(refused, inputs.ErrEmpty):
		return extension != ".json"
	case errors.Is(refused, errNotJSON):
		return extension != ".json" && extension != ".jsonl" && extension != ".ndjson"
	default:
		return errors.Is(refused, errForeign)
	}
}

// endError returns the error after the last file. Files that were left out are an error if there is no other file.
func (s *Source) endError() error {
	if len(s.broken) == 0 && !s.hasAccepted {
		s.broken = s.leftOut
	}
	if len(s.broken) > 0 {
		return &BrokenError{Files: s.broken}
	}
	return io.EOF
}

// Close closes the current file. It does not close standard input.
func (s *Source) Close() error {
	s.inputs = nil
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	return file.content.Close()
}

// Progress is the progress of a replay.
type Progress struct {
	Bytes, TotalBytes int64 // bytes on disk that were read, and all bytes except standard input
}

// Progress returns the progress so far. It is safe for concurrent use.
func (s *Source) Progress() Progress {
	return Progress{Bytes: s.bytesRead.Load(), TotalBytes: s.totalBytes}
}

// untilCancelled returns a reader of r that fails when the context of the running Read is done. It checks the
// context before each read, because a few compressed bytes may expand to very many.
func (s *Source) untilCancelled(r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if s.readCtx.Err() != nil {
			return 0, errInterrupted
		}
		return r.Read(p)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
