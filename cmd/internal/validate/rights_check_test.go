package validate

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/policy"
	testiam "github.com/tablewake/tablewake/test/iam"
	"github.com/tablewake/tablewake/test/server"
)

// session returns the answer of STS to a caller that has a session of a role.
func session(role string) string {
	return `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>` +
		`<Arn>arn:aws:sts::123456789012:assumed-role/` + role + `/me</Arn><UserId>AROA:me</UserId>` +
		`<Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`
}

// simulated returns the answer of IAM to a simulation of these statements. missing is a condition key without a known
// value.
func simulated(ss []policy.Statement, body, missing string) string {
	form, _ := url.ParseQuery(body)
	list := func(name string) (values []string) {
		for i := 1; form.Has(fmt.Sprintf("%s.member.%d", name, i)); i++ {
			values = append(values, form.Get(fmt.Sprintf("%s.member.%d", name, i)))
		}
		return values
	}
	context := make(map[string][]string)
	for i := 1; form.Has(fmt.Sprintf("ContextEntries.member.%d.ContextKeyName", i)); i++ {
		entry := fmt.Sprintf("ContextEntries.member.%d.", i)
		context[form.Get(entry+"ContextKeyName")] = list(entry + "ContextKeyValues")
	}
	var results strings.Builder
	for _, action := range list("ActionNames") {
		for _, resource := range list("ResourceArns") {
			decision := "implicitDeny"
			if testiam.Allows(ss, testiam.Request{Action: action, Resource: resource, Context: context}) {
				decision = "allowed"
			}
			fmt.Fprintf(&results, "<member><EvalActionName>%s</EvalActionName><EvalResourceName>%s</EvalResourceName>"+
				"<EvalDecision>%s</EvalDecision>", action, html.EscapeString(resource), decision)
			if missing != "" {
				fmt.Fprintf(&results, "<MissingContextValues><member>%s</member></MissingContextValues>", missing)
			}
			results.WriteString("</member>")
		}
	}
	return `<SimulatePrincipalPolicyResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/">` +
		`<SimulatePrincipalPolicyResult><IsTruncated>false</IsTruncated><EvaluationResults>` +
		results.String() + `</EvaluationResults></SimulatePrincipalPolicyResult></SimulatePrincipalPolicyResponse>`
}

// The rights of the caller's role are compared, by simulation, with the policy that `template -o policies` prints. Each
// statement that is not allowed is a problem. What cannot be simulated is listed.
func TestLive_Rights(t *testing.T) {
	calls, name := servers(t)
	createSource(t, tablesOf(t, name), name, "PK", types.StreamViewTypeNewAndOldImages)
	text := fmt.Sprintf(liveShop, name)
	file := write(t, text)
	cfg, err := config.Parse(file, []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	endpoint := server.Moto().Endpoint(t)
	roles := iam.New(iam.Options{
		BaseEndpoint: &endpoint, Region: server.Region,
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	trust := `{"Version":"2012-10-17","Statement":[]}`
	if _, err := roles.CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: &name, Path: awssdk.String("/apps/"), AssumeRolePolicyDocument: &trust,
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := roles.DeleteRole(context.Background(), &iam.DeleteRoleInput{RoleName: &name}); err != nil {
			t.Error(err)
		}
	})
	role := "arn:aws:iam::123456789012:role/apps/" + name
	whole := policy.Statements(cfg, policy.Options{
		Runner: policy.Consumer, Region: server.Region, Account: "123456789012",
	})
	without := func(sids ...string) []policy.Statement {
		return slices.DeleteFunc(slices.Clone(whole), func(s policy.Statement) bool {
			return slices.Contains(sids, s.Sid)
		})
	}
	// run validates as a session of a role, and IAM answers a simulation.
	run := func(role string, simulation func(body string) (int, string)) string {
		t.Helper()
		calls.answers(func(c call) (int, string) {
			switch c.op {
			case "GetCallerIdentity":
				return http.StatusOK, session(role)
			case "SimulatePrincipalPolicy":
				return simulation(c.body)
			}
			return 0, ""
		})
		out, said := program.Run(t, cli.ExitConfig, "validate", "-c", file, "--live") // the stores are missing
		calls.onlyReads(t)
		return out + said
	}
	allow := func(ss []policy.Statement, missing string) func(string) (int, string) {
		return func(body string) (int, string) { return http.StatusOK, simulated(ss, body, missing) }
	}

	got := run(name, allow(whole, ""))
	wants(t, got, "checked: rights of "+role+": the policy of a consumer")
	if strings.Contains(got, "may not") || strings.Contains(got, "not checked") {
		t.Errorf("with all rights: %s", got)
	}
	got = run(name, allow(without("State", "DeadLetters"), ""))
	const letters = " sqs:GetQueueAttributes, sqs:GetQueueUrl, sqs:SendMessage on arn:aws:sqs:us-east-1:123456789012:"
	prints := "; `tablewake template -c " + file + " -o policies --for consumer` prints the statement "
	wants(t, got,
		role+" may not dynamodb:BatchGetItem, dynamodb:ConditionCheckItem, dynamodb:DeleteItem, dynamodb:PutItem, "+
			"dynamodb:Query, dynamodb:UpdateItem on arn:aws:dynamodb:us-east-1:123456789012:table/"+name+"-state: "+
			"what sinks remember of items, and the record of their settings: the rows of this pipeline"+prints+"State",
		role+" may not"+letters+name+"-dead: what cannot be delivered"+prints+"DeadLetters")
	if strings.Count(got, "may not") != 2 || strings.Contains(got, "checked: rights") {
		t.Errorf("without two statements: %s", got)
	}
	got = run(name, allow(without("DeadLetters"), "aws:SourceVpce"))
	wants(t, got, "not checked: whether "+role+" may"+letters+name+"-dead: "+
		"because policies also compare aws:SourceVpce, which a simulation does not know")

	denied := `<ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><Error><Type>Sender</Type>` +
		`<Code>AccessDenied</Code><Message>no right</Message></Error></ErrorResponse>`
	refuse := func(string) (int, string) { return http.StatusForbidden, denied }
	got = run("elsewhere", refuse) // moto has no such role, so the role's path is unknown
	wants(t, got, "not checked: rights of arn:aws:iam::123456789012:role/elsewhere: "+
		"because iam:SimulatePrincipalPolicy: AccessDenied (allow it on the caller's own ARN)")
	got = run(name, func(string) (int, string) { return 0, "" }) // an emulator simulates nothing
	if !strings.Contains(got, "not checked: rights of "+role+": because iam:SimulatePrincipalPolicy: ") {
		t.Errorf("moto simulates: %s", got)
	}
}

// A policy may name one stream only. So the newest stream is simulated, instead of the pattern for all streams.
func TestWithStreams(t *testing.T) {
	const table = "arn:aws:dynamodb:eu-central-1:123456789012:table/"
	a := &account{newest: map[string]string{table + "shop/stream/*": table + "shop/stream/2026"}}
	got := a.withStreams([]string{table + "shop/stream/*", table + "users/stream/*"})
	if want := []string{table + "shop/stream/2026", table + "users/stream/*"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// silentIAM is a network without a route to IAM.
type silentIAM struct{}

func (silentIAM) Do(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// If IAM cannot be reached, validate gives up after a minute. It lists the rights as not checked, with the reason.
func TestRights_NoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const text = "version: 1\nname: shop\nsource: {table: shop}\nstate: {table: shop-state}\nsinks: {rows: {view: {table: rows, key: {PK: '{@key}'}}}}\n"
		cfg, err := config.Parse("shop.yaml", []byte(text), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		a := &account{cfg: cfg, newest: map[string]string{}, sdk: awssdk.Config{
			Region: server.Region, HTTPClient: silentIAM{}, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		}}
		a.Caller = "arn:aws:sts::123456789012:assumed-role/shop/me"
		start := time.Now()
		a.checkRights(t.Context(), nil)
		if took := time.Since(start); took != checkTime {
			t.Errorf("it took %v", took)
		}
		if len(a.NotChecked) != 1 || !strings.Contains(a.NotChecked[0].Why, "no answer for 1m0s") || len(a.problems) > 0 {
			t.Errorf("not checked: %+v, problems: %v", a.NotChecked, a.problems)
		}
	})
}
