package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"

	"github.com/tablewake/tablewake/pipeline/private"
)

// profile is what --profile asks for: what a command's time and memory went into.
type profile struct {
	dir string   // "": nothing is asked for
	cpu *os.File // nil: it is not being written
}

// What is written into the folder.
const (
	cpuProfile  = "cpu.pprof"
	heapProfile = "heap.pprof"
)

// start begins the profile of the processor time.
func (p *profile) start() (err error) {
	if p.dir == "" {
		return nil
	}
	if err := private.MkdirAll(p.dir); err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	if p.cpu, err = private.Create(filepath.Join(p.dir, cpuProfile)); err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	if err := pprof.StartCPUProfile(p.cpu); err != nil {
		err = errors.Join(err, p.cpu.Close())
		p.cpu = nil
		return fmt.Errorf("--profile: %w", err)
	}
	return nil
}

// stop writes both profiles, and says where they are. Of the heap it is what was held at
// the last collection while the command worked, and all that was allocated up to then.
func (p *profile) stop(w io.Writer) error {
	if p.cpu == nil {
		return nil
	}
	pprof.StopCPUProfile()
	err := p.cpu.Close()
	p.cpu = nil
	heap, create := private.Create(filepath.Join(p.dir, heapProfile))
	if create == nil {
		create = errors.Join(pprof.Lookup("heap").WriteTo(heap, 0), heap.Close())
	}
	if err := errors.Join(err, create); err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	fmt.Fprintf(w, "profiles of this run: %s and %s; look into one with `go tool pprof -http :0 FILE`\n",
		filepath.Join(p.dir, cpuProfile), filepath.Join(p.dir, heapProfile))
	return nil
}
