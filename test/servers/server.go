package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// server is one real server: how it is installed once, and started each time.
type server struct {
	name    string // with its version: names its folder in the cache
	env     string // the variable that tells the tests its endpoint
	tools   []tool // what the machine must have
	install func(ctx context.Context, dir string) error
	start   func(ctx context.Context, dir string) (*process, string, error)
}

// servers are all that the tests need.
var servers = []server{dynamoDBLocal}

// installed is the server's folder in the cache, filled at the first call. Two
// processes that install at once wait for each other.
func (s server) installed(ctx context.Context) (string, error) {
	cache := os.Getenv("TABLEWAKE_TEST_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("%w (set TABLEWAKE_TEST_CACHE to a folder)", err)
		}
		cache = filepath.Join(user, "tablewake-test")
	}
	dir, err := filepath.Abs(filepath.Join(cache, s.name))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	done := filepath.Join(dir, ".complete")
	if _, err := os.Stat(done); err == nil {
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	fmt.Fprintf(os.Stderr, "servers: installing %s into %s (once)\n", s.name, dir)
	if err := s.install(ctx, dir); err != nil {
		return "", err
	}
	return dir, os.WriteFile(done, nil, 0o644)
}
