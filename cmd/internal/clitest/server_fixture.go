package clitest

import (
	"context"
	"crypto/rand"
	"errors"
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

// OnServers points the environment to the real servers. It returns a configuration file that writes to them, the prefix
// of all names in that file, and a client of the tables. It creates only the source table, PREFIX-source.
func OnServers(t *testing.T) (file, prefix string, tables *dynamodb.Client) {
	t.Helper()
	for service, kind := range map[string]*server.Kind{"DYNAMODB": server.DynamoDB(), "S3": server.S3(),
		"STS": server.Moto()} {
		t.Setenv("AWS_ENDPOINT_URL_"+service, kind.Endpoint(t))
	}
	t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
	t.Setenv("AWS_REGION", server.Region)
	prefix = "live-" + strings.ToLower(rand.Text())[:10]
	search := server.OpenSearch().Endpoint(t)
	file = filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, liveShop, prefix, search), 0o644); err != nil {
		t.Fatal(err)
	}
	endpoint := server.DynamoDB().Endpoint(t)
	tables = dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint, Region: server.Region,
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	if _, err := tables.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(prefix + "-source"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}},
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := errors.Join(deleteTables(tables, prefix), deleteIndexes(search, prefix))
		if err != nil {
			t.Error(err)
		}
	})
	return file, prefix, tables
}

// deleteTables deletes the tables of the file that exist.
func deleteTables(tables *dynamodb.Client, prefix string) (err error) {
	for _, suffix := range []string{"-source", "-state", "-rows"} {
		_, deleteErr := tables.DeleteTable(context.Background(),
			&dynamodb.DeleteTableInput{TableName: aws.String(prefix + suffix)})
		_, isMissing := errors.AsType[*types.ResourceNotFoundException](deleteErr)
		if deleteErr != nil && !isMissing {
			err = errors.Join(err, deleteErr)
		}
	}
	return err
}

// deleteIndexes deletes the indexes whose names begin with a prefix.
func deleteIndexes(endpoint, prefix string) error {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodDelete, endpoint+"/"+prefix+"*", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Paid returns the number of orders that the sink `paid` has counted. prefix is the result of [OnServers].
func Paid(t *testing.T, tables *dynamodb.Client, prefix string) string {
	t.Helper()
	got, err := tables.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(prefix + "-rows"),
		ConsistentRead: new(true), Key: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: "PAID"}, "SK": &types.AttributeValueMemberS{Value: "N"},
		}})
	if err != nil {
		t.Fatal(err)
	}
	n, _ := got.Item["n"].(*types.AttributeValueMemberN)
	if n == nil {
		t.Fatalf("the group is %v", got.Item)
	}
	return n.Value
}
