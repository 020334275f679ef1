package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tablewake/tablewake/pipeline/config"
)

// hashFile names, in a --local folder, the configuration that wrote it. It becomes
// that from newHashFile at once, so that a crash never leaves half a name.
const (
	hashFile    = "config.hash"
	newHashFile = ".config.hash"
)

// keysNameTables stands behind the hash where a configuration has several tables.
const keysNameTables = "keys name their table"

// claim is what the hash file of a configuration holds.
func claim(cfg *config.Config) string {
	if len(cfg.Source.Tables) > 1 {
		return cfg.Hash() + "\n" + keysNameTables + "\n"
	}
	return cfg.Hash() + "\n"
}

// tableInKey tells whether the keys in a folder are prefixed by their table.
func tableInKey(dir string) (bool, error) {
	wrote, err := os.ReadFile(filepath.Join(dir, hashFile))
	return strings.Contains(string(wrote), keysNameTables), err
}

// claimLocal makes dir the folder of cfg: an empty one becomes it, one that the same
// configuration wrote is gone on with, any other is refused unless fresh empties
// it. The folder is locked against a second process until release.
func claimLocal(dir string, cfg *config.Config, fresh bool) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	release, err = lockLocal(dir, syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	if err := claimLocked(dir, cfg, fresh); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// lockLocal keeps other processes out of a folder until release: all of them
// (LOCK_EX), or those that write (LOCK_SH).
func lockLocal(dir string, how int) (release func(), err error) {
	lock, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return nil, err
	}
	release = func() { _ = lock.Close() }
	if err := syscall.Flock(int(lock.Fd()), how|syscall.LOCK_NB); err != nil {
		release()
		return nil, fmt.Errorf("%s is in use by another process; wait for it, or take another folder", dir)
	}
	return release, nil
}

func claimLocked(dir string, cfg *config.Config, fresh bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	wrote, err := os.ReadFile(filepath.Join(dir, hashFile))
	ours := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	others := 0
	for _, e := range entries {
		if e.Name() != ".lock" && e.Name() != newHashFile {
			others++
		}
	}
	switch {
	case !ours && others > 0:
		return fmt.Errorf("%s holds files that tablewake did not write; give --local an empty or a new folder", dir)
	case ours && fresh:
		for _, e := range entries {
			if e.Name() == ".lock" || e.Name() == hashFile { // the hash goes last: a folder half emptied is still ours
				continue
			}
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	case ours && string(wrote) != claim(cfg):
		return fmt.Errorf("%s was written under another configuration than %s is now: its rows and documents would mix with new ones; "+
			"--fresh empties the folder first, or give --local another one", dir, cfg.File)
	case ours:
		return nil
	}
	if err := os.WriteFile(filepath.Join(dir, newHashFile), []byte(claim(cfg)), 0o644); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, newHashFile), filepath.Join(dir, hashFile))
}
