// Command servers starts the real servers that the tests talk to, on free ports of
// 127.0.0.1, from a cache folder outside the tree.
//
//	go run ./test/servers                    # start, print NAME=endpoint lines, wait for Ctrl-C
//	go run ./test/servers -- go test ./...   # run a command with them, return its exit code
//
// A server whose endpoint the environment already names is used as it is and not
// started. What a server needs and the machine lacks is said in one line before
// anything starts.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

const usage = `usage: go run ./test/servers [-- COMMAND [ARG ...]]

Starts the servers that the tests need and prints their endpoints as NAME=value
lines; with a COMMAND, runs it with those names in its environment and returns
its exit code. Downloads are kept in the user's cache folder
(TABLEWAKE_TEST_CACHE moves it).

  go run ./test/servers
  go run ./test/servers -- go test -race ./...
`

func main() {
	// A child dies with the thread that started it (see process_linux.go), so
	// everything that starts one runs on the main thread.
	runtime.LockOSThread()
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
	}
	os.Exit(code)
}

func run(args []string) (code int, err error) {
	var command []string
	if len(args) > 0 {
		if args[0] != "--" || len(args) == 1 {
			fmt.Fprint(os.Stderr, usage)
			if args[0] == "-h" || args[0] == "--help" {
				return 0, nil
			}
			return 2, fmt.Errorf("unexpected argument %q", args[0])
		}
		command = args[1:]
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()

	var wanted []server
	for _, s := range servers {
		if os.Getenv(s.env) == "" {
			wanted = append(wanted, s)
		}
	}
	if err := checkMachine(wanted); err != nil {
		return 1, err
	}
	env := os.Environ()
	for _, s := range wanted {
		dir, err := s.installed(ctx)
		if err != nil {
			return 1, fmt.Errorf("installing %s: %w", s.name, err)
		}
		p, endpoint, err := s.start(ctx, dir)
		if err != nil {
			return 1, fmt.Errorf("starting %s: %w", s.name, err)
		}
		defer p.stop()
		env = append(env, s.env+"="+endpoint)
	}
	if command == nil {
		for _, s := range servers {
			fmt.Println(lookup(env, s.env))
		}
		<-ctx.Done()
		return 0, nil
	}
	return runCommand(ctx, command, env)
}

// runCommand runs the command to its end. A signal reaches it too (it is in the
// same process group), so it is waited for, not killed.
func runCommand(ctx context.Context, command, env []string) (int, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	ended := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			_ = cmd.Process.Signal(syscall.SIGTERM)
		case <-ended:
		}
	}()
	err := cmd.Wait()
	close(ended)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// lookup is the last NAME=value of env, as processes see it.
func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if strings.HasPrefix(env[i], name+"=") {
			return env[i]
		}
	}
	return name + "="
}
