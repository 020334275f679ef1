package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/leases"
	leasesdynamo "github.com/tablewake/tablewake/shardreader/leases/dynamo"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/test/server"
)

var program = clitest.Program{NewStatus(nil)}

// Without leases, status shows the gaps that a function noted. A missing lease table of a consumer is a problem. A
// missing consumer is not.
func TestStatus_WithoutLeases(t *testing.T) {
	endpoint := server.DynamoDB().Endpoint(t)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": endpoint, "AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1",
		"AWS_ACCESS_KEY_ID": server.AccessKey, "AWS_SECRET_ACCESS_KEY": server.SecretKey, "AWS_REGION": server.Region,
	} {
		t.Setenv(name, value)
	}
	client := dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint, Region: server.Region, Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	name := "status-" + strings.ToLower(rand.Text())[:10]
	s3 := server.S3().Endpoint(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", s3)
	objects := awss3.New(awss3.Options{
		BaseEndpoint: &s3, Region: server.Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	if _, err := objects.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	table := aws.String(name + "-state")
	if _, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: "S"}, {AttributeName: aws.String("sk"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange}},
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: table}); err != nil {
			t.Error(err)
		}
	})
	db, err := statedynamo.New(statedynamo.Options{Client: client, Table: *table, Pipeline: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	file := func(more string) string {
		path := filepath.Join(t.TempDir(), "shop.yaml")
		text := fmt.Sprintf("version: 1\nname: %[1]s\nsource: {table: shop}\n%[2]ssinks:\n  log: {archive: {bucket: %[1]s, prefix: changes/}}\ndead_letters: {bucket: %[1]s, prefix: dead/}\n", name, more)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kept := "state: {table: " + *table + "}\n"
	function, consumer := file(kept), file(kept+"leases: {table: "+name+"-leases}\n")

	if out, _ := program.Run(t, cli.ExitOK, "status", "-c", function, "--live"); !strings.Contains(out, "no consumer is configured") || !strings.Contains(out, "gaps noted: 0") {
		t.Errorf("before anything is lost it says\n%s", out)
	}
	lost := record.Gap{StreamARN: "arn:shop", Shard: "shardId-7", After: "100", Before: "200", Found: time.Now()}
	if err := db.State(name).AddGap(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	const gap = "shard shardId-7: behind 100 to 200"
	if out, _ := program.Run(t, cli.ExitOK, "status", "-c", function, "--live"); !strings.Contains(out, "no consumer is configured") || !strings.Contains(out, gap) {
		t.Errorf("of a function it says\n%s", out)
	}
	if out, _ := program.Run(t, cli.ExitOK, "status", "-c", function, "--live", "-o", "json"); !strings.Contains(out, `"note":"no consumer`) || !strings.Contains(out, `"shard":"shardId-7"`) {
		t.Errorf("of a function it says\n%s", out)
	}
	if out, said := program.Run(t, cli.ExitUnhealthy, "status", "-c", consumer, "--live"); !strings.Contains(out, "there is no lease table "+name+"-leases") || !strings.Contains(out, gap) || strings.Count(said, "account ") != 1 {
		t.Errorf("without a lease table it says\n%s%s", out, said)
	}
	beats, err := leasesdynamo.New(leasesdynamo.Options{Client: client, Table: name + "-leases", StateTable: *table, Pipeline: name})
	if err != nil {
		t.Fatal(err)
	}
	if err := beats.Heartbeat(t.Context(), leases.Member{ID: "w1", Heartbeat: 1}); err != nil {
		t.Fatal(err)
	}
	if out, _ := program.Run(t, cli.ExitUnhealthy, "status", "-c", consumer, "--live", "--no-watch"); !strings.Contains(out, "the lease table "+name+"-leases is gone: 1 consumer lives") || !strings.Contains(out, "w1") || strings.Contains(out, "has begun") {
		t.Errorf("of a consumer whose lease table is gone it says\n%s", out)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := (&statusOptions{config: consumer, Flags: target.Flags{Live: true}, urgent: time.Hour}).run(stopped, cli.Streams{Out: io.Discard, Err: io.Discard}, nil); err == nil || cli.ExitCode(err) != cli.ExitInterrupted {
		t.Errorf("interrupted it ends with %v", err)
	}
	if _, said := program.Run(t, cli.ExitFailure, "status", "-c", file(""), "--live"); !strings.Contains(said, "add state: {table: NAME}") {
		t.Errorf("without a state table it says %s", said)
	}
}

// If a store does not answer, a look at it ends after a timeout, and says so.
func TestStatus_LooksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		_, err := withTimeout(ctx, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		if !errors.Is(err, cli.NoAnswerError(lookTimeout)) || ctx.Err() != nil {
			t.Errorf("it ends with %v", err)
		}
	})
}
