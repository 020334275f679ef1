package tail

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/test/server"
)

var program = clitest.Program{New}

func TestMain(m *testing.M) { program.TestMain(m) }

// shopTable makes a table with a stream on DynamoDB Local, and a configuration that reads the stream.
func shopTable(t *testing.T) (file, name string, tables *dynamodb.Client) {
	t.Helper()
	endpoint := server.DynamoDB().Endpoint(t)
	for variable, value := range map[string]string{
		"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": server.Region, "AWS_ACCESS_KEY_ID": server.AccessKey,
		"AWS_SECRET_ACCESS_KEY": server.SecretKey, "TABLEWAKE_HMAC_KEY": "a-secret-of-the-test",
	} {
		t.Setenv(variable, value)
	}
	tables = dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint, Region: server.Region,
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	name = "tail-" + strings.ToLower(rand.Text())[:10]
	if _, err := tables.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("PK"), AttributeType: "S"}, {AttributeName: aws.String("SK"), AttributeType: "S"},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("SK"), KeyType: types.KeyTypeRange},
		},
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := tables.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Error(err)
		}
	})
	file = filepath.Join(t.TempDir(), "shop.yaml")
	text := strings.Replace(shop, "{table: shop}", "{table: "+name+", emulator: dynamodb-local}", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, name, tables
}

// notice is a writer that closes seen once text was written.
type notice struct {
	mu   sync.Mutex
	text string
	seen chan struct{}
	all  bytes.Buffer
}

// Write keeps b.
func (n *notice) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := strings.Contains(n.all.String(), n.text)
	n.all.Write(b)
	if !before && strings.Contains(n.all.String(), n.text) {
		close(n.seen)
	}
	return len(b), nil
}

// On DynamoDB Local, --of and --key select changes that are written after the start. Sensitive values are masked.
func TestTail_OnDynamoDBLocal(t *testing.T) {
	file, name, tables := shopTable(t)
	put := func(sk, attribute, value string) {
		t.Helper()
		item := map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: "USER#1"}, "SK": &types.AttributeValueMemberS{Value: sk},
			attribute: &types.AttributeValueMemberS{Value: value},
		}
		if _, err := tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	put("PROFILE", "Email", "canary@0")
	put("ORDER#1", "Status", "old")

	runs := map[string]*bytes.Buffer{"--of=Order": {}, "--key=PK=USER#1,SK=PROFILE": {}}
	var wg sync.WaitGroup
	for flag, out := range runs {
		errs := &notice{text: "what is written from now on", seen: make(chan struct{})}
		wg.Go(func() {
			code := program.Main([]string{"tail", "-c", file, "-n", "2", flag}, cli.Streams{Out: out, Err: errs})
			if code != cli.ExitOK {
				t.Errorf("%s ends with %d: %s", flag, code, errs.all.String())
			}
		})
		select {
		case <-errs.seen:
		case <-time.After(30 * time.Second):
			t.Fatalf("%s does not begin: %s", flag, errs.all.String())
		}
	}
	put("PROFILE", "Email", "canary@1")
	put("ORDER#1", "Status", "paid")
	put("PROFILE", "Email", "canary@2")
	put("ORDER#2", "Status", "new")
	wg.Wait()

	for flag, want := range map[string][]string{
		"--of=Order": {
			"MODIFY USER%231,ORDER%231  ", "  entity  Order\n", `  change  Status: "old" -> "paid"`,
			"INSERT USER%231,ORDER%232  ",
		},
		"--key=PK=USER#1,SK=PROFILE": {"MODIFY USER%231,PROFILE  ", "  entity  User\n", `  change  Email: "masked-`},
	} {
		got := runs[flag].String()
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s does not show %q:\n%s", flag, part, got)
			}
		}
		if strings.Count(got, "\n#")+1 != 2 || strings.Contains(got, "canary") {
			t.Errorf("%s shows\n%s", flag, got)
		}
	}
}
