package export

import (
	"context"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// store has files. Names are clean and have slashes, also on other systems.
type store interface {
	// open opens a file. If there is none of that name, the error is errMissing.
	open(ctx context.Context, name string) (file, error)

	// list calls yield for the files and folders in a folder, not for those in its folders. A folder that does not exist
	// is empty.
	list(ctx context.Context, folder string, yield func(entry)) error

	// place is a name as users write it.
	place(name string) string
}

// file is an opened file.
type file interface {
	io.ReadCloser
	etag() string // "" unknown
}

// entry is a file or a folder in a folder.
type entry struct {
	base   string
	bytes  int64
	folder bool
}

// errMissing means that a file does not exist.
var errMissing = errs.New("there is no such file")

// openLayer finds an export, and reads its manifests.
func (o *Options) openLayer(ctx context.Context, where string) (*layer, error) {
	s, folder, err := o.locate(where)
	if err != nil {
		return nil, err
	}
	if path.Base(folder) == summaryFile {
		folder = path.Dir(folder)
	}
	l := &layer{store: s}
	if l.folder, err = findExport(ctx, s, folder); err != nil {
		return nil, err
	}
	there := make(map[string]bool)
	if err := s.list(ctx, l.folder, func(e entry) { there[e.base] = !e.folder }); err != nil {
		return nil, errs.Errorf("export: the files of %s: %w", l.place(), err)
	}
	if err := l.readSummary(ctx, there, o.Warn); err != nil {
		return nil, err
	}
	if err := l.readFiles(ctx, there, o.Warn); err != nil {
		return nil, err
	}
	return l, l.findFiles(ctx)
}

// maxFolders is how many folders are searched for exports.
const maxFolders = 1000

// findExport returns the folder of the only export in a folder or below it.
func findExport(ctx context.Context, s store, root string) (string, error) {
	queue, found, started := []string{root}, []string(nil), ""
	for n := 0; n < len(queue); n++ {
		if n == maxFolders {
			return "", errs.Errorf("export: there are more than %d folders below %s: name the folder of the export, .../AWSDynamoDB/ID", maxFolders, redact.Safe(s.place(root)))
		}
		folder := queue[n]
		var below []string
		is, begun := false, false
		err := s.list(ctx, folder, func(e entry) {
			if e.folder {
				below = append(below, path.Join(folder, e.base))
				return
			}
			is = is || e.base == summaryFile
			begun = begun || e.base == filesFile || e.base == "_started"
		})
		switch {
		case err != nil:
			return "", errs.Errorf("export: looking for an export in %s: %w", redact.Safe(s.place(folder)), err)
		case is:
			found = append(found, folder)
		default:
			queue = append(queue, below...)
			if begun {
				started = folder
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		slices.Sort(found)
		names := make([]string, 0, len(found))
		for i, f := range found {
			if i == 20 {
				names = append(names, "...")
				break
			}
			names = append(names, s.place(f)+"/")
		}
		return "", errs.Errorf("export: there are %d exports below %s, name one of them: %s", len(found), redact.Safe(s.place(root)), redact.Safe(strings.Join(names, ", ")))
	case started != "":
		return "", errs.Errorf("export: %s/ has no %s, which DynamoDB writes last: the export runs or has failed, or the copy of it is incomplete", redact.Safe(s.place(started)), redact.Safe(summaryFile))
	}
	return "", errs.Errorf("export: there is no export in %s: no folder in it has a %s", redact.Safe(s.place(root)), redact.Safe(summaryFile))
}

// findFiles finds the data files that the manifest names, and sets their names and sizes. They are in a folder of the
// export, or for incremental exports in one beside it. The keys of the manifest come last, because a copy can have
// another prefix.
func (l *layer) findFiles(ctx context.Context) error {
	own, shared := path.Join(l.folder, dataFolder), path.Join(path.Dir(l.folder), dataFolder)
	folders := []string{own, shared}
	if l.summary.incremental {
		folders = []string{shared, own}
	}
	missing := make(map[string]*dataFile, len(l.files))
	for _, f := range l.files {
		missing[f.base()] = f
		if _, ok := l.store.(*bucket); ok && !slices.Contains(folders, path.Dir(f.name)) && len(folders) < 10 {
			folders = append(folders, path.Dir(f.name))
		}
	}
	for _, folder := range folders {
		if len(missing) == 0 {
			return nil
		}
		err := l.store.list(ctx, folder, func(e entry) {
			if f := missing[e.base]; f != nil && !e.folder {
				f.name, f.bytes = path.Join(folder, e.base), e.bytes
				delete(missing, e.base)
			}
		})
		if err != nil {
			return errs.Errorf("export: the data files in %s: %w", redact.Safe(l.store.place(folder)), err)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	names := make([]string, 0, len(missing))
	for name := range missing {
		names = append(names, name)
	}
	slices.Sort(names)
	return errs.Errorf("export: %d of the %d data files of %s are missing, the first is %s: they are neither in %s/ nor in %s/. Copy them, or export the table again",
		len(missing), len(l.files), l.place(), redact.Safe(names[0]), redact.Safe(l.store.place(folders[0])), redact.Safe(l.store.place(folders[1])))
}
