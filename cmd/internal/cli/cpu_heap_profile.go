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

// profile writes the CPU and heap profiles of a run for --profile.
type profile struct {
	dir string   // "": write no profile
	cpu *os.File // nil: not started
}

// The names of the files in the folder of --profile.
const (
	cpuProfile  = "cpu.pprof"
	heapProfile = "heap.pprof"
)

// start starts the CPU profile.
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

// stop writes both profiles, and prints their paths to w. The heap profile shows the heap at the last garbage
// collection, because pprof counts live objects only then.
func (p *profile) stop(w io.Writer) error {
	if p.cpu == nil {
		return nil
	}
	pprof.StopCPUProfile()
	err := p.cpu.Close()
	p.cpu = nil
	heap, heapErr := private.Create(filepath.Join(p.dir, heapProfile))
	if heapErr == nil {
		heapErr = errors.Join(pprof.Lookup("heap").WriteTo(heap, 0), heap.Close())
	}
	if err := errors.Join(err, heapErr); err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	fmt.Fprintf(w, "profiles of this run: %s and %s; look into one with `go tool pprof -http :0 FILE`\n",
		filepath.Join(p.dir, cpuProfile), filepath.Join(p.dir, heapProfile))
	return nil
}
