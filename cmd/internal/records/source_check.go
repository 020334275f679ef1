package records

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/state"
)

// ErrNoRecord is the error of [CheckRecord] for an input without a record.
var ErrNoRecord = errors.New("the input has no record")

// checkedObjects is the maximum number of objects of an archive in S3 that [CheckRecord] reads.
const checkedObjects = 100

// CheckRecord returns an error unless an input has a record, and its first records are of the tables. It does not check
// standard input and pipes, which can be read only once.
func CheckRecord(ctx context.Context, o replay.Options, tables []config.Table) error {
	if slices.ContainsFunc(o.Paths, readsOnlyOnce) {
		return nil
	}
	o.Skipped = nil // the command reports the files when it reads the input
	first, err := firstPage(ctx, o, checkedObjects)
	if _, isFrozen := errors.AsType[*archive.FrozenError](err); isFrozen {
		first, err = firstPage(ctx, o, allObjects) // the error names all objects that must be restored
	}
	if err != nil {
		return err
	}
	return CheckTables(first, tables)
}

// firstPage returns the first page with a record. It reads at most maxObjects objects of each archive in S3.
func firstPage(ctx context.Context, o replay.Options, maxObjects int) (*record.Page, error) {
	src, err := open(ctx, o, Period{}, io.Discard, maxObjects)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	page, err := peek(ctx, src)
	if page == nil {
		return nil, err
	}
	return &page.Page, nil // the run reports an error that came with the page
}

// CheckTables returns a usage error if a page has a change of a table that is not one of the given ones.
func CheckTables(page *record.Page, tables []config.Table) error {
	return foreignError(foreignTable(page, tables), tables)
}

// foreignError returns the error of records of a foreign table; nil if foreign is "".
func foreignError(foreign string, tables []config.Table) error {
	if foreign == "" {
		return nil
	}
	return cli.Usagef("the records are of the table %s, and the source of the configuration is %s: name records of its table",
		foreign, tables[0].Name)
}

// foreignTable returns the name of the table of a change that is not one of the given tables; "" if there is none.
func foreignTable(page *record.Page, tables []config.Table) string {
	for i := range page.Changes {
		name := page.Changes[i].Table
		isSource := func(t config.Table) bool { return t.Name == name }
		if name != "" && !slices.ContainsFunc(tables, isSource) {
			return name
		}
	}
	return ""
}

// readsOnlyOnce reports whether a path is standard input, a pipe or a device.
func readsOnlyOnce(path string) bool {
	if path == "-" || target.IsS3(path) {
		return path == "-"
	}
	about, err := os.Stat(path)
	return err == nil && !about.Mode().IsRegular() && !about.IsDir()
}

// CheckArchives returns an error if one of paths has an archive of this pipeline that is no source for other sinks: a
// backfill still fills it, it misses changes, or values in it are masked. births are the births of all outputs.
func CheckArchives(f *target.Flags, cfg *config.Config, births []state.Birth, paths []string) error {
	m, err := sinks.Mask(cfg)
	if err != nil {
		return err
	}
	for _, s := range cfg.Sinks {
		path := f.OverlappingPath(s, paths)
		if path == "" {
			continue
		}
		var birth state.Birth // zero if births lack the archive
		if i := slices.IndexFunc(births, func(b state.Birth) bool { return sinks.IsOutput(s, b) }); i >= 0 {
			birth = births[i]
		}
		missed, setting := sinks.MissedByArchive(birth), leavesOut(s)
		switch {
		case birth.Stage != state.Live:
			return cli.Usagef("%s has the archive %s, which the backfill %s has not filled yet: "+
				"first repeat the command of that backfill", path, s.Name, birth.Run)
		case missed != "":
			return cli.Usagef("%s has the archive %s, which misses changes, because %s: "+otherSource, path, s.Name, missed)
		case setting != "":
			return cli.Usagef("%s has the archive %s, which leaves out changes (%s): "+otherSource, path, s.Name, setting)
		}
		if masked := m.Except(s.AllowSensitive).Patterns(); len(masked) > 0 {
			return cli.Usagef("%s has the archive %s, in which sensitive values are masked (%s), and the sinks would take the "+
				"masks for values: name records or items with the values", path, s.Name, masked[0])
		}
	}
	return nil
}

// otherSource is what to do if an archive has not all changes.
const otherSource = "name records with all changes, or fill the sinks from the items (--scan, --export or --items)"

// leavesOut returns the key of the configuration by which an archive leaves out changes that other sinks may take. It
// returns "" if there is none.
func leavesOut(s config.Sink) string {
	switch {
	case !s.Archive.TakesAllKinds():
		return "kinds"
	case s.WhenChange != nil:
		return "when"
	case len(s.Filters) > 0:
		return "filters"
	}
	return ""
}

// Peek reads src up to its first page with a record, and returns a source that begins with this page. It returns
// [ErrNoRecord] if src has no record.
func Peek(ctx context.Context, src Source) (Source, error) {
	first, err := peek(ctx, src)
	if first == nil {
		return nil, err
	}
	return &peeked{Source: src, page: first, err: err}, nil
}

// peek returns the first page with a record, and the error that came with it. It returns [ErrNoRecord] if src has no
// record.
func peek(ctx context.Context, src Source) (*pipeline.Page, error) {
	for {
		page, err := src.Read(ctx)
		if page != nil {
			decoded, decodeErr := page.Decoded()
			err = cmp.Or(err, decodeErr)
			if decoded.Len() > 0 {
				first := *page
				first.Page, first.Decode = *decoded, nil
				return &first, err
			}
		}
		switch {
		case pipeline.IsEnd(err):
			return nil, ErrNoRecord
		case err != nil:
			return nil, err
		}
	}
}

// peeked is a source whose first page was read.
type peeked struct {
	Source
	page *pipeline.Page // nil after the first Read
	err  error          // error that came with the page
}

// Read implements [pipeline.Source].
func (p *peeked) Read(ctx context.Context) (*pipeline.Page, error) {
	if page := p.page; page != nil {
		p.page = nil
		return page, p.err
	}
	return p.Source.Read(ctx)
}
