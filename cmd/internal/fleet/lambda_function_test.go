package fleet

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cloudwatchtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tablewake/tablewake/test/server"
)

// A function shows its event source mappings, its IteratorAge, and what is in its failure bucket.
func TestReadFunction(t *testing.T) {
	ctx := t.Context()
	sdk := awssdk.Config{
		Region: server.Region, BaseEndpoint: awssdk.String(server.Moto().Endpoint(t)),
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	name := "status-" + strings.ToLower(time.Now().UTC().Format("150405.000000000")[7:])
	objects, functions := s3.NewFromConfig(sdk, func(o *s3.Options) { o.UsePathStyle = true }), lambda.NewFromConfig(sdk)
	table, err := dynamodb.NewFromConfig(sdk).CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: awssdk.String("PK"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: awssdk.String("PK"), KeyType: types.KeyTypeHash}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: awssdk.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
	must(err)
	role, err := iam.NewFromConfig(sdk).CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: awssdk.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}]}`)})
	must(err)
	_, err = objects.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name})
	must(err)
	_, err = functions.CreateFunction(ctx, &lambda.CreateFunctionInput{
		FunctionName: &name, Role: role.Role.Arn, Handler: awssdk.String("bootstrap"), Runtime: lambdatypes.RuntimeProvidedal2023, Code: &lambdatypes.FunctionCode{ZipFile: zipped(t)},
	})
	must(err)
	mapping, err := functions.CreateEventSourceMapping(ctx, &lambda.CreateEventSourceMappingInput{
		FunctionName: &name, EventSourceArn: table.TableDescription.LatestStreamArn, StartingPosition: lambdatypes.EventSourcePositionTrimHorizon,
		DestinationConfig: &lambdatypes.DestinationConfig{OnFailure: &lambdatypes.OnFailure{Destination: awssdk.String("arn:aws:s3:::" + name)}},
	})
	must(err)
	for _, key := range []string{"a", "b"} {
		_, err = objects.PutObject(ctx, &s3.PutObjectInput{Bucket: &name, Key: awssdk.String("aws/lambda/" + *mapping.UUID + "/shardId-1/2026/01/02/" + key), Body: strings.NewReader("{}")})
		must(err)
	}
	_, err = objects.PutObject(ctx, &s3.PutObjectInput{Bucket: &name, Key: awssdk.String("aws/lambda/another/shardId-1/2026/01/02/c"), Body: strings.NewReader("{}")})
	must(err)
	var obs Observation
	f := functionReader{mappings: functions, metrics: ages{name: {1500, 90_000, 0}}, objects: objects}.read(ctx, name, &obs)
	if len(f.Mappings) != 1 || len(obs.Unknown) > 0 {
		t.Fatalf("%+v, unread: %v", f, obs.Unknown)
	}
	m := f.Mappings[0]
	if m.ID != *mapping.UUID || m.Source != *table.TableDescription.LatestStreamArn || m.State != "Enabled" {
		t.Errorf("the mapping is %+v", m)
	}
	if m.Failed == nil || m.Failed.Batches != 2 || m.Failed.Newest == nil {
		t.Errorf("the failure bucket has %+v, want 2 batches", m.Failed)
	}
	if f.IteratorAge == nil || *f.IteratorAge != 90 {
		t.Errorf("IteratorAge %s, want 90 s", f.AgeText())
	}

	missing := functionReader{mappings: functions, metrics: ages{}, objects: objects}.read(ctx, "no-"+name, &obs)
	if len(missing.Mappings) > 0 || missing.IteratorAge != nil {
		t.Errorf("a function that does not exist: %+v", missing)
	}
}

// Unreadable parts are reported, and the rest is shown.
func TestReadFunction_Denied(t *testing.T) {
	var obs Observation
	f := functionReader{mappings: deniedAPI{}, metrics: deniedAPI{}, objects: deniedAPI{}}.read(t.Context(), "shop", &obs)
	if len(obs.Unknown) != 2 || !f.unread {
		t.Errorf("unread: %v", obs.Unknown)
	}
	obs = Observation{Pipeline: "shop", Unconfigured: "shop.yaml", Functions: []Function{f}, Tables: []string{"shop"}, Unknown: obs.Unknown}
	for _, p := range obs.Report().Problems {
		if p.Kind != ReadFailed {
			t.Errorf("problem %s: %s", p.Kind, p.Text)
		}
	}
}

// ages is CloudWatch with the IteratorAges of functions, in milliseconds. No test server offers its API.
type ages map[string][]float64

func (a ages) GetMetricStatistics(_ context.Context, in *cloudwatch.GetMetricStatisticsInput, _ ...func(*cloudwatch.Options)) (*cloudwatch.GetMetricStatisticsOutput, error) {
	if *in.Namespace != "AWS/Lambda" || *in.MetricName != "IteratorAge" || *in.Dimensions[0].Name != "FunctionName" || *in.Period%60 != 0 || !in.StartTime.Before(*in.EndTime) {
		return nil, errors.New("ValidationError")
	}
	out := &cloudwatch.GetMetricStatisticsOutput{}
	for _, age := range a[*in.Dimensions[0].Value] {
		out.Datapoints = append(out.Datapoints, cloudwatchtypes.Datapoint{Maximum: &age})
	}
	return out, nil
}

type deniedAPI struct{}

var errDenied = errors.New("denied")

func (deniedAPI) ListEventSourceMappings(context.Context, *lambda.ListEventSourceMappingsInput, ...func(*lambda.Options)) (*lambda.ListEventSourceMappingsOutput, error) {
	return nil, errDenied
}

func (deniedAPI) GetMetricStatistics(context.Context, *cloudwatch.GetMetricStatisticsInput, ...func(*cloudwatch.Options)) (*cloudwatch.GetMetricStatisticsOutput, error) {
	return nil, errDenied
}

func (deniedAPI) ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	return nil, errDenied
}

func TestFunctionName(t *testing.T) {
	for given, want := range map[string]string{
		"shop": "shop", "shop:live": "shop", "arn:aws:lambda:eu-west-1:123456789012:function:shop": "shop", "arn:aws:lambda:eu-west-1:123456789012:function:shop:7": "shop",
		"123456789012:function:shop": "shop", "123456789012:function:shop:live": "shop", "my-function:live": "my-function",
	} {
		if got := functionName(given); got != want {
			t.Errorf("the name of %s is %s, want %s", given, got, want)
		}
	}
}

// zipped returns a zip file with a bootstrap that is never run.
func zipped(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if _, err := w.Create("bootstrap"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// slowBucket is an S3 bucket that answers only the first pages of a list.
type slowBucket struct{ pages int }

func (s *slowBucket) ListObjectsV2(ctx context.Context, _ *s3.ListObjectsV2Input, _ ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	if s.pages--; s.pages < 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &s3.ListObjectsV2Output{Contents: make([]s3types.Object, 1000), IsTruncated: awssdk.Bool(true), NextContinuationToken: awssdk.String("next")}, nil
}

// If a count takes too long, the batches counted so far are reported. If none was counted, the number is unknown, and
// the error says how long there was no answer.
func TestCountBatches_Slow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b FailureBucket
		if err := (functionReader{objects: &slowBucket{pages: 3}}).countBatches(t.Context(), "m", &b); err != nil || b.Batches != 3000 || !b.More {
			t.Errorf("%+v, %v", b, err)
		}
		b = FailureBucket{}
		if err := (functionReader{objects: &slowBucket{}}).countBatches(t.Context(), "m", &b); err == nil || !strings.Contains(err.Error(), "no answer for 5s") || b.More {
			t.Errorf("%+v, %v", b, err)
		}
	})
}
