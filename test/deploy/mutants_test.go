package deploy

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/test/server"
)

// mutant returns the path of a copy of a file with a mistake.
func mutant(t *testing.T, file, from, to string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), from) {
		t.Fatalf("%s does not hold %q: give this test another mistake", file, from)
	}
	return written(t, strings.Replace(string(b), from, to, 1))
}

// cfn-lint finds a wrong event in SAM's output, whether or not SAM's own check finds it.
func TestWrongEventsAreFound(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]string{
		"a position that is none":   "StartingPosition: OLDEST",
		"a batch that is too large": "StartingPosition: TRIM_HORIZON, BatchSize: 20000",
		"too many lanes":            "StartingPosition: TRIM_HORIZON, ParallelizationFactor: 11",
		"retries below none":        "StartingPosition: TRIM_HORIZON, MaximumRetryAttempts: -2",
	} {
		t.Run(name, func(t *testing.T) {
			file := mutant(t, starter, "StartingPosition: TRIM_HORIZON", to)
			if out, err := tool(t, "cfn-lint", written(t, expanded(t, file))); err == nil {
				t.Errorf("cfn-lint passes it\n%s", out)
			}
		})
	}
}

func TestWrongTemplatesAreFound(t *testing.T) {
	t.Parallel()
	out, err := tool(t, "sam", "validate", "--lint", "-t", mutant(t, starter, "MemorySize: 512", "MemorySice: 512"), "--region", server.Region)
	if err == nil {
		t.Errorf("sam validate --lint passes a property that is none\n%s", out)
	}
	for name, change := range map[string][2]string{
		"an attribute that is none": {"!GetAtt Leases.Arn", "!GetAtt Leases.Name"},
		"an action that is none":    {"dynamodb:BatchGetItem", "dynamodb:GetItems"},
		"a size that is none":       {"RequiresCompatibilities: [FARGATE]", "RequiresCompatibilities: [FARGAT]"},
	} {
		if out, err := tool(t, "cfn-lint", mutant(t, "deploy/ecs.yaml", change[0], change[1])); err == nil {
			t.Errorf("cfn-lint passes %s\n%s", name, out)
		}
	}
	wrong := map[string]string{
		mutant(t, "deploy/ecs.yaml", "EnableKeyRotation: true", "EnableKeyRotation: false"):                                             "CKV_AWS_7",
		mutant(t, "deploy/ecs.yaml", "SSESpecification: {SSEEnabled: true, SSEType: KMS, KMSMasterKeyId: !GetAtt Key.Arn}", "Tags: []"): "CKV_AWS_119",
	}
	failed, _, _ := findings(t, slices.Collect(maps.Keys(wrong))...)
	got := make(map[string]string)
	for _, f := range failed {
		got[f.File] += f.ID
	}
	if !maps.Equal(got, wrong) {
		t.Errorf("checkov finds %v, want %v", got, wrong)
	}
}
