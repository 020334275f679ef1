package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/private"
	"github.com/tablewake/tablewake/sinks/local"
)

// ownerFile is the file of a --local folder that names the pipeline of the folder.
const ownerFile = "pipeline.json"

// owner is the content of the owner file. It has no settings of sinks, because those are stored with the output of the
// sink.
type owner struct {
	Pipeline   string `json:"pipeline"`
	TableInKey bool   `json:"table_in_key"` // canonical keys begin with the name of the table
	// Keys are the key attributes of the items, sorted. They are empty until the first record or item was read, and if
	// TableInKey is set
	Keys []string `json:"keys,omitempty"`
}

func newOwner(cfg *config.Config) owner {
	return owner{Pipeline: cfg.Name, TableInKey: len(cfg.Source.Tables) > 1}
}

// ReadOwner reads the owner file of a folder.
func ReadOwner(dir string) (owner, error) {
	var o owner
	path := filepath.Join(dir, ownerFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return o, err
	}
	err = json.Unmarshal(b, &o)
	if err == nil && o.Pipeline == "" {
		err = errors.New("it names no pipeline")
	}
	if err != nil {
		return o, fmt.Errorf("%s is damaged: %w: restore it from a copy, or give --local another folder", path, err)
	}
	return o, nil
}

// claimLocal makes cfg's pipeline the owner of the folder dir. The folder must be empty or belong to the same pipeline
// already. If fresh is set, it may belong to any pipeline, and claimLocal empties it first. The caller has locked the
// folder.
func claimLocal(dir string, cfg *config.Config, fresh bool) error {
	previous, err := ReadOwner(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = checkUnused(dir)
	case err != nil:
		return err
	case !fresh:
		return previous.check(dir, cfg)
	default:
		err = emptyFolder(dir)
	}
	if err != nil {
		return err
	}
	return newOwner(cfg).write(dir)
}

func (o owner) write(dir string) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return private.WriteFile(filepath.Join(dir, ownerFile), filepath.Join(dir, "."+ownerFile), append(b, '\n'))
}

// checkUnused returns an error unless a folder without an owner file is empty.
func checkUnused(dir string) error {
	if err := checkLostOwner(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	isForeign := func(e fs.DirEntry) bool { return e.Name() != local.LockFile && e.Name() != "."+ownerFile }
	if slices.ContainsFunc(entries, isForeign) {
		return fmt.Errorf("%s holds files that tablewake did not write; give --local an empty or a new folder", dir)
	}
	return err
}

// checkOwner returns an error unless dir is a --local folder whose owner is cfg's pipeline.
func checkOwner(dir string, cfg *config.Config) error {
	if err := CheckLocalFolder(dir); err != nil {
		return err
	}
	previous, err := ReadOwner(dir)
	if err != nil {
		return err
	}
	return previous.check(dir, cfg)
}

// checkLostOwner returns an error if a folder without an owner file had one: the witness of its views.db is there.
func checkLostOwner(dir string) error {
	if _, err := os.Stat(local.Dir(dir).Witness()); err != nil {
		return nil //nolint:nilerr // the folder has no views.db
	}
	return fmt.Errorf("%s is missing, which names the pipeline of the folder: put it back, or give --local another folder",
		filepath.Join(dir, ownerFile))
}

// check returns an error unless cfg's pipeline is the owner.
func (o owner) check(dir string, cfg *config.Config) error {
	switch {
	case o.Pipeline != cfg.Name:
		return fmt.Errorf("%s was written by the pipeline %s, and %s has the name %s: "+
			"give --local another folder; `tablewake replay --fresh` empties this one first", dir, o.Pipeline, cfg.File, cfg.Name)
	case o.TableInKey != newOwner(cfg).TableInKey:
		return fmt.Errorf(
			"%s was written with other source tables than %s names: the keys of items differ where there are several; "+
				"give --local another folder; `tablewake replay --fresh` empties this one first", dir, cfg.File)
	}
	return nil
}

// CheckItemKeys returns a usage error if the items in the --local folder have other key attributes than names. An item
// whose key lacks an attribute would be another item, and count twice.
func (f *Flags) CheckItemKeys(names []string) error {
	_, err := f.compareItemKeys(names)
	return err
}

// NoteItemKeys is CheckItemKeys, and stores the names if none are stored. The caller has opened the folder for writing.
func (f *Flags) NoteItemKeys(names []string) error {
	o, err := f.compareItemKeys(names)
	if err != nil || o.Pipeline == "" || o.TableInKey || len(o.Keys) > 0 {
		return err
	}
	o.Keys = slices.Sorted(slices.Values(names))
	return o.write(f.Local)
}

// compareItemKeys compares the names of key attributes with those in the owner file. The owner is zero if there is no
// folder or no such file.
func (f *Flags) compareItemKeys(names []string) (owner, error) {
	if f.Live || len(names) == 0 {
		return owner{}, nil
	}
	o, err := ReadOwner(f.Local)
	if errors.Is(err, fs.ErrNotExist) {
		return owner{}, nil
	}
	sorted := slices.Sorted(slices.Values(names))
	if err == nil && len(o.Keys) > 0 && !slices.Equal(o.Keys, sorted) {
		err = cli.Usagef("the items in %s have the key attributes %s, and these have %s: "+
			"name all key attributes of the table, or give --local another folder", f.Local, strings.Join(o.Keys, ","),
			strings.Join(sorted, ","))
	}
	return o, err
}

// emptyFolder removes the entries of a folder. It returns an error that names an entry if tablewake did not write it.
// The lock stays, and also the owner file, so that an interrupted --fresh can be repeated.
func emptyFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !ownNames.MatchString(e.Name()) {
			return fmt.Errorf(
				"%s holds %s, which tablewake did not write, and --fresh empties the folder: move it elsewhere first", dir,
				e.Name())
		}
	}
	for _, e := range entries {
		if e.Name() == local.LockFile || e.Name() == ownerFile {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// ownNames match the names of tablewake's files in a --local folder. Folders of older formats also have a folder named
// search.
var ownNames = regexp.MustCompile(
	`^(\.lock|\.?pipeline\.json|views\.(db|witness).*|\.?sensitive\.txt|\.?leases\.json.*|archive|events|dead|search)$`)
