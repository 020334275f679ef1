package target

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/local"
)

// OverlappingPath returns the first of paths that has objects of the archive of the sink s, or that is inside the
// archive. It returns "" if there is none, or if the sink is not an archive. A path is a file, a folder or
// s3://BUCKET/PREFIX.
func (f *Flags) OverlappingPath(s config.Sink, paths []string) string {
	if s.Archive == nil {
		return ""
	}
	bucket := cmp.Or(s.Archive.Bucket, s.Name)
	folder := "s3://" + bucket
	if !f.Live {
		folder = local.Dir(f.Local).Archive(bucket)
	}
	own := folderPath(folder) + s.Archive.Prefix
	for _, path := range paths {
		other := folderPath(path)
		if strings.HasPrefix(other, own) || strings.HasPrefix(own, other) {
			return path
		}
	}
	return ""
}

// folderPath returns the real path with a / at the end, so that two paths of the same folder or prefix are equal.
func folderPath(path string) string { return strings.TrimSuffix(RealPath(path), "/") + "/" }

// RealPath returns the canonical path without symbolic links. The last parts of the path may not exist.
func RealPath(path string) string {
	canonical := CanonicalPath(path)
	if path == "-" || IsS3(path) {
		return canonical
	}
	real, err := filepath.EvalSymlinks(canonical)
	parent := filepath.Dir(canonical)
	switch {
	case err == nil:
		return filepath.ToSlash(real)
	case parent == canonical:
		return canonical
	}
	return filepath.ToSlash(filepath.Join(RealPath(parent), filepath.Base(canonical)))
}

// CanonicalPaths returns the canonical paths, so that a run can be continued from another working folder.
func CanonicalPaths(paths []string) (canonical []string) {
	for _, path := range paths {
		canonical = append(canonical, CanonicalPath(path))
	}
	return canonical
}

// CanonicalPath returns the absolute path of a file or folder. It returns a URL of S3 and "-" as they are.
func CanonicalPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil && path != "-" && !IsS3(path) {
		return filepath.ToSlash(abs)
	}
	return path
}
