package rights

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/test/e2e/program"
	"github.com/tablewake/tablewake/test/server"
	"github.com/tablewake/tablewake/test/testmain"
)

// exitDeadLetters is the exit code of the program if there are dead letters.
const exitDeadLetters = 4

// Paths of the programs under test, which are built once.
var tablewake, bootstrap string

func TestMain(m *testing.M) {
	os.Exit(testmain.WithoutRace(func() int {
		return program.Main(m.Run, program.Function, map[string]*string{"./cmd/tablewake": &tablewake, "./cmd/lambda": &bootstrap})
	}))
}

// world is a source table, with the resources of a pipeline that writes to every kind of sink.
type world struct {
	recorder
	name     string // the names of its resources begin with it
	topic    string
	env      []string // additional environment of a program
	dynamodb *dynamodb.Client
	streams  *dynamodbstreams.Client
	s3       *s3.Client

	partitions sync.Map // names of partition keys by table
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{recorder: recorder{calls: map[call]bool{}}, name: "rights-" + strings.ToLower(rand.Text()[:10])}
	w.partition = w.partitionKey
	moto := server.Moto().Endpoint(t)
	to := func(endpoint string) aws.Config {
		return aws.Config{Region: server.Region, BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, "")}
	}
	w.dynamodb = dynamodb.NewFromConfig(to(server.DynamoDB().Endpoint(t)))
	w.streams = dynamodbstreams.NewFromConfig(to(server.DynamoDB().Endpoint(t)))
	w.s3 = s3.NewFromConfig(to(server.S3().Endpoint(t)), func(o *s3.Options) { o.UsePathStyle = true })
	w.createSource(t)
	w.topic = "arn:aws:sns:" + server.Region + ":123456789012:" + w.name // --create makes topic, queues and bus
	tables := w.before(t, server.DynamoDB().Endpoint(t))
	w.env = []string{"AWS_REGION=" + server.Region, "AWS_ACCESS_KEY_ID=" + server.AccessKey, "AWS_SECRET_ACCESS_KEY=" + server.SecretKey,
		"AWS_EC2_METADATA_DISABLED=true", "AWS_ENDPOINT_URL_DYNAMODB=" + tables, "AWS_ENDPOINT_URL_DYNAMODB_STREAMS=" + tables,
		"AWS_ENDPOINT_URL_S3=" + w.before(t, server.S3().Endpoint(t)), "AWS_ENDPOINT_URL_SQS=" + w.before(t, server.SQS().Endpoint(t)),
		"AWS_ENDPOINT_URL_SNS=" + w.before(t, moto), "AWS_ENDPOINT_URL_EVENTBRIDGE=" + w.before(t, moto), "AWS_ENDPOINT_URL_STS=" + w.before(t, moto),
		"W=" + w.name, "TOPIC=" + w.topic, "OS_URL=" + w.before(t, server.OpenSearch().Endpoint(t))}
	return w
}

// partitionKey returns the name of a table's partition key, or "" if there is no table.
func (w *world) partitionKey(table string) string {
	if name, known := w.partitions.Load(table); known {
		return name.(string)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d, err := w.dynamodb.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return ""
	}
	w.partitions.Store(table, *d.Table.KeySchema[0].AttributeName)
	return *d.Table.KeySchema[0].AttributeName
}

// createSource makes the source table. At the end of the test, all tables of the world are deleted.
func (w *world) createSource(t *testing.T) {
	t.Helper()
	_, err := w.dynamodb.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &w.name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		all, err := w.dynamodb.ListTables(ctx, nil)
		if err != nil {
			t.Error(err)
			return
		}
		for _, name := range all.TableNames {
			if strings.HasPrefix(name, w.name) {
				if _, err := w.dynamodb.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// judged returns a client of DynamoDB whose requests are judged by the policy.
func (w *world) judged(t *testing.T) *dynamodb.Client {
	t.Helper()
	endpoint := w.before(t, server.DynamoDB().Endpoint(t))
	return dynamodb.NewFromConfig(aws.Config{Region: server.Region, BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, "")})
}

// keys returns the partition keys of the rows of a state table.
func (w *world) keys(t *testing.T, table string) (keys []string) {
	t.Helper()
	out, err := w.dynamodb.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range out.Items {
		keys = append(keys, item["pk"].(*types.AttributeValueMemberS).Value)
	}
	return keys
}

// write puts an item of the source, or deletes it if attributes is nil.
func (w *world) write(t *testing.T, key string, attributes map[string]any) {
	t.Helper()
	item := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: key}}
	for name, v := range attributes {
		switch v := v.(type) {
		case int:
			item[name] = &types.AttributeValueMemberN{Value: fmt.Sprint(v)}
		case string:
			item[name] = &types.AttributeValueMemberS{Value: v}
		case []string:
			item[name] = &types.AttributeValueMemberSS{Value: v}
		}
	}
	var err error
	if attributes == nil {
		_, err = w.dynamodb.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &w.name, Key: item})
	} else {
		_, err = w.dynamodb.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &w.name, Item: item})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// run runs the program with a file of testdata. Dead letters are not a failure.
func (w *world) run(t *testing.T, file string, args ...string) {
	t.Helper()
	out, err := w.try(t, file, args...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	t.Logf("%s\n%s", strings.Join(args, " "), out)
}

// try runs the program like run, and returns its output and its failure.
func (w *world) try(t *testing.T, file string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tablewake, append(args, "-c", filepath.Join("testdata", file))...)
	cmd.Env = append(os.Environ(), w.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err != nil && cmd.ProcessState.ExitCode() == exitDeadLetters {
		err = nil
	}
	return out.String(), err
}

// config reads a file of testdata with the names of the world.
func (w *world) config(t *testing.T, file string) *config.Config {
	t.Helper()
	path := filepath.Join("testdata", file)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse(path, b, func(name string) (string, bool) {
		for _, e := range w.env {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				return v, true
			}
		}
		return "", false
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}
