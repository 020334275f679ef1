package takeover

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/test/kcl"
	"github.com/tablewake/tablewake/test/server"
)

// Names of a world's tables. leases is also the name of the KCL application.
const (
	source = "orders"
	leases = "orders-consumer"
	rows   = "orders-rows"
	state  = "orders-state"
)

// world is a DynamoDB Local for one test, with a table and its stream.
type world struct {
	endpoint string
	proxy    *kcl.RegionProxy // proxy for the KCL
	tables   *dynamodb.Client
	stream   string // ARN of the stream
}

func newWorld(t *testing.T) *world {
	t.Helper()
	node := server.DynamoDB().StartFor(t)
	w := &world{endpoint: node.Endpoint(), proxy: kcl.NewRegionProxy(node.Endpoint())}
	t.Cleanup(w.proxy.Close)
	w.tables = dynamodb.New(dynamodb.Options{
		Region: server.Region, BaseEndpoint: aws.String(w.endpoint),
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	out, err := w.tables.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            aws.String(source),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.stream = aws.ToString(out.TableDescription.LatestStreamArn)
	return w
}

// key returns the key of the n-th item. Each item is written once, in order, so the keys identify the records of the
// stream.
func key(n int) string { return fmt.Sprintf("ORDER#%05d", n) }

// write writes the items from, from+1, ..., to-1.
func (w *world) write(t *testing.T, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		_, err := w.tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(source), Item: map[string]types.AttributeValue{
			"PK":    &types.AttributeValueMemberS{Value: key(n)},
			"Total": &types.AttributeValueMemberN{Value: strconv.Itoa(n)},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// scan returns an attribute of all rows of a table.
func (w *world) scan(ctx context.Context, table, attribute string) (found []string, err error) {
	pages := dynamodb.NewScanPaginator(w.tables, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, row := range page.Items {
			if s, ok := row[attribute].(*types.AttributeValueMemberS); ok {
				found = append(found, s.Value)
			}
		}
	}
	return found, nil
}

// count returns the number of rows of a table.
func (w *world) count(ctx context.Context, table string) (n int, err error) {
	pages := dynamodb.NewScanPaginator(w.tables, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true), Select: types.SelectCount})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, err
		}
		n += int(page.Count)
	}
	return n, nil
}
