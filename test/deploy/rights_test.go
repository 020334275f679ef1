package deploy

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/policy"
)

// configuration is the tablewake.yaml of a folder, with its defaults. A pipeline's name that comes
// from the environment is PIPELINE, and dead letters are brought back by themselves where that does.
func configuration(t *testing.T, folder string) *config.Config {
	t.Helper()
	path := filepath.Join(root, folder, "tablewake.yaml")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{"TABLEWAKE_NAME": "PIPELINE", "TABLEWAKE_REDRIVE": "auto"}
	cfg, err := config.Parse(path, b, func(name string) (string, bool) {
		value, set := environment[name]
		return value, set
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// right is an action on a resource, under conditions.
type right struct{ action, resource, conditions string }

// conditionsOf are the conditions of a statement as one text.
func conditionsOf(cs []policy.Condition) string {
	slices.SortFunc(cs, func(a, b policy.Condition) int {
		return cmp.Or(strings.Compare(a.Operator, b.Operator), strings.Compare(a.Key, b.Key))
	})
	var b strings.Builder
	for _, c := range cs {
		fmt.Fprintf(&b, "%s %s %s; ", c.Operator, c.Key, slices.Sorted(slices.Values(c.Values)))
	}
	return b.String()
}

// conditionsIn are the conditions of a statement of a template as one text.
func conditionsIn(statement map[string]any, names *strings.Replacer) string {
	var cs []policy.Condition
	operators, _ := statement["Condition"].(map[string]any)
	for operator, keys := range operators {
		for key, values := range keys.(map[string]any) {
			c := policy.Condition{Operator: operator, Key: key}
			for _, v := range texts(values) {
				c.Values = append(c.Values, names.Replace(v))
			}
			cs = append(cs, c)
		}
	}
	return conditionsOf(cs)
}

// called are the rights that a configuration needs, its tables and its bucket by their names in a template, except for
// the statements that the template leaves out.
func called(t *testing.T, folder string, r policy.Runner, names map[string]string, but func(policy.Statement) bool) map[right]bool {
	t.Helper()
	rights := map[right]bool{}
	cfg := configuration(t, folder)
	o := policy.Options{Runner: r, Partition: "${AWS::Partition}", Region: "${AWS::Region}", Account: "${AWS::AccountId}", Names: names}
	for _, s := range policy.Statements(cfg, o) {
		if but != nil && but(s) {
			continue
		}
		for _, action := range s.Actions {
			for _, resource := range s.Resources {
				rights[right{action, resource, conditionsOf(s.Conditions)}] = true
			}
		}
	}
	return rights
}

// allowed are the rights that statements of a template give, those over keys apart: which keys there
// are is the deployment's matter, and not the configuration's.
func allowed(statements any, arns *strings.Replacer) map[right]bool {
	rights := map[right]bool{}
	for _, s := range statements.([]any) {
		s := s.(map[string]any)
		for _, action := range texts(s["Action"]) {
			for _, resource := range texts(s["Resource"]) {
				if !strings.HasPrefix(action, "kms:") {
					rights[right{action, arns.Replace(resource), conditionsIn(s, arns)}] = true
				}
			}
		}
	}
	return rights
}

// same compares the called actions with the allowed ones.
func same(t *testing.T, called, allowed map[right]bool) {
	t.Helper()
	for r := range called {
		if !allowed[r] {
			t.Errorf("%s on %s is called, and not allowed (%s)", r.action, r.resource, r.conditions)
		}
	}
	for r := range allowed {
		if !called[r] {
			t.Errorf("%s on %s is allowed, and not called (%s)", r.action, r.resource, r.conditions)
		}
	}
	if len(called) == 0 {
		t.Error("nothing is called")
	}
}

func TestTheTasksRoleIsThePolicyOfTheConfiguration(t *testing.T) {
	table := "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/"
	same(t, called(t, "deploy/example", policy.Consumer, map[string]string{
		"shop": "${SourceTable}", "shop-leases": "${Leases}", "tablewake-state": "${State}", "shop-views": "${ViewsTable}", "shop-archive": "${Bucket}", "shop-dead": "${Letters}",
	}, nil), allowed(readStack(t, service).find(t, "TaskRole.Policies.0.PolicyDocument.Statement"), strings.NewReplacer(
		"${Leases.Arn}", table+"${Leases}", "${State.Arn}", table+"${State}", "${Letters.Arn}", "arn:${AWS::Partition}:s3:::${Letters}", "/${Pipeline}/*", "/PIPELINE/*", "${Pipeline}#*", "PIPELINE#*")))
}

// SAM itself lets a function read the stream that is its event.
func TestTheStartersRoleIsThePolicyOfTheConfiguration(t *testing.T) {
	var statements []any
	for _, p := range readStack(t, starter).find(t, "Tablewake.Policies").([]any) {
		statements = append(statements, p.(map[string]any)["Statement"].([]any)...)
	}
	same(t, called(t, "deploy/minimal", policy.Function, map[string]string{"shop-views": "${Views}", "tablewake-state": "${State}", "shop-dead": "${Letters}"}, func(s policy.Statement) bool {
		return strings.HasPrefix(s.Sid, "SourceStream")
	}), allowed(statements, strings.NewReplacer()))
}
