// Package server starts the real servers that the tests talk to: on a free port of
// 127.0.0.1, from programs installed once into a cache folder outside the tree.
//
// Most tests use the servers that `go run ./test/servers` has started and named in the
// environment ([Kind.Endpoint]). A test that must stop a server, restart it on its data,
// or give it settings of its own starts its own node ([Kind.Start]).
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

// Kind is one kind of server: what it needs, how it is installed once, how a node of it
// starts. Two kinds may share a program and differ in settings.
type Kind struct {
	Name string // as `-only` takes it
	Env  string // the variable that tells tests its endpoint

	folder   string // in the cache; bears the version: another one, or another recipe, is another install
	tools    []tool // what the machine must have
	settings []string
	install  func(ctx context.Context, dir string) error
	// command is not started yet; dir is where it is installed, home a folder of the
	// node's own, which lasts over restarts.
	command func(dir, home, port string, settings []string) *exec.Cmd
	ready   func(ctx context.Context, endpoint string) error
}

// Kinds are all servers that the tests need.
func Kinds() []*Kind {
	return []*Kind{DynamoDB(), OpenSearch(), TightOpenSearch(), S3(), Moto(), SQS()}
}

// TB is what is used of a test.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
	Context() context.Context
}

// Endpoint is the URL of the server that the environment names. Without one the test
// fails: nothing is skipped.
func (k *Kind) Endpoint(t TB) string {
	t.Helper()
	url := os.Getenv(k.Env)
	if url == "" {
		t.Fatal(k.Env + " is not set: run the tests by  go run ./test/servers -- go test ./...")
	}
	return url
}

// Folder is the name of the kind's folder in the cache, which bears its version.
func (k *Kind) Folder() string { return k.folder }

// Install fills the kind's folder in the cache, at the first call on a machine, and
// returns it. Processes that install at once wait for each other.
func (k *Kind) Install(ctx context.Context) (string, error) {
	return installOnce(k.folder, func() error { return CheckMachine(k) }, func(dir string) error { return k.install(ctx, dir) })
}

// installOnce fills a folder of the cache, unless it is filled.
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

// cacheFolder is where servers are installed; TABLEWAKE_TEST_CACHE moves it.
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

// copyDependencies lets Maven put the dependencies of the pom into dir/lib. Maven's own repository knows no locks, so
// one runs at a time.
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

// runTool runs a step of an install in dir; its output is in the error.
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
