// Package items reads items from files. Each line is the JSON of an item, plain or as in an export of DynamoDB. Files
// may be compressed with gzip or zstd, whatever their names.
package items

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
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
	Paths   []string               // required: files and folders. Folders are read recursively, without hidden files
	Decoder record.SnapshotOptions // options of the decoder; Keys is required
	Time    time.Time              // every item has the state of this time or later. Default: unknown

	BlockBytes int // size of the pages of a large file. Default: 1 MiB
}

// Snapshot reads the items of files. A part is a file, and its ID is the path of the file.
type Snapshot struct {
	options Options
	decoder *record.SnapshotDecoder
	info    snapshot.Info
	parts   []snapshot.Part
	changed map[string]time.Time // when each file was last changed, by the ID of its part
}

var _ snapshot.Snapshot = (*Snapshot)(nil)

// Open lists the files. It fails if a path does not exist. An error of the options names the option.
func Open(o Options) (*Snapshot, error) {
	o.BlockBytes = cmp.Or(o.BlockBytes, 1<<20)
	switch {
	case len(o.Paths) == 0:
		return nil, errors.New("items: Paths is empty: name files or folders")
	case slices.Contains(o.Paths, "-"):
		return nil, fmt.Errorf("items: %w", errNotFile("standard input"))
	case o.BlockBytes < 0:
		return nil, fmt.Errorf("items: BlockBytes is negative: %d", o.BlockBytes)
	}
	files, err := inputs.List(o.Paths)
	if err != nil {
		return nil, fmt.Errorf("items: %w", err)
	}
	s := &Snapshot{options: o, decoder: record.NewSnapshotDecoder(o.Decoder), changed: make(map[string]time.Time)}
	s.info = snapshot.Info{Time: o.Time, OldestTime: o.Time, View: record.NewAndOldImages, Items: -1}
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
	if err := s.readHeads(); err != nil {
		return nil, fmt.Errorf("items: %w", err)
	}
	return s, nil
}

// errNotFile returns the error of a source that is not a file.
func errNotFile(name string) error {
	return errs.Errorf(
		"%s cannot be read twice, and a backfill that was stopped reads again: save the items in a file, and name it", name)
}

// headSize is how many bytes at the beginning of each file determine the name of the snapshot.
const headSize = 64 << 10

// readHeads reads the beginnings of the files, and makes their digest a part of the snapshot's name. So the name
// changes if a file is written again with another beginning. If a file was truncated in transit and is copied again,
// the name stays the same, because the beginning of the file is the same.
func (s *Snapshot) readHeads() error {
	digest, isEmpty := sha256.New(), true
	for _, part := range s.parts {
		head, changed, err := readHead(filepath.FromSlash(part.ID))
		if err != nil {
			return err
		}
		s.changed[part.ID] = changed
		if len(bytes.TrimSpace(head)) > 0 {
			isEmpty = false
		}
		fmt.Fprintln(digest, len(head))
		digest.Write(head)
	}
	if isEmpty {
		return errs.Errorf(
			"%s: there is no item, and a sink that is filled by nothing can't be filled again: name the file with the items",
			strings.Join(s.options.Paths, " "))
	}
	s.info.Source = fmt.Sprintf("items %s sha256:%s", strings.Join(s.options.Paths, " "), hex.EncodeToString(digest.Sum(nil)[:8]))
	return nil
}

// readHead returns the decompressed beginning of a file, and when the file was last changed.
func readHead(path string) (head []byte, changed time.Time, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, changed, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	about, err := f.Stat()
	switch {
	case err != nil:
		return nil, changed, err
	case !about.Mode().IsRegular():
		return nil, changed, errNotFile(path)
	}
	plain, free, err := inputs.Decompress(path, f)
	if err != nil {
		return nil, changed, fmt.Errorf("%s: %w", path, err)
	}
	defer free()
	head, err = io.ReadAll(io.LimitReader(plain, headSize))
	if err != nil {
		return nil, changed, fmt.Errorf("%s: %w", path, err)
	}
	return head, about.ModTime(), nil
}

// Info implements [snapshot.Snapshot].
func (s *Snapshot) Info() snapshot.Info { return s.info }

// Parts implements [snapshot.Snapshot].
func (s *Snapshot) Parts() []snapshot.Part { return s.parts }

// Open implements [snapshot.Snapshot]. A position is the number of items before it and the checksum of the content
// before it, for example "28,1c291ca3". If the file has other content before the position, the reader returns an error,
// because earlier items were read from another file.
func (s *Snapshot) Open(_ context.Context, id string, from pipeline.Position) (snapshot.Reader, error) {
	skip, sum, err := parsePosition(from)
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
	if !about.ModTime().Equal(s.changed[id]) {
		return nil, errors.Join(changedError(id), f.Close())
	}
	r := &reader{snapshot: s, file: id, f: f, items: skip}
	plain, free, err := inputs.Decompress(id, &inputs.CountingReader{Reader: f, N: &r.storedBytes})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", id, err), f.Close())
	}
	r.free, r.lines = free, lines.New(plain, s.options.BlockBytes, skip)
	r.lines.Expect(sum)
	return r, nil
}

// changedError returns the error of a file that changed while this process uses it.
func changedError(id string) error {
	return errs.Errorf(
		"%s was changed or replaced during the backfill: put the file back as it was, and repeat the command", id)
}

// parsePosition returns the number of items before a position, and the checksum of the content before it. The position
// "" is the start.
func parsePosition(p pipeline.Position) (items int64, sum string, err error) {
	if p == "" {
		return 0, "", nil
	}
	before, sum, _ := strings.Cut(string(p), ",")
	items, err = strconv.ParseInt(before, 10, 64)
	if err == nil && (items < 0 || sum == "") {
		err = strconv.ErrRange
	}
	return items, sum, err
}

var _ snapshot.ByteCounter = (*reader)(nil)

// reader reads one file.
type reader struct {
	snapshot    *Snapshot
	file        string
	f           *os.File
	storedBytes atomic.Int64
	free        func()
	lines       *lines.Reader
	items       int64 // number of items before the next block
}

// Read implements [snapshot.Reader].
func (r *reader) Read(ctx context.Context) (*pipeline.Page, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	b, err := r.lines.Next()
	switch {
	case pipeline.IsEnd(err):
		return nil, r.end()
	case errors.Is(err, lines.ErrShort), errors.Is(err, lines.ErrReplaced):
		return nil, fmt.Errorf("%s: %w: put the file back as it was, or fill another sink from the new file", r.file, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", r.file, err)
	}
	if r.items == 0 {
		if err := r.checkFormat(b); err != nil {
			return nil, err
		}
	}
	r.items += b.Items
	return b.Page(r.snapshot.decoder, r.file, pipeline.Position(fmt.Sprintf("%d,%s", r.items, b.Sum))), nil
}

// end returns io.EOF, or an error if the file was changed while it was read.
func (r *reader) end() error {
	about, err := r.f.Stat()
	switch {
	case err != nil:
		return err
	case !about.ModTime().Equal(r.snapshot.changed[r.file]):
		return changedError(r.file)
	}
	return io.EOF
}

// checkFormat returns an error if the first line is not an item. Without this check, each line of a file of another
// kind would become a dead letter.
func (r *reader) checkFormat(b lines.Block) error {
	rest := bytes.TrimLeft(b.Bytes, " \t\r\n")
	first, _, _ := bytes.Cut(rest, []byte{'\n'})
	p := r.snapshot.decoder.DecodeLines(bytes.Clone(first))
	if len(p.Errors) == 0 {
		return nil
	}
	line := b.Line + int64(bytes.Count(b.Bytes[:len(b.Bytes)-len(rest)], []byte{'\n'}))
	return errs.Errorf("%s:%d: the first line is not an item in DynamoDB JSON: %w: give JSON lines of items, "+
		"as an export has them, or as  aws dynamodb scan --table-name TABLE --output json | jq -c '.Items[]'  prints them",
		r.file, line, p.Errors[0])
}

// StoredBytes implements [snapshot.ByteCounter].
func (r *reader) StoredBytes() int64 { return r.storedBytes.Load() }

// Close implements [snapshot.Reader].
func (r *reader) Close() error {
	r.free()
	return r.f.Close()
}
