package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// tailBytes is the number of bytes at the end of a log that an error shows.
const tailBytes = 4000

// process is a running server program.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when the process has ended
}

// startProcess starts the command in its folder and appends its output to the log. The process has its own process
// group, so a Ctrl-C reaches it only through stop.
func startProcess(cmd *exec.Cmd, log string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = ownGroup()
	p := &process{cmd: cmd, log: log, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The process dies with the thread that started it (see process_linux.go), so that thread is kept until the
		// process ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
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
	return string(b[max(0, len(b)-tailBytes):])
}

// end signals the process and waits for its end. After the grace period it kills the process.
func (p *process) end(sig syscall.Signal, grace time.Duration) {
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.done:
	case <-time.After(grace):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// FreePort returns a port of 127.0.0.1 on which nothing listened just now. It is below the ports that the system
// gives to clients. So no client gets it between a stop and a restart, and no client can connect to itself on it.
func FreePort() (string, error) {
	for range 100 {
		port := strconv.Itoa(20000 + rand.IntN(12000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return "", fmt.Errorf("no free port between 20000 and 32000 on 127.0.0.1")
}

// answers returns nil if the URL gives any HTTP answer.
func answers(ctx context.Context, url string) error {
	_, err := status(ctx, url)
	return err
}

// healthy returns nil if the URL answers 200.
func healthy(ctx context.Context, url string) error {
	code, err := status(ctx, url)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("HTTP status %d", code)
	}
	return err
}

// status uses its own connection, because a kept one has a goroutine that looks like a leak of a test.
func status(ctx context.Context, url string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}
