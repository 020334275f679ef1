package consume

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/test/server"
)

// lease is how long a consumer may be silent. It is longer than the default, because a heartbeat may take a sixth of it,
// and DynamoDB Local is slow when it is overloaded.
const lease = 9 * time.Second

// patience bounds every wait for something that must come.
const patience = 90 * time.Second

// file is the configuration. It has a view with a row for each item, a view whose rows move when the status of the item
// changes, and an aggregate with counts and sums of groups.
const file = `version: 1
name: %[1]s
source: {table: %[2]s, polling: {max_idle: 50ms}%[3]s}
leases: {table: %[1]s-leases, duration: 9s}
state: {table: %[1]s-state}
sinks:
  orders: {view: {table: %[1]s-rows, key: {PK: '{@key}', SK: order}, attributes: {status: '{Status}', total: '{Total}', write: '{Write}'}}}
  by_status: {view: {table: %[1]s-rows, key: {PK: 'STATUS#{Status}', SK: '{@key}'}, attributes: {write: '{Write}'}}}
  per_customer: {aggregate: {table: %[1]s-rows, group: {PK: '{Customer}', SK: total}, values: {n: count, total: {sum: Total}}, on_ttl_delete: retract}}
`

// world has the resources that the consumers of one test share.
type world struct {
	name    string // name of the pipeline; the names of its tables begin with it
	config  string // path of the configuration
	whole   string // configuration with all sinks
	dynamo  string // endpoint of the tables
	streams string // endpoint of the stream
	client  *dynamodb.Client
}

// newWorld writes a configuration that reads the source table from the stream at the endpoint streams.
func newWorld(t *testing.T, source, streams, more string) *world {
	t.Helper()
	w := &world{name: "consume-" + strings.ToLower(rand.Text()[:8]), dynamo: server.DynamoDB().Endpoint(t), streams: streams}
	w.config = filepath.Join(t.TempDir(), "tablewake.yaml")
	w.whole = fmt.Sprintf(file, w.name, source, more)
	if err := os.WriteFile(w.config, []byte(w.whole), 0o600); err != nil {
		t.Fatal(err)
	}
	w.client = dynamodb.New(dynamodb.Options{
		Region: server.Region, BaseEndpoint: &w.dynamo, Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, table := range []string{"leases", "state", "rows"} {
			name := w.name + "-" + table
			_, err := w.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
			if missing := (*types.ResourceNotFoundException)(nil); err != nil && !errors.As(err, &missing) {
				t.Error(err)
			}
		}
	})
	return w
}

// environment returns the environment of a process whose tables are at an endpoint.
func (w *world) environment(dynamo string) []string {
	return append(os.Environ(),
		"AWS_REGION="+server.Region, "AWS_ACCESS_KEY_ID="+server.AccessKey, "AWS_SECRET_ACCESS_KEY="+server.SecretKey, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ENDPOINT_URL_DYNAMODB="+dynamo, "AWS_ENDPOINT_URL_DYNAMODB_STREAMS="+w.streams, "AWS_ENDPOINT_URL_STS="+w.streams)
}

// rows returns the rows of all sinks without tombstones: the attributes of each row by "PK SK".
func (w *world) rows(ctx context.Context) (map[string]map[string]string, error) {
	rows := make(map[string]map[string]string)
	pages := dynamodb.NewScanPaginator(w.client, &dynamodb.ScanInput{
		TableName: aws.String(w.name + "-rows"), ConsistentRead: aws.Bool(true), FilterExpression: aws.String("attribute_not_exists(#e)"),
		ExpressionAttributeNames: map[string]string{"#e": "_tw_expires"},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			row := make(map[string]string)
			for name, v := range item {
				if !strings.HasPrefix(name, "_tw") {
					row[name] = plain(v)
				}
			}
			key := row["PK"] + " " + row["SK"]
			delete(row, "PK")
			delete(row, "SK")
			rows[key] = row
		}
	}
	return rows, nil
}

// plain returns a value as text. Equal numbers have equal texts.
func plain(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return number(v.Value)
	}
	return fmt.Sprintf("%T", v)
}
