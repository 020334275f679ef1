package server

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// Crash ends the bootstrap as a lack of memory does, in the middle of what it does; the
// invocation fails with Runtime.ExitError. Where none runs it does nothing.
func (f *Function) Crash() error {
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(f.p.cmd.Process.Pid)).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return nil // there is none
	}
	if err != nil {
		return fmt.Errorf("looking for the bootstrap: %w", err)
	}
	for _, field := range strings.Fields(string(out)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return err
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}
