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
	path  string // as given, or below the folder that was given; "-" is standard input
	named bool   // given by name, not found in a folder
	size  int64  // bytes on disk; 0 for standard input
}

// listInputs resolves paths to files: folders recursively, in the order of names,
// leaving out what is hidden.
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

// awaited makes reads from a pipe or terminal end with a context: they run in a goroutine,
// which outlives a read given up until its bytes, or the end, come.
type awaited struct {
	r    io.Reader
	buf  []byte     // the goroutine's while one runs
	next chan error // of the goroutine, or nil
	n    int        // what it read, once next gave
	rest []byte     // of buf, not yet handed out
	err  error
}

// errGivenUp is what read returns when ctx is done before bytes came.
var errGivenUp = errs.New("reading was given up")

func (a *awaited) read(ctx context.Context, p []byte) (int, error) {
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
			return 0, errGivenUp
		}
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}
