package server

import (
	"context"
	_ "embed"
	"os/exec"
	"path/filepath"
)

//go:embed dynamodb/pom.xml
var dynamoDBPOM []byte

// DynamoDB returns the kind of Amazon's DynamoDB Local with streams, in memory: a restart deletes all data. Each
// access key has separate data and keeps about 30 threads until the end. So a test process uses one key, and its
// tests use different table names.
func DynamoDB() *Kind {
	return &Kind{
		Name:   "dynamodb",
		Env:    "TABLEWAKE_TEST_DYNAMODB",
		folder: "dynamodb-local-3.3.1",
		tools:  []tool{java(), maven()},
		install: func(ctx context.Context, dir string) error {
			return copyDependencies(ctx, dir, dynamoDBPOM)
		},
		command: func(dir, _, port string, settings []string) *exec.Cmd {
			lib := filepath.Join(dir, "lib")
			return exec.Command("java", append([]string{"-Xmx1g", "-Djava.library.path=" + lib, "-cp", filepath.Join(lib, "*"),
				"software.amazon.dynamodb.services.local.main.ServerRunner",
				"-inMemory", "-disableTelemetry", "-port", port}, settings...)...)
		},
		ready: answers, // 400 without a signature
	}
}
