package records

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks/archive"
	archivedir "github.com/tablewake/tablewake/sinks/archive/dir"
)

// Source is the input of a command. It may be a sequence of inputs.
type Source interface {
	pipeline.Source
	Progress() replay.Progress
	Close() error
}

// Period are the flags --from and --to, which select changes of archives in S3 by their time.
type Period struct{ from, to string }

// Add adds --from and --to.
func (p *Period) Add(c *cobra.Command) {
	c.Flags().StringVar(&p.from, "from", "",
		"for archives in S3: only changes created at this time or later: 2026-01-31, or 2026-01-31T12:00:00Z")
	c.Flags().StringVar(&p.to, "to", "", "for archives in S3: only changes created before this time")
}

// bounds parses the flags. A missing flag is the zero time.
func (p *Period) bounds() (from, to time.Time, err error) {
	if from, err = parseTime("--from", p.from); err != nil {
		return from, to, err
	}
	if to, err = parseTime("--to", p.to); err != nil {
		return from, to, err
	}
	hasBoth := !from.IsZero() && !to.IsZero()
	if hasBoth && !from.Before(to) {
		return from, to, cli.Usagef("--from %s is not before --to %s", p.from, p.to)
	}
	return from, to, nil
}

func parseTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, cli.Usagef("%s %q is not a time: write it as 2026-01-31 (UTC), or as 2026-01-31T12:00:00Z", flag,
		text)
}

// Open returns a source that reads o.Paths in their order. A path is a file, a folder, - for o.Stdin, or an archive
// s3://BUCKET/PREFIX. The source reads only those changes of an archive that are in the period p. If it repeats a read
// of an archive, it prints that to w.
func Open(ctx context.Context, o replay.Options, p Period, w io.Writer) (Source, error) {
	return open(ctx, o, p, w, allObjects)
}

// allObjects is the number of objects of an archive without a limit.
const allObjects = math.MaxInt

// open is [Open] of the first maxObjects objects of each archive in S3.
func open(ctx context.Context, o replay.Options, p Period, w io.Writer, maxObjects int) (Source, error) {
	from, to, err := p.bounds()
	if err != nil {
		return nil, err
	}
	inputs := &chain{hasArchive: slices.ContainsFunc(o.Paths, isArchive)}
	for _, paths := range splitAtArchives(o.Paths) {
		var src Source
		if isArchive(paths[0]) {
			read := archive.ReadOptions{TableInKey: o.Decoder.TableInKey, From: from, To: to}
			src, err = openArchive(ctx, paths[0], o.Decoder, read, w, maxObjects)
		} else {
			o.Paths = paths
			src, err = replay.Open(o)
		}
		if err != nil {
			return nil, errors.Join(err, inputs.Close())
		}
		inputs.pending = append(inputs.pending, src)
	}
	if !inputs.hasArchive && (p.from != "" || p.to != "") {
		err := cli.Usagef("--from and --to are for archives in S3 or in Parquet: name one in S3 as s3://BUCKET/PREFIX")
		return nil, errors.Join(err, inputs.Close())
	}
	if len(inputs.pending) == 1 {
		return inputs.pending[0], nil
	}
	return inputs, nil
}

// isArchive reports whether a path is read as an archive: it is in S3, or a folder with Parquet files. Other files of a
// folder are read as they are.
func isArchive(path string) bool {
	if target.IsS3(path) {
		return true
	}
	isParquet := false
	root := target.RealPath(path)
	_ = filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error { // reading reports an error
		isParquet = err == nil && name != root && filepath.Ext(name) == ".parquet"
		if isParquet {
			return fs.SkipAll
		}
		return err
	})
	return isParquet
}

// splitAtArchives divides paths into lists, and keeps their order. One source reads each list. An archive is a list of
// its own.
func splitAtArchives(paths []string) (lists [][]string) {
	for len(paths) > 0 {
		n := 1
		if !isArchive(paths[0]) {
			for n < len(paths) && !isArchive(paths[n]) {
				n++
			}
		}
		lists = append(lists, paths[:n])
		paths = paths[n:]
	}
	return lists
}

// archiveRecords is an archive as a [Source].
type archiveRecords struct{ *archive.Source }

// Progress returns the bytes of the opened objects. The total is 0, because it is unknown.
func (r archiveRecords) Progress() replay.Progress {
	return replay.Progress{Bytes: r.Source.Progress().Bytes}
}

// bucket has the objects of an archive.
type bucket interface {
	archive.Lister
	archive.Ranger
}

// firstObjects is a bucket that lists only its first max objects.
type firstObjects struct {
	bucket
	max int
}

// List implements [archive.Lister].
func (f firstObjects) List(ctx context.Context, prefix string) iter.Seq2[archive.Info, error] {
	return func(yield func(archive.Info, error) bool) {
		listed := 0
		for info, err := range f.bucket.List(ctx, prefix) {
			if listed++; !yield(info, err) || listed == f.max {
				return
			}
		}
	}
}

// openArchive opens the first maxObjects objects of an archive as a source. It sets the prefix of read.
func openArchive(
	ctx context.Context, path string, d record.DecoderOptions, read archive.ReadOptions, w io.Writer, maxObjects int,
) (Source, error) {
	var store bucket
	var err error
	if target.IsS3(path) {
		store, read.Prefix, err = target.OpenS3(ctx, path, target.S3Options{OnRetry: RetryPrinter(w, "a request to S3")})
	} else {
		store, err = archivedir.New(archivedir.Options{Dir: path, LookOnly: true})
	}
	if err != nil {
		return nil, err
	}
	src, err := archive.NewSource(archive.SourceOptions{Store: firstObjects{store, maxObjects}, Decoder: d, Read: read})
	if err != nil {
		return nil, err
	}
	return archiveRecords{src}, nil
}

// chain reads several inputs one after the other. Broken files of all inputs are reported by one error at the end.
type chain struct {
	hasArchive bool // an input is an archive, so the total size is unknown
	broken     []*replay.FileError

	mu       sync.Mutex // Progress is called during Read
	pending  []Source
	finished replay.Progress // progress of the finished inputs
}

// Read returns the next page. At the end of an input it continues with the next input.
func (c *chain) Read(ctx context.Context) (*pipeline.Page, error) {
	for len(c.pending) > 0 {
		page, err := c.pending[0].Read(ctx)
		broken, isBroken := errors.AsType[*replay.BrokenError](err)
		if !isBroken && !pipeline.IsEnd(err) {
			return page, err
		}
		if isBroken {
			c.broken = append(c.broken, broken.Files...)
		}
		if err := c.next(); err != nil {
			return page, err
		}
		if page != nil {
			return page, nil
		}
	}
	if len(c.broken) > 0 {
		return nil, &replay.BrokenError{Files: c.broken}
	}
	return nil, io.EOF
}

// next closes the first input and removes it.
func (c *chain) next() error {
	first := c.pending[0]
	c.mu.Lock()
	c.finished = sum(c.finished, first.Progress())
	c.pending = c.pending[1:]
	c.mu.Unlock()
	return first.Close()
}

// Progress returns the progress of all inputs together. TotalBytes is 0 if the size of an input is unknown.
func (c *chain) Progress() replay.Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := c.finished
	for _, src := range c.pending {
		total = sum(total, src.Progress())
	}
	if c.hasArchive {
		total.TotalBytes = 0
	}
	return total
}

func sum(a, b replay.Progress) replay.Progress {
	return replay.Progress{Bytes: a.Bytes + b.Bytes, TotalBytes: a.TotalBytes + b.TotalBytes}
}

// Close closes the remaining inputs.
func (c *chain) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, src := range c.pending {
		errs = append(errs, src.Close())
	}
	c.pending = nil
	return errors.Join(errs...)
}
