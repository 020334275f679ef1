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

// Node is one running server. Only one caller may use its methods at a time.
type Node struct {
	kind     *Kind
	dir      string // where the program is installed
	home     string // the node's data and log, removed by Close
	port     string
	settings []string
	p        *process // nil: not running
}

const (
	startLimit = 5 * time.Minute // on a machine that is busy with tests; otherwise it takes seconds
	stopGrace  = 20 * time.Second
)

// Start installs the kind if necessary, starts a node with its own data, and returns when the node answers. A setting
// is NAME=VALUE for OpenSearch, and an additional argument of the program for the other kinds. The caller closes the
// node.
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

// StartFor calls Start for a test. It fails the test on an error, and closes the node at the end of the test.
func (k *Kind) StartFor(t TB, settings ...string) *Node {
	t.Helper()
	n, err := k.Start(t.Context(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// Endpoint returns the URL of the node. It stays the same over restarts.
func (n *Node) Endpoint() string { return "http://127.0.0.1:" + n.port }

// Stop ends the node with SIGTERM, and kills it after 20 s. The data are kept.
func (n *Node) Stop() { n.end(syscall.SIGTERM) }

// Kill ends the node as a crash does. Written data are kept.
func (n *Node) Kill() { n.end(syscall.SIGKILL) }

// Restart stops the node if it runs, and starts it on the same data and port. The settings are added to its earlier
// ones. The last setting of a name is used.
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
