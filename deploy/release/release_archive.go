package main

import (
	"archive/tar"
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name    string
	mode    fs.FileMode
	content []byte
}

// fileTime returns the modification time of all files in all archives. It is constant so that archives are
// reproducible, and it is the first time that a zip can store.
func fileTime() time.Time { return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) }

// writeArchive writes an archive with the entries. It is a zip if path ends with .zip, otherwise a .tar.gz.
func writeArchive(path string, entries []entry) error {
	write := writeTar
	if strings.HasSuffix(path, ".zip") {
		write = writeZip
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f, entries), f.Close())
}

// writeZip writes the entries as a zip with their file modes. Without the modes, Lambda does not run the bootstrap,
// because it is not executable.
func writeZip(w io.Writer, entries []entry) error {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: fileTime()}
		h.SetMode(e.mode)
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.content); err != nil {
			return err
		}
	}
	return z.Close()
}

func writeTar(w io.Writer, entries []entry) error {
	g, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(g)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: int64(e.mode), Size: int64(len(e.content)), ModTime: fileTime(),
			Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(e.content); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), g.Close())
}

// writeChecksums writes checksums.txt into dir, in the format of sha256sum. names are the files.
func writeChecksums(dir string, names []string) error {
	var text strings.Builder
	for _, name := range slices.Sorted(slices.Values(names)) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(b), name)
	}
	return os.WriteFile(filepath.Join(dir, "checksums.txt"), []byte(text.String()), 0o644)
}
