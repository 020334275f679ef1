package server

import (
	"context"
	_ "embed"
	"os/exec"
	"path/filepath"
)

//go:embed dynamodb/pom.xml
var dynamoDBPOM []byte

// DynamoDB is Amazon's DynamoDB Local, with streams and in memory: a restart forgets.
// Each access key is a world of its own, and costs it some 30 threads to its end: a test
// process takes one, and tells its tests apart by the names of their tables.
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
		ready: answers, // without a signature it is a 400
	}
}
