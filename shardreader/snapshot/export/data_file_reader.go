package export

import (
	"context"
	"crypto/md5" //nolint:gosec // the checksum that DynamoDB writes
	"errors"
	"hash"
	"io"
	"strconv"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/inputs"
	"github.com/tablewake/tablewake/shardreader/snapshot/internal/lines"
)

// blockBytes is the decompressed size of a block of a large file.
const blockBytes = 256 << 10

// reader reads one data file.
type reader struct {
	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	file   *dataFile
	items  int64 // number of items before the next page
	ended  bool

	in    file // nil before the first Read
	sum   hash.Hash
	raw   io.Reader // reads in, and adds the bytes to sum
	plain io.Closer // frees the decompressor; nil before the first Read
	lines *lines.Reader
}

// Read returns the next page. Unless the ETag proves that DynamoDB wrote the file, Read compares the MD5 before the
// first page, and so reads the file twice. Otherwise items of a damaged file could be written to a sink and stay there.
func (r *reader) Read(ctx context.Context) (*pipeline.Page, error) {
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case r.ended:
		return nil, io.EOF
	}
	stop := context.AfterFunc(ctx, func() { r.cancel(context.Cause(ctx)) })
	defer stop()
	if r.lines == nil {
		if err := r.start(); err != nil {
			return nil, r.explain(err)
		}
	}
	b, err := r.lines.Next()
	switch {
	case pipeline.IsEnd(err):
		if err := r.verifyFile(); err != nil {
			return nil, r.explain(err)
		}
		r.ended = true
		return nil, io.EOF
	case err != nil:
		return nil, r.explain(err)
	}
	r.items += b.Items
	return b.Page(r.file.layer.decoder, string(r.file.location()), pipeline.Position(strconv.FormatInt(r.items, 10))), nil
}

// start opens the file and, if necessary, compares its MD5.
func (r *reader) start() error {
	if err := r.open(); err != nil {
		return err
	}
	tag := r.in.etag()
	isOriginal := tag != "" && tag == r.file.etag
	if !isOriginal {
		if err := r.verifyAndReopen(); err != nil {
			return err
		}
	}
	plain, err := inputs.Decompress("", io.NopCloser(r.raw)) // the manifest says whether the file is empty
	if err != nil {
		return err
	}
	r.plain, r.lines = plain, lines.New(plain, blockBytes, r.items)
	return nil
}

// verifyAndReopen reads the file to compare its MD5, and opens it again.
func (r *reader) verifyAndReopen() error {
	if err := r.verifyMD5(); err != nil {
		return err
	}
	if err := r.in.Close(); err != nil {
		return err
	}
	return r.open()
}

// open opens the file at its start.
func (r *reader) open() error {
	in, err := r.file.layer.store.open(r.ctx, r.file.name)
	if err != nil {
		return err
	}
	r.in, r.sum = in, md5.New() //nolint:gosec // the checksum that DynamoDB writes
	r.raw = io.TeeReader(interruptible{r.ctx, in}, r.sum)
	return nil
}

// verifyMD5 reads the rest of the file, and compares the MD5 of the file with the manifest.
func (r *reader) verifyMD5() error {
	if _, err := io.Copy(io.Discard, r.raw); err != nil {
		return err
	}
	if [md5.Size]byte(r.sum.Sum(nil)) != r.file.md5 {
		return errs.New("its MD5 is not the md5Checksum in " + fileListFile + ": the file is damaged, or is another one: " +
			copyAgainHint)
	}
	return nil
}

// verifyFile compares the MD5 and the number of items of the file with the manifest, after the last line.
func (r *reader) verifyFile() error {
	if err := r.verifyMD5(); err != nil {
		return err
	}
	if r.items != r.file.items {
		return errs.Errorf("it has %d items, and "+fileListFile+" says %d: "+copyAgainHint, r.items, r.file.items)
	}
	return nil
}

// explain adds the name of the file to an error.
func (r *reader) explain(err error) error {
	switch {
	case r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	case errors.Is(err, errMissing):
		return errs.Errorf("export: the data file %s is missing now: "+copyAgainHint, r.file.location())
	}
	return errs.Errorf("export: data file %s: %w", r.file.location(), err)
}

// Close frees the reader.
func (r *reader) Close() error {
	r.cancel(nil)
	if r.plain != nil {
		_ = r.plain.Close() // closes no file
		r.plain = nil
	}
	if r.in == nil {
		return nil
	}
	in := r.in
	r.in = nil
	return in.Close()
}

// interruptible is a reader that fails once ctx has ended.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i interruptible) Read(p []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, context.Cause(i.ctx)
	}
	return i.r.Read(p)
}
