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

// hashFile names, in a --local folder, the configuration that wrote it.
const hashFile = "config.hash"

// claimLocal makes dir the folder of cfg: an empty one becomes it, one that the same
// configuration wrote is gone on with, any other is refused unless fresh empties
// it. The folder is locked against a second process until release.
func claimLocal(dir string, cfg *config.Config, fresh bool) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	release, err = lockLocal(dir)
	if err != nil {
		return nil, err
	}
	if err := claimLocked(dir, cfg, fresh); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// lockLocal keeps other processes out of a folder until release.
func lockLocal(dir string) (release func(), err error) {
	lock, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	release = func() { _ = lock.Close() }
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
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
		if e.Name() != ".lock" {
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
	case ours && strings.TrimSpace(string(wrote)) != cfg.Hash():
		return fmt.Errorf("%s was written under another configuration than %s is now: its rows and documents would mix with new ones; "+
			"--fresh empties the folder first, or give --local another one", dir, cfg.File)
	case ours:
		return nil
	}
	return os.WriteFile(filepath.Join(dir, hashFile), []byte(cfg.Hash()+"\n"), 0o644)
}
