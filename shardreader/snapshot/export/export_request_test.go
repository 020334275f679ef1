package export_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
	"github.com/tablewake/tablewake/test/server"
)

const (
	tableARN  = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop"
	exportARN = tableARN + "/export/01695097218000-d6299cbd"
)

// service is what exports need of DynamoDB. Recovery is five minutes behind the clock, and an export takes ten minutes.
type service struct {
	enabled  time.Time // when point-in-time recovery was enabled; zero: it is not
	fail     []error   // of the next calls
	failed   string    // FailureCode of the export
	manifest string

	asked []*dynamodb.ExportTableToPointInTimeInput
	began time.Time
	looks int
}

func (s *service) next() error {
	if len(s.fail) == 0 {
		return nil
	}
	err := s.fail[0]
	s.fail = s.fail[1:]
	return err
}

func (s *service) DescribeContinuousBackups(context.Context, *dynamodb.DescribeContinuousBackupsInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeContinuousBackupsOutput, error) {
	if err := s.next(); err != nil {
		return nil, err
	}
	p := &types.PointInTimeRecoveryDescription{PointInTimeRecoveryStatus: types.PointInTimeRecoveryStatusDisabled}
	if !s.enabled.IsZero() {
		p.PointInTimeRecoveryStatus, p.EarliestRestorableDateTime, p.LatestRestorableDateTime = types.PointInTimeRecoveryStatusEnabled, &s.enabled, aws.Time(time.Now().Add(-5*time.Minute))
	}
	return &dynamodb.DescribeContinuousBackupsOutput{ContinuousBackupsDescription: &types.ContinuousBackupsDescription{PointInTimeRecoveryDescription: p}}, nil
}

func (s *service) ExportTableToPointInTime(_ context.Context, in *dynamodb.ExportTableToPointInTimeInput, _ ...func(*dynamodb.Options)) (*dynamodb.ExportTableToPointInTimeOutput, error) {
	if err := s.next(); err != nil {
		return nil, err
	}
	at := in.ExportTime
	if changes := in.IncrementalExportSpecification; changes != nil {
		at = changes.ExportToTime
	}
	if at.After(time.Now().Add(-5 * time.Minute)) {
		return nil, refusal("InvalidExportTimeException")
	}
	s.asked, s.began = append(s.asked, in), time.Now()
	return &dynamodb.ExportTableToPointInTimeOutput{ExportDescription: s.describe()}, nil
}

func (s *service) DescribeExport(context.Context, *dynamodb.DescribeExportInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeExportOutput, error) {
	s.looks++
	if err := s.next(); err != nil {
		return nil, err
	}
	return &dynamodb.DescribeExportOutput{ExportDescription: s.describe()}, nil
}

func (s *service) describe() *types.ExportDescription {
	in := s.asked[len(s.asked)-1]
	d := &types.ExportDescription{
		ExportArn: aws.String(exportARN), ExportStatus: types.ExportStatusInProgress, ExportTime: in.ExportTime, StartTime: &s.began,
		S3Bucket: in.S3Bucket, S3Prefix: in.S3Prefix,
	}
	switch {
	case time.Since(s.began) < 10*time.Minute:
	case s.failed != "":
		d.ExportStatus, d.FailureCode, d.FailureMessage = types.ExportStatusFailed, &s.failed, aws.String("canary")
	default:
		d.ExportStatus, d.ItemCount, d.BilledSizeBytes = types.ExportStatusCompleted, aws.Int64(7), aws.Int64(700)
		if s.manifest != "" {
			d.ExportManifest = &s.manifest
		}
	}
	return d
}

func refusal(code string) error { return &smithy.GenericAPIError{Code: code, Message: "canary"} }

func options() export.RequestOptions {
	return export.RequestOptions{TableARN: tableARN, Bucket: "b", Prefix: "/exports/", ClientToken: "run-1", Time: time.Now().Add(1500 * time.Millisecond)}
}

// The changes of a time are requested with both images, if DynamoDB exports a time that long.
func TestRequest_Changes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{enabled: time.Now().Add(-24 * time.Hour)}
		o := options()
		to := time.Now().Add(-time.Hour).Truncate(time.Second)
		o.Time, o.From = to, to.Add(-20*time.Minute)
		if _, err := export.Request(t.Context(), s, o); err != nil {
			t.Fatal(err)
		}
		in := s.asked[0]
		changes := in.IncrementalExportSpecification
		if in.ExportType != types.ExportTypeIncrementalExport || in.ExportTime != nil || changes == nil || !changes.ExportFromTime.Equal(o.From) ||
			!changes.ExportToTime.Equal(to) || changes.ExportViewType != types.ExportViewTypeNewAndOldImages {
			t.Errorf("asked for %+v %+v", in, changes)
		}
		for from, want := range map[time.Duration]string{14 * time.Minute: "an incremental export has", 25 * time.Hour: "an incremental export has", 24 * time.Hour: "point-in-time recovery reaches back to"} {
			o.From = to.Add(-from)
			if _, err := export.Request(t.Context(), s, o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", from, err, want)
			}
		}
	})
}

// An export is requested as soon as its time can be recovered, and then waited for.
func TestRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{enabled: time.Now().Add(-time.Hour), fail: []error{refusal("ThrottlingException"), refusal("InternalServerError")}}
		o, waited := options(), 0
		n, err := snapshot.NewItemSelection(snapshot.NarrowingOptions{Types: []string{"Order"}})
		if err != nil {
			t.Fatal(err)
		}
		o.Narrowing, o.Waiting = n, func(latest time.Time) {
			if waited++; !latest.Before(o.Time) {
				t.Errorf("it waits for %s at %s", o.Time, latest)
			}
		}
		at := o.Time.UTC().Truncate(time.Second).Add(time.Second)
		r, err := export.Request(t.Context(), s, o)
		if err != nil || r.Complete || r.Items != -1 || !r.Time.Equal(at) || waited < 10 {
			t.Fatalf("%+v, %v after %d looks", r, err, waited)
		}
		in := s.asked[0]
		if !in.ExportTime.Equal(at) || *in.TableArn != tableARN || *in.S3Bucket != "b" || *in.S3Prefix != "exports" || *in.ClientToken != "run-1" || in.S3BucketOwner != nil ||
			in.ExportType != types.ExportTypeFullExport || in.ExportFormat != types.ExportFormatDynamodbJson {
			t.Errorf("it requests %+v", in)
		}
		f := in.FilterSpecification
		if f == nil || *f.FilterExpression != "#n0 IN (:v0)" || f.ExpressionAttributeNames["#n0"] != "Type" || f.ExpressionAttributeValues[":v0"].(*types.AttributeValueMemberS).Value != "Order" {
			t.Errorf("the filter is %+v", f)
		}
		if late := time.Since(at.Add(5 * time.Minute)); late < 0 || late > 20*time.Second {
			t.Errorf("it was requested %s after it could be", late)
		}

		s.fail = []error{refusal("ThrottlingException"), nil, refusal("InternalServerError")}
		seen := 0
		done, err := export.Wait(t.Context(), s, r.ARN, func(now export.Requested) { seen++; r = now })
		if err != nil || !done.Complete || done.Items != 7 || done.Bytes != 700 || done.Path != "s3://b/exports/AWSDynamoDB/01695097218000-d6299cbd" || done != r || seen != s.looks-2 {
			t.Errorf("%+v, %v after %d of %d looks", done, err, seen, s.looks)
		}
	})
}

// The manifest has the place of the export. Without a prefix there is no empty folder.
func TestRequested_Path(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for manifest, want := range map[string]string{"": "s3://b/AWSDynamoDB/01695097218000-d6299cbd", "a//b/AWSDynamoDB/x/manifest-summary.json": "s3://b/a//b/AWSDynamoDB/x"} {
			s := &service{enabled: time.Now().Add(-time.Hour), manifest: manifest}
			o := options()
			o.Prefix, o.Time = "", time.Now().Add(-10*time.Minute)
			r, err := export.Request(t.Context(), s, o)
			if err == nil {
				r, err = export.Wait(t.Context(), s, r.ARN, nil)
			}
			if err != nil || r.Path != want {
				t.Errorf("the path is %s, want %s (%v)", r.Path, want, err)
			}
		}
	})
}

// Each refusal says what to do, and a log has no text of the service.
func TestRequest_Refusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for want, test := range map[string]struct {
			fail    error
			enabled time.Time
			change  func(*export.RequestOptions)
		}{
			"is not enabled, and only such a table can be exported: aws dynamodb update-continuous-backups --table-name shop --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true": {},
			"PointInTimeRecoveryUnavailableException (enable point-in-time recovery: aws dynamodb update-continuous-backups --table-name shop ":                                                      {fail: refusal("PointInTimeRecoveryUnavailableException")},
			"InvalidExportTimeException (point-in-time recovery does not cover":                                                                                                                      {fail: refusal("InvalidExportTimeException")},
			"ExportConflictException (another export with this client token":                                                                                                                         {fail: refusal("ExportConflictException")},
			"LimitExceededException (300 exports":                            {fail: refusal("LimitExceededException")},
			"TableNotFoundException (check name, Region":                     {fail: refusal("TableNotFoundException")},
			"AccessDeniedException (allow dynamodb:ExportTableToPointInTime": {fail: refusal("AccessDeniedException")},
			"point-in-time recovery reaches back to 2000-01-01T00:00:00Z":    {enabled: now, change: func(o *export.RequestOptions) { o.Time = now.Add(-time.Hour) }},
			"Bucket is empty":   {change: func(o *export.RequestOptions) { o.Bucket = "" }},
			`Bucket is "b/p"`:   {change: func(o *export.RequestOptions) { o.Bucket = "b/p" }},
			"TableARN is empty": {change: func(o *export.RequestOptions) { o.TableARN = "" }},
			"Time is missing":   {change: func(o *export.RequestOptions) { o.Time = time.Time{} }},
		} {
			s, o := &service{enabled: test.enabled}, options()
			if test.fail != nil {
				s.enabled, s.fail = now.Add(-time.Hour), []error{nil, test.fail}
				o.Time = now.Add(-30 * time.Minute)
			}
			if test.change != nil {
				test.change(&o)
			}
			_, err := export.Request(t.Context(), s, o)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(redact.LogText(err), "canary") {
				t.Errorf("the error is %v, want %s", err, want)
			}
		}
	})
}

func TestWait_Fails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for code, want := range map[string]string{
			"S3NoSuchBucket": "failed: S3NoSuchBucket: canary (create the bucket",
			"S3AccessDenied": "failed: S3AccessDenied: canary (allow s3:PutObject",
			"KMSDisabled":    "failed: KMSDisabled: canary (allow the caller to use the key",
			"Unknown":        "failed: Unknown: canary (correct the cause",
		} {
			s := &service{failed: code, began: time.Now(), asked: []*dynamodb.ExportTableToPointInTimeInput{{}}}
			_, err := export.Wait(t.Context(), s, exportARN, nil)
			if !errors.Is(err, export.ErrFailed) || !strings.Contains(err.Error(), exportARN+" "+want) || strings.Contains(redact.LogText(err), "canary") || !strings.Contains(redact.LogText(err), code) {
				t.Errorf("the error is %v (%s), want %s", err, redact.LogText(err), want)
			}
		}
		why := errors.New("stopping")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(why) })
		s := &service{began: time.Now(), asked: []*dynamodb.ExportTableToPointInTimeInput{{}}}
		if _, err := export.Wait(ctx, s, exportARN, nil); !errors.Is(err, why) {
			t.Errorf("the error is %v", err)
		}
		s = &service{fail: []error{refusal("AccessDeniedException")}}
		if _, err := export.Wait(t.Context(), s, exportARN, nil); err == nil || !strings.Contains(err.Error(), "allow dynamodb:DescribeExport") {
			t.Errorf("the error is %v", err)
		}
	})
}

// moto makes exports, though without manifests: the calls and their answers are those of the service.
func TestRequest_Moto(t *testing.T) {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	config := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(server.Moto().Endpoint(t)), HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	}
	client, bucket := dynamodb.NewFromConfig(config), "export-"+strings.ToLower(rand.Text())
	table, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            aws.String("shop-" + rand.Text()),
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}},
		BillingMode:          types.BillingModePayPerRequest,
	})
	if err != nil {
		t.Fatal(err)
	}
	name := table.TableDescription.TableName
	for i := range 3 {
		it := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: fmt.Sprint(i)}}
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: name, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	o := export.RequestOptions{TableARN: *table.TableDescription.TableArn, Bucket: bucket, Prefix: "p", Time: time.Now()}
	if _, err := export.Request(t.Context(), client, o); err == nil || !strings.Contains(err.Error(), "is not enabled") {
		t.Errorf("without point-in-time recovery: %v", err)
	}
	enabled, err := client.UpdateContinuousBackups(t.Context(), &dynamodb.UpdateContinuousBackupsInput{
		TableName: name, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	// moto always returns the time at which it was enabled.
	o.Time = aws.ToTime(enabled.ContinuousBackupsDescription.PointInTimeRecoveryDescription.LatestRestorableDateTime).Truncate(time.Second)
	r, err := export.Request(t.Context(), client, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := export.Wait(t.Context(), client, r.ARN, nil); err == nil || !strings.Contains(err.Error(), "create the bucket") {
		t.Errorf("without a bucket: %v", err)
	}
	objects := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	if r, err = export.Request(t.Context(), client, o); err == nil {
		r, err = export.Wait(t.Context(), client, r.ARN, nil)
	}
	if err != nil || !r.Complete || r.Items != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}
