package template_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The role of Function neither reads nor removes dead letters and failed batches. The role of Redrive does both, but
// writes no failed batches. The role of Audit writes nothing.
func TestEachFunctionHasItsRole(t *testing.T) {
	printed, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	resource := func(id string) string {
		_, text, found := strings.Cut(string(printed), "\n  "+id+":\n    Type: AWS::")
		if !found {
			t.Fatalf("template.yaml has no %s", id)
		}
		text, _, _ = strings.Cut(text, "\n\n")
		return text
	}
	for function, role := range map[string]string{"Function": "Role", "Redrive": "RedriveRole", "Audit": "AuditRole"} {
		if !strings.Contains(resource(function), "Role: !GetAtt "+role+".Arn") {
			t.Errorf("%s has another role than %s", function, role)
		}
	}
	for _, action := range []string{"s3:DeleteObject", "s3:GetObjectVersion", "sqs:ReceiveMessage"} {
		if strings.Contains(resource("Role"), action) {
			t.Errorf("Function may %s", action)
		}
		if !strings.Contains(resource("RedriveRole"), action) {
			t.Errorf("Redrive may not %s", action)
		}
	}
	for _, action := range regexp.MustCompile(`\b(?:dynamodb|s3|es|sqs):\w+`).FindAllString(resource("AuditRole"), -1) {
		if !regexp.MustCompile(`:(BatchGetItem|DescribeTable|Query|Scan|LeadingKeys|GetObject|ListBucket)$`).MatchString(action) {
			t.Errorf("Audit may %s", action)
		}
	}
	const write = "Action: s3:PutObject\n                Resource: !Sub '${FailedBatches.Arn}/*'"
	if !strings.Contains(resource("Role"), write) || strings.Contains(resource("RedriveRole"), write) {
		t.Error("failed batches are written with the role of Function alone")
	}
}
