package export

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// storeOf returns the store that has the file or folder at location, and its name in that store.
func (o *Options) storeOf(location string) (store, string, error) {
	if rest, ok := strings.CutPrefix(location, "s3://"); ok {
		name, folder, _ := strings.Cut(rest, "/")
		switch {
		case name == "":
			return nil, "", errs.Errorf("export: %s names no bucket: want s3://BUCKET/PREFIX", redact.Safe(location))
		case o.S3 == nil:
			return nil, "", errs.Errorf("export: S3 is nil, and %s is in a bucket", redact.Safe(location))
		}
		return &bucket{client: o.S3, name: name, retry: o.OnRetry}, strings.Trim(path.Clean("/"+folder), "/"), nil
	}
	abs, err := filepath.Abs(location)
	if err == nil {
		_, err = os.Stat(abs)
	}
	if err != nil {
		return nil, "", errs.Errorf("export: the folder of the export: %w", err)
	}
	return disk{}, filepath.ToSlash(abs), nil
}

// disk is the store of local files.
type disk struct{}

// localFile is an opened local file.
type localFile struct{ *os.File }

func (localFile) etag() string { return "" }

func (disk) location(name string) redact.Safe { return redact.Safe(filepath.FromSlash(name)) }

func (disk) open(_ context.Context, name string) (file, error) {
	f, err := os.Open(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errMissing
	}
	if err != nil {
		return nil, err
	}
	return localFile{f}, nil
}

func (disk) list(_ context.Context, folder string, yield func(entry)) error {
	entries, err := os.ReadDir(filepath.FromSlash(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(filepath.FromSlash(folder), e.Name())) // through links
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		yield(entry{base: e.Name(), bytes: info.Size(), folder: info.IsDir()})
	}
	return nil
}
