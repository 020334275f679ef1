package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/test/server"
)

const file = `version: 1
name: %[1]s
source: {table: %[1]s-source, emulator: dynamodb-local, polling: {max_idle: 50ms}}
leases: {table: %[1]s-leases}
state: {table: %[1]s-state}
sinks:
  rows: {view: {table: %[1]s-rows, key: {PK: '{PK|esc}', SK: '{SK|esc}'}, attributes: {at: '{At}'}}}
`

// world is a source table on DynamoDB Local, and the consumers of its stream.
type world struct {
	program, config, endpoint, name string
	client                          *dynamodb.Client
}

func newWorld(ctx context.Context, dir, program string) (*world, error) {
	kind := server.DynamoDB()
	endpoint := os.Getenv(kind.Env)
	if endpoint == "" {
		return nil, errors.New(kind.Env + " is not set: run  go run ./test/servers -only dynamodb -- go run ./test/latency")
	}
	key := "latency" + strings.ToLower(rand.Text()[:10]) // a world of its own
	w := &world{program: program, config: filepath.Join(dir, "tablewake.yaml"), endpoint: endpoint, name: key}
	w.client = dynamodb.New(dynamodb.Options{Region: server.Region, BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider(key, "secret", "")})
	if err := os.WriteFile(w.config, fmt.Appendf(nil, file, w.name), 0o644); err != nil {
		return nil, err
	}
	_, err := w.client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(w.name + "-source"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("PK"), AttributeType: types.ScalarAttributeTypeS}, {AttributeName: aws.String("SK"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("SK"), KeyType: types.KeyTypeRange},
		},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
	return w, err
}

// close deletes the tables, as far as they are there.
func (w *world) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, table := range []string{"source", "leases", "state", "rows"} {
		_, _ = w.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(w.name + "-" + table)})
	}
}

// consumer is a running `tablewake consume`.
type consumer struct {
	cmd *exec.Cmd
	log bytes.Buffer
}

func (w *world) start(name string) (*consumer, error) {
	c := &consumer{cmd: exec.Command(w.program, "consume", "-c", w.config, "--live", "--create", "--health", "off", "--worker", name)}
	c.cmd.Env = append(os.Environ(), "AWS_REGION="+server.Region, "AWS_ACCESS_KEY_ID="+w.name, "AWS_SECRET_ACCESS_KEY=secret", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ENDPOINT_URL_DYNAMODB="+w.endpoint, "AWS_ENDPOINT_URL_DYNAMODB_STREAMS="+w.endpoint, "AWS_ENDPOINT_URL_STS="+w.endpoint)
	c.cmd.Stderr = &c.log
	return c, c.cmd.Start()
}

// stop stops it softly.
func (c *consumer) stop() error {
	err := c.cmd.Process.Signal(syscall.SIGTERM)
	if err == nil {
		err = c.cmd.Wait()
	}
	if err != nil {
		err = fmt.Errorf("consumer: %w\n%s", err, c.log.String())
	}
	return err
}

var written int // by this process

// put writes an item of that name anew.
func (w *world) put(ctx context.Context, name string) error {
	written++
	_, err := w.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(w.name + "-source"), Item: map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: name}, "SK": &types.AttributeValueMemberS{Value: "x"}, "At": &types.AttributeValueMemberN{Value: fmt.Sprint(written)},
	}})
	return err
}

// seen waits until the view shows the item of that name as it was written last.
func (w *world) seen(ctx context.Context, name string) error { return w.seenAt(ctx, name, written) }

func (w *world) seenAt(ctx context.Context, name string, n int) error {
	want, began := fmt.Sprint(n), time.Now()
	for {
		got, err := w.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(w.name + "-rows"), ConsistentRead: aws.Bool(true), Key: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: name}, "SK": &types.AttributeValueMemberS{Value: "x"},
		}})
		if _, early := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !early {
			return err
		}
		if err == nil {
			if at, ok := got.Item["at"].(*types.AttributeValueMemberN); ok && at.Value == want {
				return nil
			}
		}
		time.Sleep(max(3*time.Millisecond, min(50*time.Millisecond, time.Since(began)/20)))
		if time.Since(began) > time.Minute {
			return fmt.Errorf("%s does not come into the view", name)
		}
	}
}

// load writes n items at a rate, whatever becomes of them, and says how long each took into
// the view. beside runs meanwhile.
func (w *world) load(ctx context.Context, n int, rate float64, beside func() error) ([]time.Duration, error) {
	took, errs := make([]time.Duration, n), make([]error, n+1)
	var all sync.WaitGroup
	if beside != nil {
		all.Go(func() { errs[n] = beside() })
	}
	tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer tick.Stop()
	for i := range n {
		name := "item" + rand.Text()
		if err := w.put(ctx, name); err != nil {
			return nil, err
		}
		began, at := time.Now(), written
		all.Go(func() {
			errs[i] = w.seenAt(ctx, name, at)
			took[i] = time.Since(began)
		})
		<-tick.C
	}
	all.Wait()
	return took, errors.Join(errs...)
}
