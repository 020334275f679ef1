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

// UnfinishedFolder is the folder in which an archive of the file system writes a file before it is whole.
const UnfinishedFolder = "~tmp"

// List returns the files of paths. Folders are read recursively, sorted by name, without hidden files and without
// [UnfinishedFolder]. A link in a folder may lead to a file. A link to a folder is an error, because the files behind
// it would be missing.
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
		found, err := listFolder(p)
		switch {
		case err != nil:
			return nil, err
		case len(found) == 0:
			return nil, errs.Errorf("folder %s holds no files", p)
		}
		files = append(files, found...)
	}
	return files, nil
}

// listFolder returns the files of a folder and of the folders in it, without hidden ones.
func listFolder(folder string) (files []File, err error) {
	root := folder + string(filepath.Separator) // otherwise a link to a folder is not followed
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hasHiddenName := strings.HasPrefix(d.Name(), ".") || d.Name() == UnfinishedFolder
		isHidden := hasHiddenName && path != root
		switch {
		case isHidden && d.IsDir():
			return fs.SkipDir
		case isHidden, d.IsDir():
			return nil
		}
		info, err := os.Stat(path) // through links
		switch {
		case err != nil:
			return err
		case info.IsDir():
			return errs.Errorf("%s is a link to a folder, which is not followed: name it beside %s", path, folder)
		case info.Mode().IsRegular():
			files = append(files, File{Path: path, Size: info.Size()})
		}
		return nil
	})
	return files, err
}
