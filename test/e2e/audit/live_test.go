package audit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/test/e2e/world"
	"github.com/tablewake/tablewake/test/server"
)

// live is a pipeline on real servers.
type live struct {
	*servers
	dir, config string
	env         []string
	more        []string // more flags of its audits and repairs
}

func newLive(t *testing.T) *live {
	t.Helper()
	endpoint, dir, names := server.DynamoDB().Endpoint(t), t.TempDir(), world.NewNames()
	w := &live{dir: dir, config: save(t, filepath.Join(dir, "tablewake.yaml"), []byte(file)), servers: &servers{
		t: t, names: names, search: server.OpenSearch().Endpoint(t), http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		tables: dynamodb.New(dynamodb.Options{
			BaseEndpoint: &endpoint, Region: server.Region, Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
			HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		}),
	}}
	w.env = []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint, "AWS_REGION=" + server.Region, "AWS_ACCESS_KEY_ID=" + server.AccessKey, "AWS_SECRET_ACCESS_KEY=" + server.SecretKey,
		"AWS_EC2_METADATA_DISABLED=true", "NAME=" + names.Pipeline, "VIEWS=" + names.Table, "STATE=" + names.State, "INDEX=" + names.Index, "OS_URL=" + w.search,
	}
	_, err := w.tables.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &names.Pipeline, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, table := range []string{names.Pipeline, names.Table, names.State} {
			_, err := w.tables.DeleteTable(context.WithoutCancel(t.Context()), &dynamodb.DeleteTableInput{TableName: &table})
			if _, missing := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !missing {
				t.Error(err)
			}
		}
		w.ask(http.MethodDelete, "/"+names.Index+"-*", nil)
	})
	return w
}

// replay writes records into the sinks.
func (w *live) replay(t *testing.T, name string, records []byte) {
	t.Helper()
	c := commandLine{w.env, []string{"replay", "-c", w.config, "--live", "--create", save(t, w.path(name), records)}}
	c.run(t, 0)
}

// putItems brings the items of the source table up to date.
func (w *live) putItems(t *testing.T, tb *table) {
	t.Helper()
	var writes []types.WriteRequest
	for _, pk := range tb.order {
		th := tb.now(pk)
		if th.gone {
			writes = append(writes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: image{"PK": textValue(pk)}}})
			continue
		}
		it, err := item.Parse(fmt.Appendf(nil, `{"PK":{"S":%q},%s}`, pk, th.attributes()))
		if err != nil {
			t.Fatal(err)
		}
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: sdkvalue.Item(it)}})
	}
	if err := w.write(w.names.Pipeline, writes); err != nil {
		t.Fatal(err)
	}
}

func (w *live) command(flags ...string) *commandLine {
	args := []string{"audit", "-c", w.config, "--live", "--lag", "100ms", "--rcu", "0"}
	return &commandLine{w.env, slices.Concat(args, flags, w.more)}
}

func (w *live) path(name string) string { return filepath.Join(w.dir, name) }
func (w *live) prefix() string          { return w.names.Index + "-" }
func (w *live) flags(more ...string)    { w.more = more }
