package template_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/tablewake/tablewake/cmd/internal/template"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/sinks/policy"
	"github.com/tablewake/tablewake/test/server"
)

// stored has a sink of each kind that stores in the account.
const stored = `version: 1
name: %[1]s
source: {table: %[1]s-source}
leases: {table: %[1]s-leases}
state: {table: %[1]s-state, guard_retention: 45d}
detect: {paid: {attribute: Status, to: paid}}
sinks:
  rows: {view: {table: %[1]s-rows, key: {owner: 'STATUS#{Status}', at: '{@key}'}, tombstones: in_place}}
  one: {view: {table: %[1]s_rows, key: {PK: '{@key}'}}}
  paid: {aggregate: {table: %[1]s-paid, group: {PK: PAID}, values: {n: count}, on_ttl_delete: retract}}
  log: {archive: {bucket: %[1]s, prefix: changes/}}
  queued: {notify: {queue: %[1]s-events.fifo, events: [paid]}}
  told: {notify: {topic: 'arn:aws:sns:us-east-1:123456789012:%[1]s', events: [paid]}}
  elsewhere: {notify: {topic: 'arn:aws:sns:us-east-1:210987654321:%[1]s', events: [paid]}}
  bused: {notify: {bus: %[1]s, events: [paid]}}
dead_letters: {bucket: %[1]s-dead, queue: %[1]s-dead}
`

// A stack of the printed template has all stores of the pipeline. Its sinks find everything, and create nothing.
func TestCloudFormation_Created(t *testing.T) {
	endpoint := server.Moto().Endpoint(t)
	name := "stored-" + strings.ToLower(rand.Text()[:10])
	cfg, err := config.Parse("config/tablewake.yaml", fmt.Appendf(nil, stored, name), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := template.CloudFormation(&b, cfg, template.Options{Runner: policy.Consumer}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Default: 45", "AttributeName: 'leaseKey'", "Condition: In210987654321UsEast1", "AttributeName: _tw_expires"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the stack has no %s", want)
		}
	}
	text := strings.ReplaceAll(b.String(), "!Ref DeletionProtection", "true") // moto returns the text of a parameter
	createStack(t, endpoint, name, text)

	sdk := awssdk.Config{
		Region: "us-east-1", BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	}
	stores := aws.Stores(sdk)
	defer stores.Close()
	for i := range cfg.Sinks {
		if s := cfg.Sinks[i]; s.Name == "elsewhere" { // its account is not the stack's
			cfg.Sinks = append(cfg.Sinks[:i], cfg.Sinks[i+1:]...)
			break
		}
	}
	if _, err := sinks.Assemble(t.Context(), cfg, stores); err != nil {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// createStack creates a stack by the API of CloudFormation.
func createStack(t *testing.T, endpoint, name, text string) {
	t.Helper()
	form := url.Values{"Action": {"CreateStack"}, "Version": {"2010-05-15"}, "StackName": {name}, "TemplateBody": {text}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+server.AccessKey+
		"/20260101/us-east-1/cloudformation/aws4_request, SignedHeaders=host, Signature=none")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("CreateStack: %s, %v\n%s\n%s", resp.Status, err, answer, text)
	}
}
