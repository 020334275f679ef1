// Package items reads items from files. Each line is the JSON of an item, plain or as in an export of DynamoDB. Files
// may be compressed with gzip or zstd, whatever their names.
package items

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/inputs"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
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
	// RefuseUndecodable makes Open fail if a line cannot be decoded. Default: such a line is an error of its page
	RefuseUndecodable bool
	// Sample makes Open read only the first page of each file, and accept files that are cut. The snapshot must fill no
	// sink: it has no positions, and its name has no digest. Default: Open reads all pages
	Sample bool
	// ShowKey returns the key of an item for an error. Default: the key itself
	ShowKey func(*record.Change) string
	// Progress is called after each page that Open has read: bytes of the total stored bytes of the files are read, and
	// have that many items. Default: not called
	Progress func(bytes, total, items int64)

	BlockBytes int // size of the pages of a large file. Default: 1 MiB
}

// Snapshot reads the items of files. A part is a file, and its ID is the path of the file.
type Snapshot struct {
	options Options
	decoder *record.SnapshotDecoder
	keys    keyHashes // of the items that Open has read
	info    snapshot.Info
	parts   []snapshot.Part
	files   map[string]fileVersion // by the ID of the part
}

// fileVersion identifies the content that Open read from a file.
type fileVersion struct {
	changed time.Time // when the file was last changed
	size    int64     // stored bytes
	lines   int64     // lines that are not blank; -1 if unknown
	digest  string    // SHA-256 of the decompressed content, shortened
}

var _ snapshot.Snapshot = (*Snapshot)(nil)

// Open lists the files, and reads each of them to its end. So the name of the snapshot identifies the whole content:
// the same items in a copy or compressed have the same name, and a file that became shorter, longer or otherwise
// different has another one. Open fails if a file is cut, does not begin with an item, or has an item that is there
// twice. It remembers eight bytes for each item until it returns. An error of the options names the option.
func Open(ctx context.Context, o Options) (*Snapshot, error) {
	o.BlockBytes = cmp.Or(o.BlockBytes, 1<<20)
	if o.ShowKey == nil {
		o.ShowKey = func(c *record.Change) string { return string(c.Key) }
	}
	switch {
	case len(o.Paths) == 0:
		return nil, errors.New("items: Paths is empty: name files or folders")
	case slices.Contains(o.Paths, "-"):
		return nil, fmt.Errorf("items: %w", errNotFile("standard input"))
	case o.BlockBytes < 0:
		return nil, fmt.Errorf("items: BlockBytes is negative: %d", o.BlockBytes)
	}
	if o.Progress == nil {
		o.Progress = func(_, _, _ int64) {}
	}
	files, err := inputs.List(o.Paths)
	if err != nil {
		return nil, fmt.Errorf("items: %w", err)
	}
	s := &Snapshot{options: o, decoder: record.NewSnapshotDecoder(o.Decoder), files: make(map[string]fileVersion)}
	s.info = snapshot.Info{Time: o.Time, OldestTime: o.Time, View: record.NewAndOldImages}
	for _, f := range files {
		id := filepath.ToSlash(filepath.Clean(f.Path))
		s.parts = append(s.parts, snapshot.Part{ID: id, Bytes: f.Size})
		s.info.Bytes += f.Size
	}
	slices.SortFunc(s.parts, func(a, b snapshot.Part) int { return strings.Compare(a.ID, b.ID) })
	for i := 1; i < len(s.parts); i++ {
		if s.parts[i].ID == s.parts[i-1].ID {
			return nil, errs.Errorf("items: %s is named twice: name each file once", s.parts[i].ID)
		}
	}
	if err := s.readFiles(ctx); err != nil {
		return nil, fmt.Errorf("items: %w", err)
	}
	return s, nil
}

// errNotFile returns the error of a source that is not a file.
func errNotFile(name string) error {
	return errs.Errorf(
		"%s cannot be read twice, and a backfill that was stopped reads again: save the items in a file, and name it", name)
}

// readFiles reads the files, and makes the digest of their content a part of the snapshot's name. The sink that a
// changed file fills would have items of both versions, and would lack others.
func (s *Snapshot) readFiles(ctx context.Context) error {
	digest := sha256.New()
	var read atomic.Int64 // stored bytes
	for i := range s.parts {
		part := &s.parts[i]
		version, err := s.readFile(ctx, part, &read)
		if err != nil {
			return err
		}
		s.files[part.ID] = version
		s.info.Items += part.Items
		fmt.Fprintln(digest, version.digest)
		if s.options.Sample {
			part.Items = -1
		}
	}
	isEmpty := func(p snapshot.Part) bool { return s.files[p.ID].lines == 0 }
	switch empty := slices.IndexFunc(s.parts, isEmpty); {
	case s.info.Items == 0:
		return errs.Errorf(
			"%s: there is no item, and a sink that is filled by nothing can't be filled again: name the file with the items",
			strings.Join(s.options.Paths, " "))
	case empty >= 0 && !s.options.Sample: // its items may be lost
		return fmt.Errorf("%s: %w", s.parts[empty].ID, inputs.ErrEmpty)
	}
	if err := s.checkRepeated(ctx); err != nil {
		return err
	}
	s.info.Source = "items " + strings.Join(s.options.Paths, " ")
	if s.options.Sample {
		s.info.Items = -1
		return nil
	}
	s.info.Source += " sha256:" + shortDigest(digest)
	return nil
}

func shortDigest(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:8]) }

// readFile reads the file of a part to its end, and counts its items. It adds the stored bytes to read.
func (s *Snapshot) readFile(
	ctx context.Context, part *snapshot.Part, read *atomic.Int64,
) (version fileVersion, err error) {
	plain, version, err := openFile(part.ID, read)
	if err != nil {
		return version, err
	}
	defer func() { err = errors.Join(err, plain.Close()) }()
	digest := sha256.New()
	blocks := lines.New(io.TeeReader(plain, digest), s.options.BlockBytes, 0)
	for {
		b, err := blocks.Next()
		switch {
		case ctx.Err() != nil:
			return version, context.Cause(ctx)
		case pipeline.IsEnd(err):
			version.digest = shortDigest(digest)
			return version, nil
		case err != nil:
			return version, fmt.Errorf("%s: %w", part.ID, err)
		}
		page, err := b.Page(s.decoder, part.ID, "").Decode()
		if err == nil {
			err = s.checkBlock(part, b, page)
		}
		if err != nil {
			return version, err
		}
		part.Items += int64(page.Len())
		s.keys.add(page)
		version.lines += b.Items
		s.options.Progress(read.Load(), s.info.Bytes, s.info.Items+part.Items)
		if s.options.Sample {
			version.lines = -1
			return version, nil
		}
	}
}

// openFile opens a file. version has no lines and no digest yet. Reading from plain adds the stored bytes to read.
func openFile(path string, read *atomic.Int64) (plain io.ReadCloser, version fileVersion, err error) {
	f, err := os.Open(filepath.FromSlash(path))
	if err != nil {
		return nil, version, err
	}
	about, err := f.Stat()
	if err == nil && !about.Mode().IsRegular() {
		err = errNotFile(path)
	}
	if err != nil {
		return nil, version, errors.Join(err, f.Close())
	}
	version = fileVersion{changed: about.ModTime(), size: about.Size()}
	plain, err = inputs.Decompress(path, &inputs.CountingFile{ReadCloser: f, N: read})
	if err != nil {
		return nil, version, fmt.Errorf("%s: %w", path, err)
	}
	return plain, version, nil
}

// Info implements [snapshot.Snapshot].
func (s *Snapshot) Info() snapshot.Info { return s.info }

// Parts implements [snapshot.Snapshot].
func (s *Snapshot) Parts() []snapshot.Part { return s.parts }

// Open implements [snapshot.Snapshot]. A position is the number of lines before it and the digest of the whole file,
// for example "28,1c291ca3d0e5b6f7". If the file has another digest, Open returns an error, because earlier items were
// read from another file.
func (s *Snapshot) Open(_ context.Context, id string, from pipeline.Position) (snapshot.Reader, error) {
	skip, digest, err := parsePosition(from)
	if err != nil {
		return nil, errs.Errorf("%s: not a position in a file of items: %q", id, from)
	}
	if from != "" && digest != s.files[id].digest {
		return nil, errs.Errorf("%s: the file is another one than the file whose items were read before: "+
			"put the file back as it was, or fill another sink from the new file", id)
	}
	f, err := os.Open(filepath.FromSlash(id))
	if err != nil {
		return nil, err
	}
	r := &reader{snapshot: s, file: id, f: f, items: skip}
	if err := r.checkUnchanged(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	plain, err := inputs.Decompress(id, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	r.plain, r.lines = plain, lines.New(plain, s.options.BlockBytes, skip)
	return r, nil
}

// parsePosition returns the number of items before a position, and the digest of the file. The position "" is the
// start.
func parsePosition(p pipeline.Position) (items int64, digest string, err error) {
	if p == "" {
		return 0, "", nil
	}
	before, digest, _ := strings.Cut(string(p), ",")
	items, err = strconv.ParseInt(before, 10, 64)
	if err == nil && (items < 0 || digest == "") {
		err = strconv.ErrRange
	}
	return items, digest, err
}

// reader reads one file.
type reader struct {
	snapshot *Snapshot
	file     string
	f        *os.File
	plain    io.Closer // closes f, too
	lines    *lines.Reader
	items    int64 // number of lines with items before the next block
}

// Read implements [snapshot.Reader].
func (r *reader) Read(ctx context.Context) (*pipeline.Page, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	b, err := r.lines.Next()
	want := r.version().lines
	hasOtherCount := pipeline.IsEnd(err) && want >= 0 && r.items != want
	isCutSample := r.snapshot.options.Sample && errors.Is(err, inputs.ErrCut)
	switch {
	case hasOtherCount, errors.Is(err, lines.ErrShort):
		return nil, r.changedError()
	case pipeline.IsEnd(err), isCutSample:
		return nil, cmp.Or(r.checkUnchanged(), io.EOF)
	case err != nil:
		return nil, cmp.Or(r.checkUnchanged(), fmt.Errorf("%s: %w", r.file, err))
	}
	r.items += b.Items
	position := fmt.Sprintf("%d,%s", r.items, r.version().digest)
	return b.Page(r.snapshot.decoder, r.file, pipeline.Position(position)), nil
}

func (r *reader) version() fileVersion { return r.snapshot.files[r.file] }

// checkUnchanged returns an error if the file was changed since the snapshot was opened.
func (r *reader) checkUnchanged() error {
	about, err := r.f.Stat()
	if err != nil || about.ModTime().Equal(r.version().changed) && about.Size() == r.version().size {
		return err
	}
	return r.changedError()
}

func (r *reader) changedError() error {
	return errs.Errorf("%s was changed or replaced during the backfill: put the file back as it was, and repeat the "+
		"command; or fill another sink from the new file", r.file)
}

// Close implements [snapshot.Reader].
func (r *reader) Close() error { return r.plain.Close() }
