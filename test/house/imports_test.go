// Package house checks rules of the repository. It checks the imports of each package, the files at the top level, and
// that exported names are documented.
package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tablewake/tablewake"

// allowed lists what each package may import beyond the standard library: packages of this module by their folder,
// others by a prefix of their path. Tests may import everything.
var allowed = map[string][]string{
	"pipeline/instrument":            {"go.opentelemetry.io/otel/metric"},
	"pipeline/decimal":               {"pipeline/redact"},
	"pipeline/internal/ddbjson":      {"pipeline/decimal", "pipeline/redact", "pipeline/internal/simd"},
	"pipeline/internal/pipelinetest": {"pipeline", "pipeline/decimal", "pipeline/item", "pipeline/record", "github.com/aws/aws-sdk-go-v2/service/dynamodb/types", "pgregory.net/rapid"},
	"pipeline/item":                  {"pipeline/decimal", "pipeline/internal/ddbjson", "pipeline/redact", "pipeline/internal/simd"},
	"pipeline/entity":                {"pipeline/item"},
	"pipeline/elements":              {"pipeline/item", "pipeline/redact"},
	"pipeline/mask":                  {"pipeline", "pipeline/internal/ddbjson", "pipeline/item", "pipeline/record"},
	"pipeline/record":                {"pipeline/internal/ddbjson", "pipeline/item", "pipeline/redact", "pipeline/internal/simd"},
	"pipeline/rules":                 {"pipeline", "pipeline/decimal", "pipeline/entity", "pipeline/item", "pipeline/record", "pipeline/redact"},
	"pipeline/unmarshal":             {"pipeline/decimal", "pipeline/internal/ddbjson", "pipeline/item", "pipeline/redact"},
	"pipeline/redact":                {},
	"pipeline":                       {"pipeline/item", "pipeline/record", "pipeline/redact", "pipeline/instrument", "go.opentelemetry.io/otel"},
	"pipeline/expr":                  {"pipeline", "pipeline/decimal", "pipeline/entity", "pipeline/item", "pipeline/record", "pipeline/redact", "cel.dev/cel-go", "google.golang.org/genproto/googleapis/api/expr", "google.golang.org/protobuf"},
	"pipeline/template":              {"pipeline/decimal", "pipeline/entity", "pipeline/item", "pipeline/mask", "pipeline/record", "pipeline/redact"},
	"pipeline/config":                {"pipeline", "pipeline/decimal", "pipeline/elements", "pipeline/entity", "pipeline/item", "pipeline/mask", "pipeline/record", "pipeline/rules", "pipeline/config/indexmap", "pipeline/config/yamlbind", "pipeline/expr", "pipeline/template", "go.yaml.in/yaml/v3"},
	"pipeline/config/indexmap":       {"pipeline/item"},
	"pipeline/config/yamlbind":       {"pipeline/decimal", "pipeline/item", "go.yaml.in/yaml/v3"},
	"pipeline/internal/nearest":      {},
	"pipeline/internal/simd":         {"golang.org/x/sys/cpu"},
	"pipeline/awserr":                {"pipeline", "pipeline/redact", "github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/smithy-go"},
	"pipeline/awshttp":               {"pipeline/bounded", "github.com/aws/smithy-go"},
	"pipeline/bounded":               {},
	"pipeline/inputs":                {"pipeline", "pipeline/redact", "github.com/klauspost/compress"},
	"pipeline/jsoncursor":            {},
	"pipeline/sdkvalue":              {"pipeline/item", "github.com/aws/aws-sdk-go-v2/service/dynamodb/types", "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"},

	"handlers": {"pipeline", "pipeline/record", "pipeline/redact", "pipeline/jsoncursor", "pipeline/instrument", "shardreader", "github.com/aws/aws-lambda-go/lambda", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/metric"},

	"pipeline/telemetry":      {"pipeline/config", "pipeline/telemetry/cost", "pipeline/telemetry/emf", "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go", "go.opentelemetry.io/otel", "go.opentelemetry.io/contrib"},
	"pipeline/telemetry/cost": {"pipeline/instrument", "go.opentelemetry.io/otel", "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"},
	"pipeline/telemetry/emf":  {"go.opentelemetry.io/otel"},

	"pipeline/telemetry/prometheus": {"go.opentelemetry.io/otel"},

	"pipeline/filelock": {"pipeline", "pipeline/private"},
	"pipeline/private":  {},

	"shardreader":                         {"pipeline", "pipeline/mask", "pipeline/record", "pipeline/redact", "pipeline/private", "github.com/klauspost/compress"},
	"shardreader/sdk":                     {"pipeline", "pipeline/record", "pipeline/redact", "pipeline/awserr", "pipeline/awshttp", "shardreader", "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"},
	"shardreader/streamtest":              {"pipeline", "pipeline/record", "shardreader"},
	"shardreader/replay":                  {"pipeline", "pipeline/inputs", "pipeline/record", "pipeline/redact"},
	"shardreader/snapshot":                {"pipeline", "pipeline/expr", "pipeline/item", "pipeline/record", "pipeline/redact", "pipeline/rules", "sinks/state"},
	"shardreader/snapshot/scan":           {"pipeline", "pipeline/awserr", "pipeline/awshttp", "pipeline/bounded", "pipeline/item", "pipeline/record", "pipeline/redact", "pipeline/sdkvalue", "shardreader/snapshot", "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"},
	"shardreader/snapshot/items":          {"pipeline", "pipeline/inputs", "pipeline/record", "pipeline/redact", "shardreader/snapshot", "shardreader/snapshot/internal/lines"},
	"shardreader/snapshot/export":         {"pipeline", "pipeline/awserr", "pipeline/bounded", "pipeline/inputs", "pipeline/record", "pipeline/redact", "pipeline/sdkvalue", "shardreader/snapshot", "github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/aws-sdk-go-v2/service/dynamodb", "github.com/aws/aws-sdk-go-v2/service/s3"},
	"shardreader/snapshot/internal/lines": {"pipeline", "pipeline/record", "pipeline/redact", "shardreader/replay"},
	"shardreader/leases":                  {"pipeline", "pipeline/redact"},
	"shardreader/coordinator":             {"pipeline", "pipeline/record", "pipeline/redact", "shardreader", "shardreader/leases"},
	"shardreader/consumer":                {"pipeline", "pipeline/record", "pipeline/redact", "pipeline/instrument", "shardreader", "shardreader/leases", "shardreader/coordinator", "go.opentelemetry.io/otel"},

	"shardreader/leases/leasestest": {"pipeline", "shardreader/leases"},
	"shardreader/leases/file":       {"pipeline", "pipeline/record", "pipeline/redact", "pipeline/private", "pipeline/filelock", "shardreader/leases", "shardreader/coordinator", "sinks/state"},
	"shardreader/leases/dynamo":     {"pipeline", "pipeline/item", "pipeline/redact", "pipeline/awshttp", "shardreader/leases", "sinks/state/dynamo", "github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/aws-sdk-go-v2/service/dynamodb"},

	"sinks":                           {"pipeline", "pipeline/entity", "pipeline/item", "pipeline/mask", "pipeline/record", "pipeline/redact", "pipeline/rules", "pipeline/unmarshal", "pipeline/instrument", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/metric", "pipeline/config", "pipeline/expr", "pipeline/template", "sinks/view", "sinks/search", "sinks/archive", "sinks/notify", "sinks/state", "go.opentelemetry.io/otel"},
	"sinks/view":                      {"pipeline", "pipeline/decimal", "pipeline/elements", "pipeline/entity", "pipeline/item", "pipeline/mask", "pipeline/record", "pipeline/redact", "pipeline/template", "sinks/state"},
	"sinks/view/viewtest":             {"pipeline", "pipeline/decimal", "pipeline/elements", "pipeline/item", "pipeline/record", "pipeline/template", "sinks/sinktest", "sinks/view", "sinks/state", "pgregory.net/rapid"},
	"sinks/internal/awstest":          {"github.com/aws/aws-sdk-go-v2/aws", "test/server"},
	"sinks/internal/disk":             {"pipeline", "pipeline/redact", "pipeline/filelock"},
	"sinks/internal/fingerprint":      {"pipeline/private", "sinks/state"},
	"sinks/internal/openstores":       {},
	"sinks/internal/parallel":         {},
	"sinks/internal/seq":              {},
	"sinks/internal/rowqueue":         {"pipeline"},
	"sinks/internal/queue":            {"pipeline", "pipeline/awserr", "pipeline/redact", "github.com/aws/aws-sdk-go-v2/service/sqs"},
	"sinks/internal/linefile":         {"pipeline/private", "pipeline/filelock"},
	"sinks/view/sqlite":               {"pipeline", "pipeline/decimal", "pipeline/item", "pipeline/record", "pipeline/redact", "sinks/view", "sinks/state", "sinks/state/sqlite"},
	"sinks/search":                    {"pipeline", "pipeline/decimal", "pipeline/elements", "pipeline/item", "pipeline/mask", "pipeline/record", "pipeline/redact", "pipeline/template", "sinks/state"},
	"sinks/search/sqlite":             {"pipeline", "pipeline/decimal", "pipeline/item", "pipeline/record", "pipeline/redact", "sinks/search", "sinks/state", "sinks/state/sqlite"},
	"sinks/search/searchtest":         {"pipeline", "pipeline/item", "pipeline/record", "pipeline/template", "sinks/search", "sinks/sinktest", "sinks/state"},
	"sinks/search/opensearch":         {"pipeline", "pipeline/item", "pipeline/record", "pipeline/redact", "pipeline/jsoncursor", "pipeline/awserr", "pipeline/bounded", "pipeline/config/indexmap", "pipeline/template", "sinks/search", "sinks/state", "github.com/opensearch-project/opensearch-go/v2", "github.com/aws/aws-sdk-go-v2/aws"},
	"sinks/archive":                   {"pipeline", "pipeline/inputs", "pipeline/item", "pipeline/mask", "pipeline/record", "pipeline/redact", "pipeline/jsoncursor", "pipeline/bounded", "pipeline/template", "sinks/archive/internal/columnar", "github.com/klauspost/compress"},
	"sinks/archive/dir":               {"pipeline", "pipeline/filelock", "pipeline/inputs", "pipeline/redact", "pipeline/private", "sinks/archive", "sinks/state"},
	"sinks/archive/s3":                {"pipeline", "pipeline/inputs", "pipeline/redact", "pipeline/awserr", "pipeline/awshttp", "pipeline/bounded", "sinks/archive", "sinks/state", "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"},
	"sinks/archive/archivetest":       {"pipeline", "pipeline/item", "pipeline/record", "pipeline/template", "sinks/archive", "sinks/sinktest"},
	"sinks/notify":                    {"pipeline", "pipeline/entity", "pipeline/item", "pipeline/mask", "pipeline/record", "pipeline/redact", "go.opentelemetry.io/otel/propagation", "go.opentelemetry.io/otel/trace"},
	"sinks/notify/jsonl":              {"pipeline", "pipeline/redact", "sinks/notify", "sinks/state"},
	"sinks/notify/aws":                {"pipeline", "pipeline/item", "pipeline/redact", "pipeline/awserr", "sinks/notify", "github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/aws-sdk-go-v2/service/eventbridge", "github.com/aws/aws-sdk-go-v2/service/sns", "github.com/aws/aws-sdk-go-v2/service/sqs"},
	"sinks/deadletter":                {"pipeline", "pipeline/item", "pipeline/record", "pipeline/redact"},
	"sinks/deadletter/deadlettertest": {"pipeline", "pipeline/item", "pipeline/record", "sinks/deadletter", "sinks/sinktest"},
	"sinks/deadletter/dir":            {"pipeline", "pipeline/redact", "sinks/deadletter"},
	"sinks/deadletter/s3":             {"pipeline", "pipeline/awserr", "pipeline/awshttp", "pipeline/bounded", "sinks/deadletter", "github.com/aws/aws-sdk-go-v2/service/s3"},
	"sinks/deadletter/sqs":            {"pipeline", "pipeline/redact", "pipeline/awserr", "pipeline/awshttp", "pipeline/bounded", "sinks/deadletter", "github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/aws-sdk-go-v2/service/sqs"},
	"sinks/policy":                    {"pipeline/item", "pipeline/config", "sinks", "sinks/archive"},
	"sinks/pushdown":                  {"pipeline", "pipeline/entity", "pipeline/record", "pipeline/rules", "pipeline/config", "pipeline/expr"},
	"sinks/redrive":                   {"pipeline", "pipeline/item", "pipeline/mask", "pipeline/record", "pipeline/redact", "sinks/deadletter", "sinks/state"},
	"sinks/audit/run":                 {"pipeline", "sinks", "pipeline/awserr", "pipeline/config", "pipeline/filelock", "pipeline/item", "pipeline/private", "pipeline/record", "pipeline/redact", "pipeline/sdkvalue", "shardreader/snapshot", "shardreader/snapshot/scan", "sinks/audit", "sinks/state", "github.com/aws/aws-sdk-go-v2"},
	"sinks/audit":                     {"pipeline", "pipeline/awserr", "pipeline/config", "pipeline/decimal", "pipeline/instrument", "pipeline/item", "pipeline/jsoncursor", "pipeline/mask", "pipeline/record", "pipeline/redact", "sinks", "sinks/deadletter", "sinks/internal/parallel", "sinks/internal/rowqueue", "sinks/search", "sinks/state", "sinks/view", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/metric"},
	"sinks/state":                     {"pipeline", "pipeline/decimal", "pipeline/item", "pipeline/record", "pipeline/redact"},
	"sinks/state/sqlite":              {"pipeline", "pipeline/item", "pipeline/record", "pipeline/redact", "pipeline/private", "sinks/state", "modernc.org/sqlite"},
	"sinks/state/dynamo":              {"pipeline", "pipeline/decimal", "pipeline/item", "pipeline/record", "pipeline/redact", "pipeline/awserr", "pipeline/awshttp", "pipeline/sdkvalue", "sinks/state", "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"},
	"sinks/state/statetest":           {"pipeline", "pipeline/item", "pipeline/record", "sinks/state"},
	"sinks/local": {"pipeline", "pipeline/private", "pipeline/filelock", "pipeline/config", "sinks", "sinks/view", "sinks/view/sqlite", "sinks/search", "sinks/search/sqlite",
		"sinks/archive", "sinks/archive/dir", "sinks/notify", "sinks/notify/jsonl", "sinks/deadletter", "sinks/deadletter/dir", "sinks/state"},
	"sinks/aws": {"pipeline", "pipeline/awserr", "pipeline/item", "pipeline/bounded", "pipeline/config", "pipeline/template", "sinks", "sinks/view", "sinks/view/dynamo", "sinks/search", "sinks/search/opensearch",
		"sinks/archive", "sinks/archive/s3", "sinks/notify", "sinks/notify/aws", "sinks/deadletter", "sinks/deadletter/dir", "sinks/deadletter/s3", "sinks/deadletter/sqs", "sinks/state", "sinks/state/dynamo", "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go/middleware"},
	"sinks/sinktest": {"pipeline", "pipeline/elements", "pipeline/item", "pipeline/mask", "pipeline/record", "go.opentelemetry.io/otel/metric/noop", "pgregory.net/rapid", "sinks/deadletter", "sinks/redrive", "sinks/state"},

	"sinks/view/dynamo":             {"pipeline", "pipeline/decimal", "pipeline/item", "pipeline/record", "pipeline/redact", "pipeline/sdkvalue", "sinks/view", "sinks/internal/rowqueue", "sinks/state", "sinks/state/dynamo", "github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/aws-sdk-go-v2/service/dynamodb"},
	"sinks/state/dynamo/dynamotest": {"github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/aws-sdk-go-v2/service/dynamodb", "github.com/aws/smithy-go/middleware"},

	"sinks/archive/internal/columnar": {"pipeline", "pipeline/inputs", "pipeline/redact", "github.com/parquet-go/parquet-go"},
	"sinks/archive/athena":            {"pipeline/item", "pipeline/record", "pipeline/template", "sinks/archive", "sinks/archive/internal/columnar"},

	"deploy/release": {"github.com/CycloneDX/cyclonedx-go", "github.com/google/licensecheck"},

	"test/model": {"sinks/sinktest", "pgregory.net/rapid"}, // a model that shared code with the product would share its errors
}

// free are the folders whose packages may import everything, except the packages in allowed.
var free = []string{"cmd/", "test/"}

// never lists what a package must not link, not even indirectly.
var never = map[string][]string{
	"pipeline": {"github.com/aws/", "cel.dev/", "modernc.org/", "go.yaml.in/"},
	"sinks":    {"modernc.org/", "github.com/aws/aws-sdk-go-v2/service"},

	// A Lambda function loads all of its bytes before its first event.
	"cmd/function": {"modernc.org/", "github.com/spf13/", module + "/sinks/local", module + "/shardreader/consumer", module + "/cmd/internal/cli", "github.com/aws/aws-sdk-go-v2/service/iam"},
	"cmd/lambda":   {"modernc.org/", "github.com/spf13/", module + "/sinks/local", module + "/shardreader/consumer", module + "/cmd/internal/cli", "github.com/aws/aws-sdk-go-v2/service/iam"},
}

type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string

	TestImports, XTestImports []string
}

func TestImports(t *testing.T) {
	pkgs := list(t, "ImportPath,Standard,Imports,Deps", "-deps")
	standard := map[string]bool{}
	for _, p := range pkgs {
		standard[p.ImportPath] = p.Standard
	}
	for _, p := range pkgs {
		dir, ours := strings.CutPrefix(p.ImportPath, module+"/")
		for _, dep := range p.Deps {
			for _, prefix := range never[dir] {
				if strings.HasPrefix(dep, prefix) {
					t.Errorf("%s must not link %s", dir, dep)
				}
			}
		}
		rule, known := allowed[dir]
		if !ours || !known && slices.ContainsFunc(free, func(f string) bool { return strings.HasPrefix(dir, f) }) {
			continue
		}
		if !known {
			t.Errorf("%s has no rule: say in this file what it may import", dir)
			continue
		}
		for _, imp := range p.Imports {
			if standard[imp] || may(rule, imp) || within(dir, imp) {
				continue
			}
			t.Errorf("%s must not import %s", dir, imp)
		}
	}
	for dir := range allowed {
		if !slices.ContainsFunc(pkgs, func(p listed) bool { return p.ImportPath == module+"/"+dir }) {
			t.Errorf("a rule for %s, which does not exist", dir)
		}
	}
}

func may(rule []string, imp string) bool {
	if dir, ours := strings.CutPrefix(imp, module+"/"); ours {
		return slices.Contains(rule, dir)
	}
	return slices.ContainsFunc(rule, func(prefix string) bool {
		return imp == prefix || strings.HasPrefix(imp, prefix+"/")
	})
}

// within reports whether the package imp is internal to the tree of dir.
func within(dir, imp string) bool {
	tree, _, internal := strings.Cut(strings.TrimPrefix(imp, module+"/"), "/internal/")
	return internal && strings.HasPrefix(dir+"/", tree+"/")
}

// list runs `go list` over the module with these fields and flags.
func list(t *testing.T, fields string, flags ...string) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"list", "-json=" + fields}, flags, []string{"./..."})...)
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var pkgs []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
