// Package items reads items from files: JSON lines with an item each, plain or as in an export of DynamoDB. Files may be
// plain, gzip or zstd; the content decides.
package items

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/internal/inputs"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/internal/lines"
)

// errs creates the errors of this package. They carry a redacted text, which logs may contain.
const errs = redact.Class("input")

// Options configure a Snapshot.
type Options struct {
	Paths   []string               // required: files, and folders, which are read recursively without hidden files
	Decoder record.SnapshotOptions // how items become changes; Keys is required
	Time    time.Time              // every item is as it was then or later. Default: unknown

	BlockBytes int // size of the pages of a large file. Default: 1 MiB
}

// Snapshot is the items of files. A part is a file, and its ID is the path of the file.
type Snapshot struct {
	o       Options
	decoder *record.SnapshotDecoder
	info    snapshot.Info
	parts   []snapshot.Part
}

var _ snapshot.Snapshot = (*Snapshot)(nil)

// Open lists the files. It fails if a path does not exist. An error of the options names the option.
func Open(o Options) (*Snapshot, error) {
	o.BlockBytes = cmp.Or(o.BlockBytes, 1<<20)
	switch {
	case len(o.Paths) == 0:
		return nil, errors.New("items: Paths is empty: name files or folders")
	case slices.Contains(o.Paths, "-"):
		return nil, errors.New("items: standard input cannot be read twice, and a backfill that was stopped reads again: save the items in a file, and name it")
	case o.BlockBytes < 0:
		return nil, fmt.Errorf("items: BlockBytes is negative: %d", o.BlockBytes)
	}
	files, err := inputs.List(o.Paths)
	if err != nil {
		return nil, fmt.Errorf("items: %w", err)
	}
	s := &Snapshot{o: o, decoder: record.NewSnapshotDecoder(o.Decoder)}
	s.info = snapshot.Info{
		Source: "items " + strings.Join(o.Paths, " "), Time: o.Time, From: o.Time,
		View: record.NewAndOldImages, Items: -1,
	}
	for _, f := range files {
		s.parts = append(s.parts, snapshot.Part{ID: filepath.ToSlash(filepath.Clean(f.Path)), Items: -1, Bytes: f.Size})
		s.info.Bytes += f.Size
	}
	slices.SortFunc(s.parts, func(a, b snapshot.Part) int { return strings.Compare(a.ID, b.ID) })
	for i := 1; i < len(s.parts); i++ {
		if s.parts[i].ID == s.parts[i-1].ID {
			return nil, errs.Errorf("items: %s is named twice: name each file once", s.parts[i].ID)
		}
	}
	return s, nil
}

// Info implements [snapshot.Snapshot].
func (s *Snapshot) Info() snapshot.Info { return s.info }

// Parts implements [snapshot.Snapshot].
func (s *Snapshot) Parts() []snapshot.Part { return s.parts }

// Open implements [snapshot.Snapshot]. A position is the number of items before it and the size of the file, as "28,4096". A
// file of another size is read from its start: it was replaced since then.
func (s *Snapshot) Open(_ context.Context, id string, from pipeline.Position) (snapshot.Reader, error) {
	skip, oldSize, err := parsePosition(from)
	if err != nil {
		return nil, errs.Errorf("%s: not a position in a file of items: %q", id, from)
	}
	f, err := os.Open(filepath.FromSlash(id))
	if err != nil {
		return nil, err
	}
	about, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if about.Size() != oldSize {
		skip = 0
	}
	counted := &countingReader{r: f}
	plain, free, err := inputs.Decompress(counted)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", id, err), f.Close())
	}
	return &reader{snapshot: s, file: id, f: f, stored: counted, free: free, lines: lines.New(plain, s.o.BlockBytes, skip), items: skip, size: about.Size()}, nil
}

// parsePosition returns the number of items before a position, and the size of the file then. "" is the start.
func parsePosition(p pipeline.Position) (items, size int64, err error) {
	if p == "" {
		return 0, 0, nil
	}
	before, after, _ := strings.Cut(string(p), ",")
	items, err = strconv.ParseInt(before, 10, 64)
	if err == nil {
		size, err = strconv.ParseInt(after, 10, 64)
	}
	if err == nil && items < 0 {
		err = strconv.ErrRange
	}
	return items, size, err
}

var _ snapshot.ByteCounter = (*reader)(nil)

// reader reads one file.
type reader struct {
	snapshot *Snapshot
	file     string
	f        *os.File
	stored   *countingReader
	free     func()
	lines    *lines.Reader
	items    int64 // before the next block
	size     int64 // of the file
}

// Read implements [snapshot.Reader].
func (r *reader) Read(ctx context.Context) (*pipeline.Page, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	b, err := r.lines.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case errors.Is(err, lines.ErrShort):
		return nil, fmt.Errorf("%s: %w: put the file back as it was, or begin another backfill", r.file, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", r.file, err)
	}
	if r.items == 0 {
		if err := r.recognize(b); err != nil {
			return nil, err
		}
	}
	r.items += b.Items
	page := &pipeline.Page{Position: pipeline.Position(fmt.Sprintf("%d,%d", r.items, r.size))}
	page.Bytes = len(b.Bytes)
	page.Decode = func() (*record.Page, error) {
		p := r.snapshot.decoder.DecodeLines(b.Bytes)
		b.Locate(r.file, p)
		return p, nil
	}
	return page, nil
}

// recognize returns an error if the first line is not an item. Otherwise each line of a file of another kind would
// become a dead letter.
func (r *reader) recognize(b lines.Block) error {
	rest := bytes.TrimLeft(b.Bytes, " \t\r\n")
	first, _, _ := bytes.Cut(rest, []byte{'\n'})
	p := r.snapshot.decoder.DecodeLines(bytes.Clone(first))
	if len(p.Errors) == 0 {
		return nil
	}
	line := b.Line + int64(bytes.Count(b.Bytes[:len(b.Bytes)-len(rest)], []byte{'\n'}))
	return errs.Errorf("%s:%d: the first line is not an item in DynamoDB JSON: %w: give JSON lines of items, "+
		"as an export has them, or as  aws dynamodb scan --table-name TABLE --output json | jq -c '.Items[]'  prints them", r.file, line, p.Errors[0])
}

// StoredBytes implements [snapshot.ByteCounter].
func (r *reader) StoredBytes() int64 { return r.stored.n }

// countingReader counts what it reads.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// Close implements [snapshot.Reader].
func (r *reader) Close() error {
	r.free()
	return r.f.Close()
}
