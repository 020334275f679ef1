package records

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"math"
	"path/filepath"
	"strings"
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
	inputs := &chain{}
	for _, list := range splitAtArchives(o.Paths) {
		var src Source
		if list.isArchive {
			inputs.hasArchive = true
			read := archive.ReadOptions{TableInKey: o.Decoder.TableInKey, From: from, To: to}
			src, err = openArchive(ctx, list.paths[0], o.Decoder, read, w, maxObjects)
		} else {
			o.Paths = list.paths
			src, err = replay.Open(o)
		}
		if err != nil {
			return nil, errors.Join(err, inputs.Close())
		}
		inputs.pending = append(inputs.pending, src)
	}
	if !inputs.hasArchive && (p.from != "" || p.to != "") {
		err := cli.Usagef("--from and --to are for archives in S3: name one as s3://BUCKET/PREFIX")
		return nil, errors.Join(err, inputs.Close())
	}
	if len(inputs.pending) == 1 {
		return inputs.pending[0], nil
	}
	return inputs, nil
}

// inputList is a part of the inputs that one source reads.
type inputList struct {
	paths     []string
	isArchive bool // the list has one path, an archive
}

// splitAtArchives divides paths into lists, and keeps their order. An archive is a list of its own.
func splitAtArchives(paths []string) (lists []inputList) {
	for _, path := range paths {
		last := len(lists) - 1
		switch {
		case target.IsS3(path) || hasOnlyParquet(path):
			lists = append(lists, inputList{[]string{path}, true})
		case last >= 0 && !lists[last].isArchive:
			lists[last].paths = append(lists[last].paths, path)
		default:
			lists = append(lists, inputList{[]string{path}, false})
		}
	}
	return lists
}

// hasOnlyParquet reports whether a path is a folder with the Parquet files of an archive, and with no other files
// except those that an archive keeps for itself. The files of other folders are read as they are.
func hasOnlyParquet(path string) bool {
	hasParquet, hasOther := false, false
	root := target.RealPath(path)
	_ = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error { // reading reports an error
		isOfArchive := name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "~tmp")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && isOfArchive:
			return fs.SkipDir
		case entry.IsDir() || isOfArchive:
			return nil
		case name != root && filepath.Ext(name) == ".parquet":
			hasParquet = true
			return nil
		}
		hasOther = true
		return fs.SkipAll // one other file decides
	})
	return hasParquet && !hasOther
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
		hasEnded := isBroken || pipeline.IsEnd(err)
		if !hasEnded {
			return page, err
		}
		if isBroken {
			c.broken = append(c.broken, broken.Files...)
		}
		if err := c.next(); err != nil || page != nil {
			return page, err
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
