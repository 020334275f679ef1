package archive

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"strconv"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Partition is the only partition of a [Source].
const Partition = "archive"

// SourceOptions configure a Source.
type SourceOptions struct {
	Store     Lister                // required
	Read      ReadOptions           // selects the changes
	Decoder   record.DecoderOptions // options of the decoder; TableInKey must equal that of Read
	PageBytes int                   // size of the pages. Default: 1 MiB
}

// Source replays an archive in the order of [Read]. Only one goroutine may call Read. Progress is safe for concurrent
// use.
type Source struct {
	o       SourceOptions
	decoder *record.Decoder
	cancel  context.CancelCauseFunc
	next    func() ([]Entry, error, bool)
	stop    func()
	pages   int
	endErr  error // error of the last Read; all later calls return it

	mu       sync.Mutex
	progress ReadProgress
}

var _ pipeline.Source = (*Source)(nil)

// ErrPlain means that an archive has plain JSON lines, which cannot be replayed.
var ErrPlain = errs.New(
	"archive: it was written with images: plain_json, for people and query engines; only what is written with images: dynamodb_json replays")

// ErrNewestOnly means that an archive has only the newest change of each item, which is not a history.
var ErrNewestOnly = errs.New("archive: it was written with a key without {@version}, so it holds the newest change " +
	"of each item alone; only an archive with every change replays: layout: log, or a key with {@version}")

// NewSource returns a source. It does not read yet. The caller must close the source.
func NewSource(o SourceOptions) (*Source, error) {
	if o.Store == nil {
		return nil, errors.New("archive: Store is nil: give the store that holds the objects")
	}
	if err := o.Read.check(); err != nil {
		return nil, err
	}
	o.PageBytes = cmp.Or(o.PageBytes, 1<<20)
	s := &Source{o: o, decoder: record.NewDecoder(o.Decoder)}
	progress := o.Read.Progress
	o.Read.Progress = func(p ReadProgress) {
		s.mu.Lock()
		s.progress = p
		s.mu.Unlock()
		if progress != nil {
			progress(p)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	s.cancel = cancel
	s.next, s.stop = iter.Pull2(readGroups(ctx, o.Store, o.Read, o.Store.List(ctx, o.Read.Prefix)))
	return s, nil
}

// Read returns the next page, undecoded, and io.EOF after the last page. The first call sorts all small objects, so it
// may take long. If ctx ends during a call, all later calls fail.
func (s *Source) Read(ctx context.Context) (*pipeline.Page, error) {
	if s.endErr != nil {
		return nil, s.endErr
	}
	stop := context.AfterFunc(ctx, func() { s.cancel(context.Cause(ctx)) })
	defer stop()
	lines := make([]byte, 0, s.o.PageBytes+s.o.PageBytes/8)
	for len(lines) < s.o.PageBytes {
		line, err := s.nextLine()
		if err != nil {
			s.endErr = err // the next Read returns it if this page has lines
			break
		}
		lines = append(append(lines, line...), '\n')
	}
	if ctx.Err() != nil && !pipeline.IsEnd(s.endErr) {
		s.endErr = context.Cause(ctx)
	}
	if len(lines) == 0 {
		return nil, s.endErr
	}
	s.pages++
	return &pipeline.Page{
		Partition: Partition,
		Position:  pipeline.Position(strconv.Itoa(s.pages)),
		Page:      record.Page{Bytes: cap(lines)},
		Decode:    func() (*record.Page, error) { return s.decoder.DecodeLines(lines), nil },
	}, nil
}

// nextLine returns the line of the next change, and io.EOF after the last one. An archive without an object is an
// error.
func (s *Source) nextLine() ([]byte, error) {
	same, err, hasNext := s.next()
	if !hasNext {
		if p := s.Progress(); p.Objects+p.Skipped == 0 {
			return nil, errs.Errorf("archive: it has no object whose name begins with %q: correct the name", s.o.Read.Prefix)
		}
		return nil, io.EOF
	}
	if err != nil {
		return nil, err
	}
	line := mostComplete(same).Line
	return line, checkReplayable(line)
}

// checkReplayable returns an error if a line cannot be replayed, because it is not a record of an item's history.
func checkReplayable(line []byte) error {
	switch {
	case isPlain(line):
		return ErrPlain
	case isNewest(line):
		return ErrNewestOnly
	}
	return nil
}

// Progress returns the progress of opening objects.
func (s *Source) Progress() ReadProgress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progress
}

// Close ends the reading, and removes its files on disk.
func (s *Source) Close() error {
	s.cancel(io.ErrClosedPipe)
	s.stop()
	s.endErr = cmp.Or(s.endErr, io.EOF)
	return nil
}
