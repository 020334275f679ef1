package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// Node is one running server. Its methods are for one caller at a time.
type Node struct {
	kind     *Kind
	dir      string // where the program is installed
	home     string // the node's data and log, removed by Close
	port     string
	settings []string
	p        *process // nil: not running
}

const (
	startLimit = 5 * time.Minute // on a machine that is busy with tests; seconds otherwise
	stopGrace  = 20 * time.Second
)

// Start installs the kind when it must and starts a node with data of its own; it
// returns when the node answers. A setting is NAME=VALUE for OpenSearch, and a further
// argument of the program for the others. The caller closes the node.
func (k *Kind) Start(ctx context.Context, settings ...string) (*Node, error) {
	dir, err := k.Install(ctx)
	if err != nil {
		return nil, err
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "tablewake-"+k.Name+"-")
	if err != nil {
		return nil, err
	}
	n := &Node{kind: k, dir: dir, home: home, port: port, settings: slices.Concat(k.settings, settings)}
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// StartFor is Start for a test: it fails the test, and closes the node at its end.
func (k *Kind) StartFor(t TB, settings ...string) *Node {
	t.Helper()
	n, err := k.Start(t.Context(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// Endpoint is the node's URL; it stays the same over restarts.
func (n *Node) Endpoint() string { return "http://127.0.0.1:" + n.port }

// Stop ends the node in order (SIGTERM; hard after 20 s) and keeps its data.
func (n *Node) Stop() { n.end(syscall.SIGTERM) }

// Kill ends the node as a crash does and keeps what was written.
func (n *Node) Kill() { n.end(syscall.SIGKILL) }

// Restart stops the node, when it runs, and starts it on the same data and port. The
// settings are added to those that it had; the last of a name counts.
func (n *Node) Restart(ctx context.Context, settings ...string) error {
	n.Stop()
	n.settings = append(n.settings, settings...)
	return n.start(ctx)
}

// Close stops the node and removes its data.
func (n *Node) Close() error {
	n.Stop()
	return os.RemoveAll(n.home)
}

func (n *Node) start(ctx context.Context) error {
	cmd := n.kind.command(n.dir, n.home, n.port, n.settings)
	cmd.Dir = n.home
	p, err := startProcess(cmd, filepath.Join(n.home, "log"))
	if err == nil {
		n.p = p
		err = p.await(ctx, startLimit, func(ctx context.Context) error { return n.kind.ready(ctx, n.Endpoint()) })
	}
	if err != nil {
		n.Kill()
		return fmt.Errorf("starting %s: %w", n.kind.Name, err)
	}
	return nil
}

func (n *Node) end(sig syscall.Signal) {
	if n.p == nil {
		return
	}
	n.p.end(sig, stopGrace)
	n.p = nil
}
