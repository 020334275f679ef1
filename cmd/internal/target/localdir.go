package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/private"
	"github.com/tablewake/tablewake/sinks/local"
)

// ownerFile names, in a --local folder, the pipeline that wrote it.
const ownerFile = "pipeline.json"

// owner is what the owner file holds. What shaped each sink's output stands
// beside that output.
type owner struct {
	Pipeline   string `json:"pipeline"`
	TableInKey bool   `json:"table_in_key"` // keys are prefixed by their table
}

func ownerOf(cfg *config.Config) owner {
	return owner{Pipeline: cfg.Name, TableInKey: len(cfg.Source.Tables) > 1}
}

// ReadOwner tells who wrote a folder.
func ReadOwner(dir string) (owner, error) {
	var o owner
	b, err := os.ReadFile(filepath.Join(dir, ownerFile))
	if err == nil {
		err = json.Unmarshal(b, &o)
	}
	return o, err
}

// claimLocal makes dir the folder of cfg: an empty one becomes it, one that the same
// pipeline wrote is gone on with, any other is refused unless fresh empties it. Whoever calls
// it has the folder to itself.
func claimLocal(dir string, cfg *config.Config, fresh bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	wrote, err := ReadOwner(dir)
	ours := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	others := 0
	for _, e := range entries {
		if e.Name() != local.LockFile && e.Name() != "."+ownerFile {
			others++
		}
	}
	switch {
	case !ours && others > 0:
		return fmt.Errorf("%s holds files that tablewake did not write; give --local an empty or a new folder", dir)
	case ours && fresh:
		for _, e := range entries {
			if e.Name() == local.LockFile || e.Name() == ownerFile { // the owner goes last: a folder half emptied is still ours
				continue
			}
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	case ours && wrote.Pipeline != cfg.Name:
		return fmt.Errorf("%s was written by the pipeline %s, and %s has the name %s: "+
			"--fresh empties the folder first, or give --local another one", dir, wrote.Pipeline, cfg.File, cfg.Name)
	case ours && wrote != ownerOf(cfg):
		return fmt.Errorf("%s was written with other source tables than %s names: the keys of items differ where there are several; "+
			"--fresh empties the folder first, or give --local another one", dir, cfg.File)
	case ours:
		return nil
	}
	b, err := json.Marshal(ownerOf(cfg))
	if err != nil {
		return err
	}
	return private.WriteFile(filepath.Join(dir, ownerFile), filepath.Join(dir, "."+ownerFile), append(b, '\n'))
}
