package replay

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// input is one file to read, or standard input.
type input struct {
	path  string // as given, or a path below the given folder; "-" is standard input
	named bool   // the user named the file; otherwise it was found in a folder
	size  int64  // bytes on disk; 0 for standard input
}

// listInputs resolves paths to files. Folders are read recursively, sorted by name, without
// hidden files.
func listInputs(paths []string) ([]input, error) {
	var ins []input
	for _, p := range paths {
		if p == "-" {
			ins = append(ins, input{path: p, named: true})
			continue
		}
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			ins = append(ins, input{path: p, named: true, size: info.Size()})
			continue
		}
		before := len(ins)
		err = filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case path != p && strings.HasPrefix(d.Name(), "."):
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			case d.IsDir():
				return nil
			}
			info, err := os.Stat(path) // through links
			if err != nil {
				return err
			}
			if info.Mode().IsRegular() {
				ins = append(ins, input{path: path, size: info.Size()})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(ins) == before {
			return nil, errs.Errorf("folder %s holds no files to replay", p)
		}
	}
	return ins, nil
}

// interruptibleReader reads from a pipe or terminal until a context is done. Each read runs in a goroutine. If the
// context ends first, the goroutine lives on until bytes or the end arrive, and the next read gets them.
type interruptibleReader struct {
	r    io.Reader
	buf  []byte     // written by the goroutine while it runs
	next chan error // result of the running goroutine; nil if none runs
	n    int        // number of bytes read, valid after next was received
	rest []byte     // part of buf that is not returned yet
	err  error
}

// errInterrupted is the error of read if ctx is done before bytes arrive.
var errInterrupted = errs.New("reading was interrupted")

func (a *interruptibleReader) read(ctx context.Context, p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.err != nil {
			return 0, a.err
		}
		if a.next == nil {
			if a.buf == nil {
				a.buf = make([]byte, 64<<10)
			}
			next := make(chan error, 1)
			a.next = next
			go func() {
				var err error
				a.n, err = a.r.Read(a.buf)
				next <- err
			}()
		}
		select {
		case a.err = <-a.next:
			a.rest, a.next = a.buf[:a.n], nil
		case <-ctx.Done():
			return 0, errInterrupted
		}
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}
