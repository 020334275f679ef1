package validate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/sinks/policy"
)

// checkRights checks whether the caller has the rights that a consumer or a function needs for the configuration. IAM
// simulates the actions, within checkTime. callerErr is the reason why the caller is unknown; nil if it is known.
// checkRights skips rights in OpenSearch, because the access policy of the domain also decides them.
func (a *account) checkRights(ctx context.Context, callerErr error) {
	a.skipSearchRights()
	ctx, cancel := cli.WithAnswerTimeout(ctx, checkTime)
	defer cancel()
	const what = "rights"
	if callerErr != nil {
		a.skip(what, awserr.CallError(ctx, "sts:GetCallerIdentity", callerErr, nil).Error())
		return
	}
	caller, err := arn.Parse(a.Caller)
	if err != nil {
		a.skip(what, "STS names the caller "+a.Caller)
		return
	}
	client := iam.NewFromConfig(a.sdk)
	principal, err := principalOf(ctx, client, caller)
	if err != nil {
		a.skip(what, err.Error())
		return
	}
	runner, runnerName := policy.Function, "lambda"
	if a.consumes() {
		runner, runnerName = policy.Consumer, "consumer"
	}
	statements := policy.Statements(a.cfg, policy.Options{
		Runner: runner, Partition: caller.Partition, Region: a.sdk.Region, Account: caller.AccountID,
	})
	if a.simulateRights(ctx, client, principal, runnerName, statements) {
		a.Checked = append(a.Checked, fmt.Sprintf("rights of %s: the policy of a %s", principal, runnerName))
	}
}

// simulateRights simulates the actions of a policy's statements, and notes the denials. It reports whether no denial is
// a problem. It returns false if a simulation fails.
func (a *account) simulateRights(
	ctx context.Context, client *iam.Client, principal, runner string, statements []policy.Statement,
) (haveRights bool) {
	haveRights = true
	for _, s := range statements {
		if strings.HasPrefix(s.Actions[0], "es:") {
			continue
		}
		s.Resources = a.withStreams(s.Resources)
		denied, err := simulate(ctx, client, principal, s)
		if err != nil {
			err = awserr.CallError(ctx, "iam:SimulatePrincipalPolicy", err,
				map[awserr.Kind]string{awserr.Denied: "allow it on the caller's own ARN"})
			a.skip("rights of "+principal, cli.ExplainTimeout(ctx, err).Error())
			return false
		}
		if a.noteDenials(principal, runner, s, denied) {
			haveRights = false
		}
	}
	return haveRights
}

// noteDenials notes the denied actions of a policy's statement, by resource. It reports whether one of them is a
// problem. A denial proves nothing if the simulation lacks condition keys; it is noted as not checked.
func (a *account) noteDenials(principal, runner string, s policy.Statement, denied denials) (refused bool) {
	for _, resource := range slices.Sorted(maps.Keys(denied)) {
		d := denied[resource]
		actions := strings.Join(d.actions, ", ")
		if len(d.missing) > 0 {
			a.skip(fmt.Sprintf("whether %s may %s on %s", principal, actions, resource),
				"policies also compare "+strings.Join(d.missing, ", ")+", which a simulation does not know")
			continue
		}
		refused = true
		a.problem(part{}, fmt.Sprintf("%s may not %s on %s: %s", principal, actions, resource, s.Why),
			fmt.Sprintf("`tablewake template -c %s -o policies --for %s` prints the statement %s", a.cfg.File, runner, s.Sid))
	}
	return refused
}

// skipSearchRights notes that the rights in OpenSearch are not checked.
func (a *account) skipSearchRights() {
	for _, s := range a.cfg.Sinks {
		if s.Search != nil {
			a.skip("rights of sinks."+s.Name+" at its server",
				"only the server knows them, and a request that shows them would write")
		}
	}
}

// withStreams replaces the pattern of all streams of a table by the newest stream, because a policy may name only that.
func (a *account) withStreams(resources []string) []string {
	concrete := slices.Clone(resources)
	for i, r := range concrete {
		concrete[i] = cmp.Or(a.newest[r], r)
	}
	return concrete
}

// principalOf returns the ARN of the IAM user or role of a caller. The ARN of a session lacks the path of the session's
// role, so principalOf asks GetRole for the path. If GetRole fails, principalOf assumes that the role has no path,
// because most roles have none.
func principalOf(ctx context.Context, client *iam.Client, caller arn.ARN) (string, error) {
	kind, rest, _ := strings.Cut(caller.Resource, "/")
	switch {
	case caller.Service == "iam" && kind == "user":
		return caller.String(), nil
	case caller.Service == "sts" && kind == "assumed-role":
		name, _, _ := strings.Cut(rest, "/")
		if out, err := client.GetRole(ctx, &iam.GetRoleInput{RoleName: &name}); err == nil && out.Role != nil {
			return awssdk.ToString(out.Role.Arn), nil
		}
		return fmt.Sprintf("arn:%s:iam::%s:role/%s", caller.Partition, caller.AccountID, name), nil
	}
	return "", fmt.Errorf("the caller %s is neither a user nor a role of IAM, whose policies can be simulated", caller)
}

// denial has the actions that a simulation denied on one resource.
type denial struct {
	actions []string
	missing []string // condition keys that the simulation lacked
}

// denials are the denials of a simulation by resource.
type denials map[string]denial

// add adds the decisions about an action: one for each resource, or one for all.
func (ds denials) add(r *types.EvaluationResult) {
	if len(r.ResourceSpecificResults) == 0 {
		ds.addDecision(r.EvalActionName, r.EvalResourceName, r.EvalDecision, r.MissingContextValues)
	}
	for _, resource := range r.ResourceSpecificResults {
		ds.addDecision(r.EvalActionName, resource.EvalResourceName, resource.EvalResourceDecision,
			resource.MissingContextValues)
	}
}

// addDecision adds a decision unless it allows the action.
func (ds denials) addDecision(
	action, resource *string, decision types.PolicyEvaluationDecisionType, missing []string,
) {
	if decision == types.PolicyEvaluationDecisionTypeAllowed {
		return
	}
	d := ds[awssdk.ToString(resource)]
	if name := awssdk.ToString(action); !slices.Contains(d.actions, name) {
		d.actions = append(d.actions, name)
	}
	d.missing = slices.Compact(slices.Sorted(slices.Values(slices.Concat(d.missing, missing))))
	ds[awssdk.ToString(resource)] = d
}

// simulate returns the denials of a statement's actions.
func simulate(ctx context.Context, client *iam.Client, principal string, s policy.Statement) (denials, error) {
	denied := make(denials)
	pages := iam.NewSimulatePrincipalPolicyPaginator(client, &iam.SimulatePrincipalPolicyInput{
		PolicySourceArn: &principal, ActionNames: s.Actions, ResourceArns: s.Resources,
		ContextEntries: contextOf(s.Conditions),
	})
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for i := range out.EvaluationResults {
			denied.add(&out.EvaluationResults[i])
		}
	}
	return denied, nil
}

// contextOf returns the context of a simulated request. The request satisfies the conditions of a statement.
func contextOf(conditions []policy.Condition) []types.ContextEntry {
	var entries []types.ContextEntry
	for _, c := range conditions {
		kind := types.ContextKeyTypeEnumString
		switch {
		case c.Operator == "Null": // another condition sets the same key
			continue
		case strings.HasPrefix(c.Operator, "ForA"): // ForAllValues and ForAnyValue
			kind = types.ContextKeyTypeEnumStringList
		}
		entries = append(entries, types.ContextEntry{
			ContextKeyName: &c.Key, ContextKeyType: kind, ContextKeyValues: c.Values,
		})
	}
	return entries
}
