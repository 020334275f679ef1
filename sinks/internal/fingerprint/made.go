package fingerprint

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/tablewake/tablewake/sinks/internal/disk"
	"github.com/tablewake/tablewake/sinks/internal/linefile"
)

// made is the end of the names of files that tell that something was made in the folder.
const made = ".made"

// Made tells whether something of that name was noted as made ([Files.SetMade]).
func (f Files) Made(name string) bool {
	_, err := os.Lstat(f.madePath(name))
	return err == nil
}

// AllMade are the names that were noted.
func (f Files) AllMade() ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if escaped, is := strings.CutSuffix(e.Name(), made); is {
			if name, err := url.QueryUnescape(escaped); err == nil {
				names = append(names, name)
			}
		}
	}
	return names, err
}

// SetMade notes that something was made, so that it is not made again where it is missing, or
// forgets it. It blocks until that is durable.
func (f Files) SetMade(name string, is bool) error {
	if f.Made(name) == is {
		return nil
	}
	path := f.madePath(name)
	var err error
	if is {
		if err = os.MkdirAll(f.dir, 0o755); err == nil {
			err = linefile.Replace(path, nil)
		}
	} else if err = os.Remove(path); err == nil {
		err = linefile.SyncDir(f.dir)
	}
	if err == nil {
		err = linefile.SyncDir(filepath.Dir(f.dir))
	}
	if err != nil {
		err = fmt.Errorf("fingerprint: note that %s was made: %w", name, err)
	}
	return disk.Failed(err)
}

func (f Files) madePath(name string) string { return filepath.Join(f.dir, url.QueryEscape(name)+made) }
