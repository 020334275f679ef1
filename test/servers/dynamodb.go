package main

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

//go:embed dynamodb/pom.xml
var dynamoDBPOM []byte

// dynamoDBLocal is Amazon's DynamoDB Local, with streams and in memory. Each access
// key is a world of its own, so tests that take one each do not meet.
var dynamoDBLocal = server{
	name:  "dynamodb-local-3.3.1",
	env:   "TABLEWAKE_TEST_DYNAMODB",
	tools: []tool{java, maven},
	install: func(ctx context.Context, dir string) error {
		return copyDependencies(ctx, dir, dynamoDBPOM)
	},
	start: func(ctx context.Context, dir string) (*process, string, error) {
		port, err := freePort()
		if err != nil {
			return nil, "", err
		}
		lib := filepath.Join(dir, "lib")
		p, err := startProcess("java", "-Xmx1g", "-Djava.library.path="+lib, "-cp", filepath.Join(lib, "*"),
			"software.amazon.dynamodb.services.local.main.ServerRunner",
			"-inMemory", "-disableTelemetry", "-port", port)
		if err != nil {
			return nil, "", err
		}
		endpoint := "http://127.0.0.1:" + port
		err = p.await(ctx, time.Minute, func(ctx context.Context) error {
			// Any HTTP answer will do: without a signature it is a 400.
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
			if err != nil {
				return err
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return err
			}
			return resp.Body.Close()
		})
		if err != nil {
			p.stop()
			return nil, "", err
		}
		return p, endpoint, nil
	},
}

// copyDependencies has Maven put what the pom asks for into dir/lib.
func copyDependencies(ctx context.Context, dir string, pom []byte) error {
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "mvn", "-B", "-ntp", "-q", "-f", file,
		"org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies",
		"-DoutputDirectory="+filepath.Join(dir, "lib"), "-DincludeScope=runtime")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("maven: %w\n%s", err, out)
	}
	return nil
}
