// Package server starts the real servers that the tests use. Each listens on a free port of 127.0.0.1, and its
// program is installed once into a cache folder outside the tree.
//
// Most tests use the servers that `go run ./test/servers` has started. Environment variables hold their endpoints
// ([Kind.Endpoint]). A test that must stop a server, restart it on its data, or change its settings starts its own
// node ([Kind.Start]).
package server

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Credentials that every server accepts: versitygw checks them, DynamoDB Local requires letters and digits.
const (
	AccessKey = "tablewaketest"
	SecretKey = "tablewake-test-secret"
	Region    = "us-east-1"
)

// Kind is one kind of server: its requirements, its installation and the start of a node. Two kinds may share a
// program and differ in settings.
type Kind struct {
	Name string // the name in `-only`
	Env  string // the variable with the endpoint for tests

	folder   string // in the cache; includes the version, so another version or recipe is a separate install
	tools    []tool // programs that the machine must have
	settings []string
	install  func(ctx context.Context, dir string) error
	// command returns the command that starts a node. dir is the folder of the installation. home is the folder of
	// the node, which is kept over restarts.
	command func(dir, home, port string, settings []string) *exec.Cmd
	ready   func(ctx context.Context, endpoint string) error
}

// Kinds returns all servers that the tests need.
func Kinds() []*Kind {
	return []*Kind{DynamoDB(), OpenSearch(), TightOpenSearch(), S3(), Moto(), SQS()}
}

// TB is the part of testing.TB that the package uses.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
	Context() context.Context
}

// Endpoint returns the URL of the server from its environment variable. If the variable is not set, the test fails,
// because no test may be skipped.
func (k *Kind) Endpoint(t TB) string {
	t.Helper()
	url := os.Getenv(k.Env)
	if url == "" {
		t.Fatal(k.Env + " is not set: run the tests by  go run ./test/servers -- go test ./...")
	}
	return url
}

// Folder returns the name of the kind's folder in the cache, which includes the version.
func (k *Kind) Folder() string { return k.folder }

// Install installs the kind into its folder in the cache on the first call on a machine, and returns the folder.
// Concurrent processes wait for each other.
func (k *Kind) Install(ctx context.Context) (string, error) {
	return installOnce(k.folder, func() error { return CheckMachine(k) }, func(dir string) error { return k.install(ctx, dir) })
}

// installOnce installs into a folder of the cache, unless that was done before.
func installOnce(folder string, check func() error, install func(dir string) error) (string, error) {
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, folder)
	unlock, err := lockFile(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	done := filepath.Join(dir, ".complete")
	if _, err := os.Stat(done); err == nil {
		return dir, nil
	}
	if err := check(); err != nil {
		return "", err
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	fmt.Fprintf(os.Stderr, "servers: installing %s into %s (once)\n", folder, dir)
	if err := install(dir); err != nil {
		return "", fmt.Errorf("installing %s: %w", folder, err)
	}
	return dir, os.WriteFile(done, nil, 0o644)
}

// cacheFolder returns the folder in which servers are installed. TABLEWAKE_TEST_CACHE changes it.
func cacheFolder() (string, error) {
	cache := os.Getenv("TABLEWAKE_TEST_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("%w (set TABLEWAKE_TEST_CACHE to a folder)", err)
		}
		cache = filepath.Join(user, "tablewake-test")
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", err
	}
	return cache, os.MkdirAll(cache, 0o755)
}

// copyDependencies runs Maven to copy the dependencies of the pom into dir/lib. Only one Maven runs at a time,
// because its repository has no locks.
func copyDependencies(ctx context.Context, dir string, pom []byte, property ...string) error {
	unlock, err := lockFile(filepath.Join(filepath.Dir(dir), "maven.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return err
	}
	return runTool(ctx, dir, "mvn", append([]string{"-B", "-ntp", "-q", "-f", file,
		"org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies",
		"-DoutputDirectory=" + filepath.Join(dir, "lib"), "-DincludeScope=runtime"}, property...)...)
}

// runTool runs a step of an installation in dir. Its error includes the output.
func runTool(ctx context.Context, dir, name string, arg ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, arg...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(name), cmp.Or(context.Cause(ctx), err), out)
	}
	return nil
}
