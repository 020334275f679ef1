package inputs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is one file to read, or standard input.
type File struct {
	Path  string // path as given, or a path below a given folder; "-" is standard input
	Named bool   // the user named the file; if false, the file was found in a folder
	Size  int64  // bytes on disk; 0 for standard input
}

// List returns the files of paths. Folders are read recursively, sorted by name, without hidden files.
func List(paths []string) ([]File, error) {
	var files []File
	for _, p := range paths {
		if p == "-" {
			files = append(files, File{Path: p, Named: true})
			continue
		}
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, File{Path: p, Named: true, Size: info.Size()})
			continue
		}
		before := len(files)
		err = filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case path != p && strings.HasPrefix(d.Name(), "."):
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			case d.IsDir():
				return nil
			}
			info, err := os.Stat(path) // through links
			if err != nil {
				return err
			}
			if info.Mode().IsRegular() {
				files = append(files, File{Path: path, Size: info.Size()})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(files) == before {
			return nil, errs.Errorf("folder %s holds no files", p)
		}
	}
	return files, nil
}
