package server

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed opensearch/pom.xml
var openSearchPOM []byte

//go:embed opensearch/OpenSearchNode.java
var openSearchNode []byte

// OpenSearchVersionEnv is the environment variable that selects another version of OpenSearch than the default, e.g.
// 3.8.0. Version 3.x needs JDK 21 or later: the one in the folder TABLEWAKE_TEST_JAVA21, or the one on the PATH.
const OpenSearchVersionEnv = "TABLEWAKE_TEST_OPENSEARCH_VERSION"

// OpenSearch returns the kind of one OpenSearch node without the security plugin. Its settings are NAME=VALUE.
func OpenSearch() *Kind { return openSearch("opensearch", "TABLEWAKE_TEST_OPENSEARCH", "512m") }

// TightOpenSearch returns the kind of a node with low limits. It refuses items of small concurrent bulks with 429, a
// whole request with 429 if more than 64 KB are in flight, and a request of more than 1 MB with 413.
func TightOpenSearch() *Kind {
	return openSearch("opensearch-tight", "TABLEWAKE_TEST_OPENSEARCH_TIGHT", "256m",
		"thread_pool.write.size=1", "thread_pool.write.queue_size=1",
		"indexing_pressure.memory.limit=64kb", "http.max_content_length=1mb")
}

func openSearch(name, env, heap string, settings ...string) *Kind {
	version := cmp.Or(os.Getenv(OpenSearchVersionEnv), "2.19.6")
	jdk := jdkOf(version)
	return &Kind{
		Name:     name,
		Env:      env,
		folder:   fmt.Sprintf("opensearch-%s-%08x", version, recipe(openSearchPOM, openSearchNode)),
		tools:    []tool{jdk.tool("java", "-version"), jdk.tool("javac", "-version"), maven()},
		settings: settings,
		install: func(ctx context.Context, dir string) error {
			if err := copyDependencies(ctx, dir, openSearchPOM, "-Dopensearch.version="+version); err != nil {
				return err
			}
			return compile(ctx, dir, jdk.program("javac"), "OpenSearchNode.java", openSearchNode)
		},
		command: func(dir, home, port string, settings []string) *exec.Cmd {
			return exec.Command(jdk.program("java"), append([]string{"-Xms" + heap, "-Xmx" + heap, "-XX:+UseSerialGC",
				"-Dorg.apache.logging.log4j.level=WARN", "-Dopensearch.set.netty.runtime.available.processors=false",
				"-cp", classpath(dir), "OpenSearchNode", home, port}, settings...)...)
		},
		ready: func(ctx context.Context, endpoint string) error {
			return healthy(ctx, endpoint+"/_cluster/health?wait_for_status=yellow&timeout=1s")
		},
	}
}

// jdk is a JDK that is recent enough for a version of OpenSearch.
type jdk struct {
	folder string // "": the one on the PATH
	least  int
}

func jdkOf(version string) jdk {
	if strings.HasPrefix(version, "2.") {
		return jdk{least: 17}
	}
	return jdk{folder: os.Getenv("TABLEWAKE_TEST_JAVA21"), least: 21}
}

func (j jdk) program(name string) string {
	if j.folder == "" {
		return name
	}
	return filepath.Join(j.folder, "bin", name)
}

func (j jdk) tool(program string, version string) tool {
	want := fmt.Sprintf("a JDK %d or later", j.least)
	if j.least > 17 {
		want += ", which TABLEWAKE_TEST_JAVA21 may name by its folder"
	}
	return tool{want, []string{j.program(program), version}, regexp.MustCompile(`(?m)^(?:javac |.*version ")(\d+)`), j.least}
}
