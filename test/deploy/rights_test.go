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

// configuration returns the tablewake.yaml of a folder with its defaults. If the name of the pipeline comes from the
// environment, the name is PIPELINE. If the redrive setting comes from the environment, it is auto.
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

// conditionsOf returns the conditions of a statement as one text.
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

// conditionsIn returns the conditions of a statement in a template as one text.
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

// called returns the rights that a configuration needs. Tables and buckets have their names in a template. Statements
// for which but returns true are left out.
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

// allowed returns the rights that statements of a template give, without rights over keys. Which keys exist depends on
// the deployment, not on the configuration.
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

// same checks that the called rights equal the allowed ones.
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

// The right to read the stream is left out, because SAM adds it for the stream that is the function's event.
func TestTheStartersRoleIsThePolicyOfTheConfiguration(t *testing.T) {
	var statements []any
	for _, p := range readStack(t, starter).find(t, "Tablewake.Policies").([]any) {
		statements = append(statements, p.(map[string]any)["Statement"].([]any)...)
	}
	same(t, called(t, "deploy/minimal", policy.Function, map[string]string{"shop-views": "${Views}", "tablewake-state": "${State}", "shop-dead": "${Letters}"}, func(s policy.Statement) bool {
		return strings.HasPrefix(s.Sid, "SourceStream")
	}), allowed(statements, strings.NewReplacer()))
}
