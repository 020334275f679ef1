package sdk

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
)

// Fact 32: the decoding step of this minor version calls Options.Protocol, and wrapping
// its DeserializeResponse keeps errors, retries, metadata and body closing as they
// are. Another minor version may be built otherwise: read its api_client.go and the
// middleware of GetRecords, run this package's tests, then name it here.
func TestFact32_MinorVersionIsTheOneThatWasRead(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for module, minor := range map[string]string{
		"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams": "v1.46",
		"github.com/aws/smithy-go":                             "v1.28",
	} {
		version := regexp.MustCompile(`(?m)^\t` + regexp.QuoteMeta(module) + ` (v\d+\.\d+)\.\d+$`).FindSubmatch(mod)
		if version == nil || string(version[1]) != minor {
			t.Errorf("go.mod has %s in version %q, and the wrapper was read against %s", module, version, minor)
		}
	}
}

// spy is the protocol of a client, and notes the requests.
type spy struct {
	smithyhttp.ClientProtocol
	serialized, deserialized []string
}

func (s *spy) SerializeRequest(ctx context.Context, schema *smithy.OperationSchema, in smithy.Serializable, req *smithyhttp.Request) error {
	s.serialized = append(s.serialized, name(schema))
	return s.ClientProtocol.SerializeRequest(ctx, schema, in, req)
}

func (s *spy) DeserializeResponse(ctx context.Context, schema *smithy.OperationSchema, types *smithy.TypeRegistry, resp *smithyhttp.Response, out smithy.Deserializable) error {
	s.deserialized = append(s.deserialized, name(schema)+" "+http.StatusText(resp.StatusCode))
	return s.ClientProtocol.DeserializeResponse(ctx, schema, types, resp, out)
}

func name(schema *smithy.OperationSchema) string {
	_, n, _ := strings.Cut(schema.ID().String(), "#")
	return n
}

// Fact 32: of all that the SDK asks its protocol, only the bodies of GetRecords' 2xx
// answers are read here, once an attempt; the client that was handed over keeps its own.
func TestFact32_OnlyAnswersOfGetRecordsAreReadHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := answer{body: `{"Records":[` + first + `],"NextShardIterator":"it-2"}`}
		rt := &answers{give: []answer{failing(500, "InternalServerError"), {body: `{}`}, whole, {body: `{"ShardIterator":"it-1"}`}, failing(400, "ExpiredIteratorException"), {body: `{}`}}}
		asked := &spy{}
		client := dynamodbstreams.New(dynamodbstreams.Options{
			Region:      "eu-central-1",
			Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
			HTTPClient:  &http.Client{Transport: rt},
		}, func(o *dynamodbstreams.Options) { asked.ClientProtocol, o.Protocol = o.Protocol, asked })
		api := New(client, record.DecoderOptions{})

		got, err := api.GetRecords(t.Context(), query())
		if err != nil || sequences(got.Page) != "1" {
			t.Fatalf("%+v, %v", got, err)
		}
		if _, err := api.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: streamARN, Shard: "s", Type: shardreader.Latest}); err != nil {
			t.Error(err)
		}
		if _, err := api.GetRecords(t.Context(), query()); err == nil {
			t.Error("an expired iterator is no error")
		}
		// The same client outside of this package is what it was.
		out, err := client.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: new(string)})
		if err != nil || out.NextShardIterator != nil {
			t.Error(out, err)
		}
		serialized := []string{"GetRecords", "GetShardIterator", "GetRecords", "GetRecords"}
		deserialized := []string{"GetRecords Internal Server Error", "GetShardIterator OK", "GetRecords Bad Request", "GetRecords OK"}
		if diff := cmp.Diff([][]string{serialized, deserialized}, [][]string{asked.serialized, asked.deserialized}); diff != "" {
			t.Errorf("what the SDK's protocol was asked (-want +got):\n%s", diff)
		}
	})
}
