package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/internal/inputs"
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
	// Skipped is called for each file of a folder that has no stream records. Default: not called
	Skipped func(path string, why error)
}

// Source reads saved records. Only one goroutine may call Read; any goroutine may call Progress.
type Source struct {
	options       Options
	decoder       *record.Decoder
	inputs        []inputs.File // files that are not opened yet
	startPosition inputPosition // position in inputs[0] at which reading begins
	maxRecord     int           // maximum size of a record, in bytes
	file          *file         // the open file; nil if there is none
	broken        []*FileError
	streams       streamNames

	totalBytes  int64
	bytesRead   atomic.Int64
	fileCount   int
	filesOpened atomic.Int64
	stdin       *interruptibleReader
	readCtx     context.Context // context of the running Read
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
		fileCount:     len(files),
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
			s.inputs, s.startPosition = s.inputs[i:], from
			s.filesOpened.Store(int64(i))
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
		if s.file == nil && len(s.inputs) == 0 {
			return nil, s.endError()
		}
		if s.file == nil {
			s.openNext()
			continue
		}
		b, err := s.file.next()
		if ctx.Err() != nil && errors.Is(err, errInterrupted) {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			s.endFile(err)
		}
		if b != nil {
			return s.page(b), nil
		}
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
	s.filesOpened.Add(1)
	var err error
	s.file, err = s.openFile(in, from)
	if err != nil && !errors.Is(err, errInterrupted) {
		s.broken = append(s.broken, &FileError{File: in.Path, Offset: from.Offset, Line: from.Line, Err: err})
	}
}

// endFile closes the current file and notes its faults. err is the error that ended it.
func (s *Source) endFile(err error) {
	f := s.file
	faults := f.docs.faults
	if refused, ok := errors.AsType[*fault](err); ok {
		if errors.Is(err, errForeign) && !f.Named {
			s.options.Skipped(f.Path, err)
		} else {
			faults = append(faults, refused)
		}
	}
	for _, e := range faults {
		s.broken = append(s.broken, &FileError{File: f.Path, Offset: e.offset, Line: e.line, Unread: e.unread,
			More: e.repeats, Err: e.err})
	}
	f.close()
	s.file = nil
}

// endError returns the error after the last file.
func (s *Source) endError() error {
	if len(s.broken) > 0 {
		return &BrokenError{Files: s.broken}
	}
	return io.EOF
}

// Close closes the current file. It does not close standard input.
func (s *Source) Close() error {
	if s.file != nil {
		s.file.close()
		s.file = nil
	}
	s.inputs = nil
	return nil
}

// Progress is the progress of a replay.
type Progress struct {
	Bytes, TotalBytes int64 // bytes on disk that were read, and all bytes except standard input
	Files, TotalFiles int   // number of opened files, and of all files
}

// Progress returns the progress so far. It is safe for concurrent use.
func (s *Source) Progress() Progress {
	return Progress{Bytes: s.bytesRead.Load(), TotalBytes: s.totalBytes, Files: int(s.filesOpened.Load()),
		TotalFiles: s.fileCount}
}

// interruptibleReader returns a reader of r that fails when the context of the running Read is done. It checks the
// context before each read, because a few compressed bytes may expand to very many.
func (s *Source) interruptibleReader(r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if s.readCtx.Err() != nil {
			return 0, errInterrupted
		}
		return r.Read(p)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
