package server

import (
	"context"
	_ "embed"
	"os/exec"
	"path/filepath"
)

//go:embed elasticmq/pom.xml
var elasticMQPOM []byte

// SQS returns the kind of ElasticMQ: standard and FIFO queues, in memory.
func SQS() *Kind {
	return &Kind{
		Name:   "sqs",
		Env:    "TABLEWAKE_TEST_SQS",
		folder: "elasticmq-1.7.1",
		tools:  []tool{java(), maven()},
		install: func(ctx context.Context, dir string) error {
			return copyDependencies(ctx, dir, elasticMQPOM)
		},
		command: func(dir, _, port string, settings []string) *exec.Cmd {
			return exec.Command("java", append(append([]string{"-Xmx128m", "-XX:+UseSerialGC",
				"-Drest-sqs.bind-hostname=127.0.0.1", "-Drest-sqs.bind-port=" + port, "-Dnode-address.port=" + port,
				"-Drest-stats.enabled=false"}, settings...),
				"-cp", filepath.Join(dir, "lib", "*"), "org.elasticmq.server.Main")...)
		},
		ready: func(ctx context.Context, endpoint string) error {
			return healthy(ctx, endpoint+"/?Action=ListQueues&Version=2012-11-05")
		},
	}
}
