// Command servers starts the real servers that the tests use, on free ports of 127.0.0.1. It installs them into a cache
// folder outside the repository.
//
//	go run ./test/servers                    # start, print NAME=endpoint lines, wait for Ctrl-C
//	go run ./test/servers -- go test ./...   # run a command with them, return its exit code
//
// If the environment already names the endpoint of a server, this server is used and not started. If the machine lacks
// something that a server needs, one line says so before any server starts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/tablewake/tablewake/test/server"
)

const usage = `usage: go run ./test/servers [-only NAME,...] [-opensearch VERSION] [-- COMMAND [ARG ...]]

Starts the servers that the tests need and prints their endpoints as NAME=value
lines; with a COMMAND, runs it with those names in its environment, and GOFLAGS
that make tests faster, and returns its exit code. Downloads are kept in the user's cache folder
(TABLEWAKE_TEST_CACHE moves it).

Without -only it also installs the tools that tests run, so that no test waits for that.

  -only        start these alone: dynamodb, opensearch, opensearch-tight, s3, moto, sqs
  -opensearch  OpenSearch in another version; 3.x needs a JDK 21 or later, on the PATH
               or named by TABLEWAKE_TEST_JAVA21 (the JDK's folder)

  go run ./test/servers
  go run ./test/servers -- go test -race -timeout 30m ./...
  go run ./test/servers -only opensearch,opensearch-tight -opensearch 3.8.0 -- go test ./sinks/search/opensearch
`

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
	}
	os.Exit(code)
}

func run(args []string) (code int, err error) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()

	wanted, command, err := parse(args)
	if err != nil {
		fmt.Fprint(os.Stderr, usage)
		if errors.Is(err, flag.ErrHelp) {
			return 0, nil
		}
		return 2, err
	}
	missing := slices.DeleteFunc(slices.Clone(wanted), func(k *server.Kind) bool { return os.Getenv(k.Env) != "" })
	if err := server.CheckMachine(missing...); err != nil {
		return 1, err
	}
	if command != nil && len(missing) == len(server.Kinds()) { // all tests will run, it seems
		stopSaying := sayWaiting(os.Stderr, func() []string { return []string{"the tools that tests run"} })
		err := server.InstallTools(ctx)
		stopSaying()
		if err != nil {
			return 1, err
		}
	}
	nodes, err := startAll(ctx, missing)
	defer closeAll(nodes)
	if err != nil {
		return 1, err
	}
	env := append(os.Environ(), "GOFLAGS="+goFlags())
	for i, k := range missing {
		env = append(env, k.Env+"="+nodes[i].Endpoint())
	}
	if command == nil {
		for _, k := range wanted {
			fmt.Println(lookup(env, k.Env))
		}
		<-ctx.Done()
		return 0, nil
	}
	return runCommand(ctx, command, env)
}

// parse returns the kinds of servers that the arguments request, and the command. The command is nil if there is none.
func parse(args []string) (wanted []*server.Kind, command []string, err error) {
	flags := flag.NewFlagSet("servers", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run prints the usage
	only := flags.String("only", "", "")
	version := flags.String("opensearch", "", "")
	if i := slices.Index(args, "--"); i >= 0 {
		args, command = args[:i], args[i+1:]
		if len(command) == 0 {
			return nil, nil, errors.New("no command after --")
		}
	}
	if err := flags.Parse(args); err != nil {
		return nil, nil, err
	}
	if flags.NArg() > 0 {
		return nil, nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *version != "" { // the variable also applies to tests that start their own node
		if err := os.Setenv(server.OpenSearchVersionEnv, *version); err != nil {
			return nil, nil, err
		}
	}
	wanted = server.Kinds()
	if *only != "" {
		if wanted, err = pick(wanted, strings.Split(*only, ",")); err != nil {
			return nil, nil, err
		}
	}
	for _, k := range wanted {
		if *version != "" && strings.HasPrefix(k.Name, "opensearch") && os.Getenv(k.Env) != "" {
			return nil, nil, fmt.Errorf("-opensearch would not be heeded: %s names a running server (unset it)", k.Env)
		}
	}
	return wanted, command, nil
}

// pick returns the kinds with these names.
func pick(kinds []*server.Kind, names []string) ([]*server.Kind, error) {
	var picked []*server.Kind
	for _, name := range names {
		i := slices.IndexFunc(kinds, func(k *server.Kind) bool { return k.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no server %q", name)
		}
		picked = append(picked, kinds[i])
	}
	return picked, nil
}

// startAll starts one node of each kind, all at the same time. If it returns an error, some of the nodes are nil.
func startAll(ctx context.Context, kinds []*server.Kind) ([]*server.Node, error) {
	nodes, errs := make([]*server.Node, len(kinds)), make([]error, len(kinds))
	starting := newNames(kinds)
	defer sayWaiting(os.Stderr, starting.list)()
	var all sync.WaitGroup
	for i, k := range kinds {
		all.Go(func() {
			nodes[i], errs[i] = k.Start(ctx)
			starting.remove(k.Name)
		})
	}
	all.Wait()
	return nodes, errors.Join(errs...)
}

func closeAll(nodes []*server.Node) {
	var all sync.WaitGroup
	for _, n := range nodes {
		if n != nil {
			all.Go(func() { _ = n.Close() })
		}
	}
	all.Wait()
}

// runCommand runs the command to its end. A signal reaches the command as well, because it is in the same process
// group. So runCommand waits for the command, and does not kill it.
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

// goFlags returns the GOFLAGS of the command: those of the environment, and flags that make tests faster. Without paths
// in the build, another checkout can use the build cache. .ci/run runs vet in a separate step. Packages of other
// modules that only compute are built without the race detector, which makes the SQLite that is translated to Go three
// times as slow. Packages that instantiate sync.Map or atomic.Pointer keep the race detector. Otherwise the linker may
// use their uninstrumented copies of these types for the whole program, and the detector reports false races. More
// packages run at once than there are cores, because many tests wait. Symbols and DWARF take a quarter of the time of
// linking eighty test binaries, and traces of goroutines and races do not need them.
func goFlags() string {
	return strings.TrimSpace(os.Getenv("GOFLAGS") + fmt.Sprintf(" -p=%d -trimpath -vet=off '-ldflags=-s -w'", runtime.NumCPU()*3/2) +
		" -gcflags=modernc.org/...=-race=false" +
		" -gcflags=github.com/antlr4-go/antlr/v4/...=-race=false" +
		" -gcflags=github.com/klauspost/compress/...=-race=false -gcflags=github.com/klauspost/compress/zstd=" +
		" -gcflags=cel.dev/cel-go/...=-race=false -gcflags=cel.dev/cel-go/common/types=")
}

// lookup returns the last NAME=value of env, which is the one that processes use.
func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if strings.HasPrefix(env[i], name+"=") {
			return env[i]
		}
	}
	return name + "="
}
