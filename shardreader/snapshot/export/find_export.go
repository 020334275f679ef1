package export

import (
	"context"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// store gives access to files. Names are clean and have slashes on all systems.
type store interface {
	// open opens a file. If the file does not exist, the error is errMissing.
	open(ctx context.Context, name string) (file, error)

	// list calls yield for each file and folder in a folder. It does not list subfolders. A folder that does not exist
	// is empty.
	list(ctx context.Context, folder string, yield func(entry)) error

	// location returns a name in the form that users write.
	location(name string) redact.Safe
}

// file is an opened file.
type file interface {
	io.ReadCloser
	etag() string // "" if unknown
}

// entry is a file or a folder in a folder.
type entry struct {
	base   string
	bytes  int64
	folder bool
}

// errMissing means that a file does not exist.
var errMissing = errs.New("there is no such file")

// openLayer finds the export that an entry of Options.Layers names, and reads its manifests.
func (o *Options) openLayer(ctx context.Context, name string) (*layer, error) {
	files, folder, err := o.storeOf(name)
	if err != nil {
		return nil, err
	}
	if path.Base(folder) == summaryFile {
		folder = path.Dir(folder)
	}
	l := &layer{store: files, warn: o.OnWarning, fileNames: make(map[string]bool)}
	if l.folder, err = findExport(ctx, files, folder); err != nil {
		return nil, err
	}
	if err := files.list(ctx, l.folder, func(e entry) { l.fileNames[e.base] = !e.folder }); err != nil {
		return nil, errs.Errorf("export: the files of %s: %w", l.location(), err)
	}
	if err := l.readSummary(ctx); err != nil {
		return nil, err
	}
	if err := l.readFileList(ctx); err != nil {
		return nil, err
	}
	return l, l.findFiles(ctx)
}

// maxFolders is the maximum number of folders that are searched for exports.
const maxFolders = 1000

// findExport returns the folder of the only export in a folder or below it.
func findExport(ctx context.Context, s store, root string) (string, error) {
	queue := []string{root}
	var found []string // folders of complete exports
	started := ""      // folder of an export that is not complete
	for searched := 0; searched < len(queue); searched++ {
		if searched == maxFolders {
			return "", errs.Errorf(
				"export: there are more than %d folders below %s: name the folder of the export, .../AWSDynamoDB/ID", maxFolders,
				s.location(root))
		}
		folder := queue[searched]
		listed, err := listFolder(ctx, s, folder)
		if err != nil {
			return "", errs.Errorf("export: looking for an export in %s: %w", s.location(folder), err)
		}
		if listed.isStarted {
			started = folder
		}
		if listed.isComplete {
			found = append(found, folder)
		} else {
			queue = append(queue, listed.subfolders...)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", severalExports(s, root, found)
	case started != "":
		return "", errs.Errorf("export: %s/ has no "+summaryFile+
			", which DynamoDB writes last: the export runs or has failed, or the copy of it is incomplete", s.location(started))
	}
	return "", errs.Errorf("export: there is no export in %s: no folder in it has a "+summaryFile, s.location(root))
}

// listedFolder has what findExport needs to know about a folder. A slice of all entries could have millions.
type listedFolder struct {
	subfolders []string
	isStarted  bool // it has files that DynamoDB writes before the last one
	isComplete bool // it has the file that DynamoDB writes last
}

func listFolder(ctx context.Context, s store, folder string) (listed listedFolder, err error) {
	err = s.list(ctx, folder, func(e entry) {
		switch {
		case e.folder:
			listed.subfolders = append(listed.subfolders, path.Join(folder, e.base))
		case e.base == summaryFile:
			listed.isComplete = true
		case e.base == fileListFile || e.base == "_started":
			listed.isStarted = true
		}
	})
	return listed, err
}

// severalExports returns the error for several exports below root.
func severalExports(s store, root string, folders []string) error {
	slices.Sort(folders)
	var names []string
	for _, f := range folders[:min(20, len(folders))] {
		names = append(names, string(s.location(f))+"/")
	}
	if len(folders) > len(names) {
		names = append(names, "...")
	}
	return errs.Errorf("export: there are %d exports below %s, name one of them: %s", len(folders), s.location(root),
		redact.Safe(strings.Join(names, ", ")))
}

// dataFolders returns the folders that may have the data files. The data folder of a full export is in the export's
// folder, and that of an incremental export is beside it. The folders that the manifest names come last, because a copy
// can have another prefix.
func (l *layer) dataFolders() []string {
	own, shared := path.Join(l.folder, dataFolder), path.Join(path.Dir(l.folder), dataFolder)
	folders := []string{own, shared}
	if l.summary.incremental {
		folders = []string{shared, own}
	}
	if _, isBucket := l.store.(*bucket); !isBucket {
		return folders
	}
	for _, f := range l.files {
		named := path.Dir(f.name)
		if !slices.Contains(folders, named) && len(folders) < 10 {
			folders = append(folders, named)
		}
	}
	return folders
}

// findFiles finds the data files that the manifest lists, and sets their names and sizes.
func (l *layer) findFiles(ctx context.Context) error {
	missing := make(map[string]*dataFile, len(l.files))
	for _, f := range l.files {
		missing[f.baseName()] = f
	}
	folders := l.dataFolders()
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
			return errs.Errorf("export: the data files in %s: %w", l.store.location(folder), err)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Keys(missing)))
	return errs.Errorf(
		"export: %d of the %d data files of %s are missing, the first is %s: they are neither in %s/ nor in %s/. Copy them, or export the table again",
		len(missing), len(l.files), l.location(), redact.Safe(first), l.store.location(folders[0]),
		l.store.location(folders[1]))
}
