package template_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The guide explains each alarm to the person who gets it.
func TestAlarmsAreExplained(t *testing.T) {
	printed, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "tablewake", "guide", "template.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "| alarm | goes off | look at |")
	table, _, _ = strings.Cut(table, "\n\n")
	alarms := regexp.MustCompile(`(?m)^  (\w+):\n    Type: AWS::CloudWatch::Alarm$`).FindAllStringSubmatch(string(printed), -1)
	for _, a := range alarms {
		if !regexp.MustCompile(`(?m)^\| ([^|]*, )?` + a[1] + `(, [^|]*)? \|`).MatchString(table) {
			t.Errorf("template.md does not tell of the alarm %s", a[1])
		}
	}
	if len(alarms) < 9 {
		t.Errorf("template.yaml has %d alarms", len(alarms))
	}
}
