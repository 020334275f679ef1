package target

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/pipeline/private"
)

// replaceFile makes b all that the file name in dir holds, in one step: neither a
// crash nor a power failure leaves a part of it.
func replaceFile(dir, name string, b []byte) error {
	next := filepath.Join(dir, "."+name)
	f, err := private.Create(next)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = private.Replace(f, filepath.Join(dir, name))
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(next, filepath.Join(dir, name)); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
