package server

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Crash kills the bootstrap during its work, as a lack of memory does. The invocation fails with Runtime.ExitError.
// If no bootstrap runs, Crash does nothing.
func (f *Function) Crash() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.signalBootstrap(syscall.SIGKILL)
}

// signalBootstrap signals the bootstrap, if one runs. The caller holds f.mu.
func (f *Function) signalBootstrap(sig syscall.Signal) error {
	if f.p == nil {
		return nil
	}
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(f.p.cmd.Process.Pid)).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return nil // no bootstrap runs
	}
	if err != nil {
		return fmt.Errorf("looking for the bootstrap: %w", err)
	}
	for _, field := range strings.Fields(string(out)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return err
		}
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// stop ends the bootstrap and the emulator, and the next invocation starts them again.
func (f *Function) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.p == nil {
		return
	}
	_ = f.signalBootstrap(syscall.SIGKILL) // the emulator may not wait for its end
	f.p.end(syscall.SIGTERM, 5*time.Second)
	f.p = nil
	f.http.CloseIdleConnections()
}

// stacks ends both so that they write the stacks of their goroutines. It returns the end of the earlier log, and the
// stacks.
func (f *Function) stacks() string {
	const grace = 2 * time.Second
	before := f.Log()
	f.mu.Lock()
	_ = f.signalBootstrap(syscall.SIGQUIT)
	time.Sleep(grace)
	_ = f.signalBootstrap(syscall.SIGKILL)
	if f.p != nil { // Close may have ended it
		f.p.end(syscall.SIGQUIT, grace)
	}
	f.mu.Unlock()
	f.stop()
	return f.Log()[max(0, len(before)-tailBytes):]
}
