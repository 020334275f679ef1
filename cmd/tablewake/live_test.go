package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/test/server"
)

const liveShop = `version: 1
name: %[1]s
source: {table: %[1]s-source}
state: {table: %[1]s-state}
connections: {os: {opensearch: '%[2]s', auth: none}}
sinks:
  orders: {view: {table: %[1]s-rows, key: {PK: 'STATUS#{Status}', SK: '{@key}'}, attributes: {status: '{Status}'}}}
  paid: {aggregate: {table: %[1]s-rows, when: 'item.Status == "paid"', group: {PK: PAID, SK: N}, values: {n: count}, on_ttl_delete: retract}}
  docs: {search: {connection: os, index: %[1]s}}
  log: {archive: {bucket: %[1]s, prefix: changes/}}
dead_letters: {bucket: %[1]s, prefix: dead/}
`

// onServers names the real servers in the environment, and a file that writes to them.
func onServers(t *testing.T) (file, name string, tables *dynamodb.Client) {
	t.Helper()
	for service, kind := range map[string]*server.Kind{"DYNAMODB": server.DynamoDB(), "S3": server.S3(), "STS": server.Moto()} {
		t.Setenv("AWS_ENDPOINT_URL_"+service, kind.Endpoint(t))
	}
	t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
	t.Setenv("AWS_REGION", server.Region)
	name = "live-" + strings.ToLower(rand.Text())[:10]
	search := server.OpenSearch().Endpoint(t)
	file = filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, liveShop, name, search), 0o644); err != nil {
		t.Fatal(err)
	}
	endpoint := server.DynamoDB().Endpoint(t)
	tables = dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint, Region: server.Region, Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	t.Cleanup(func() {
		for _, suffix := range []string{"-source", "-state", "-rows"} {
			if _, err := tables.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(name + suffix)}); err != nil {
				t.Error(err)
			}
		}
		r, err := http.NewRequest(http.MethodDelete, search+"/"+name+"*", nil)
		if err != nil {
			t.Error(err)
			return
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	})
	return file, name, tables
}

// The commands on real servers: what is missing is named and then made, a replay says
// whose stores it writes, and why holds the source table's item against what the sinks have.
func TestLive(t *testing.T) {
	file, name, tables := onServers(t)
	if _, err := tables.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(name + "-source"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}},
	}); err != nil {
		t.Fatal(err)
	}
	stream := filepath.Join(t.TempDir(), "stream.jsonl")
	if err := os.WriteFile(stream, []byte(orderRecord("a,b", "1")+orderRecord("c", "2")), 0o644); err != nil {
		t.Fatal(err)
	}
	put := func(status string) {
		t.Helper()
		if _, err := tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(name + "-source"), Item: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: "a,b"}, "Status": &types.AttributeValueMemberS{Value: status},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	put("paid")

	if _, said := command(t, cli.ExitFailure, "replay", "-c", file, "--live", stream); !strings.Contains(said, "--create") {
		t.Errorf("without tables it says %s", said)
	}
	summary, said := command(t, cli.ExitOK, "replay", "-c", file, "--live", "--create", stream)
	for _, want := range []string{"Region " + server.Region, "table " + name + "-rows", "index " + name + " at ", "bucket " + name + " changes/"} {
		if !strings.Contains(said, want) {
			t.Errorf("before it writes it does not say %q: %s", want, said)
		}
	}
	if !strings.Contains(summary, "source: read 2 = routed 2") {
		t.Error(summary)
	}

	same, _ := command(t, cli.ExitOK, "why", "-c", file, "--live", "--key", `PK=a\,b`)
	if n := strings.Count(same, "[as it should be]"); n != 3 || !strings.Contains(same, "its values are not compared") { // row, contribution, document; and the group
		t.Errorf("%d places are as they should be, of 3:\n%s", n, same)
	}
	put("shipped")
	other, _ := command(t, cli.ExitFailure, "why", "-c", file, "--live", "--key", "a%2Cb")
	for _, want := range []string{"[MISSING]", "[LEFT OVER]", "[DIFFERS]"} {
		if !strings.Contains(other, want) {
			t.Errorf("the item changed, and nothing is %s:\n%s", want, other)
		}
	}

	if list, _ := command(t, cli.ExitOK, "redrive", "-c", file, "--live", "--list"); strings.TrimSpace(list) != "" && !strings.Contains(list, "no such dead letters") {
		t.Errorf("letters: %s", list)
	}
	if text, _ := command(t, cli.ExitOK, "purge", "-c", file); !strings.Contains(text, "docs: 0 tombstones") {
		t.Errorf("purge says %s", text)
	}
}
