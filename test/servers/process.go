package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// process is a running server.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when the process has ended
	dir  string        // scratch folder, removed at the end
}

// startProcess starts a server in a scratch folder of its own. Its output goes to a
// log there; its process group is its own, so a Ctrl-C reaches it through stop only.
func startProcess(name string, arg ...string) (*process, error) {
	dir, err := os.MkdirTemp("", "tablewake-server-")
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(name, arg...), dir: dir, log: filepath.Join(dir, "log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, log, log
	p.cmd.SysProcAttr = ownGroup()
	if err := p.cmd.Start(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// await polls ready until it succeeds, the process ends, or the limit passes.
func (p *process) await(ctx context.Context, limit time.Duration, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("it ended at once; its output:\n%s", p.tail())
		case <-ctx.Done():
			return fmt.Errorf("it did not answer within %v (%w); its output:\n%s", limit, err, p.tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (p *process) tail() string {
	b, _ := os.ReadFile(p.log)
	return string(b[max(0, len(b)-4000):])
}

// stop ends the process, hard after 5 s, and removes its scratch folder.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	_ = os.RemoveAll(p.dir)
}

// freePort is a port of 127.0.0.1 that nothing listened on a moment ago.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}
