package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/shardreader/snapshot"
)

// RequestClient has the methods of *dynamodb.Client that request exports.
type RequestClient interface {
	DescribeContinuousBackups(ctx context.Context, in *dynamodb.DescribeContinuousBackupsInput,
		o ...func(*dynamodb.Options)) (*dynamodb.DescribeContinuousBackupsOutput, error)
	ExportTableToPointInTime(ctx context.Context, in *dynamodb.ExportTableToPointInTimeInput,
		o ...func(*dynamodb.Options)) (*dynamodb.ExportTableToPointInTimeOutput, error)
	DescribeExport(ctx context.Context, in *dynamodb.DescribeExportInput,
		o ...func(*dynamodb.Options)) (*dynamodb.DescribeExportOutput, error)
}

var _ RequestClient = (*dynamodb.Client)(nil)

// RequestOptions configure the request of an export.
type RequestOptions struct {
	TableARN string
	Bucket   string
	Prefix   string // prefix of the objects. Default: none

	// Time is the time of the export. It is rounded up to whole seconds. For a sink that was added, Time is the sink's
	// floor plus the clock skew, or later. The floor is the time from which on the stream writes to the sink. Required
	Time time.Time

	// From requests an incremental export of the changes since From, in whole seconds, with both images. From must be
	// 15 minutes to 24 hours before Time. Default: a full export
	From time.Time

	// Narrowing selects items. DynamoDB evaluates the conditions that a filter expression can have. The caller must
	// evaluate Narrowing again for each change. Default: all items
	Narrowing *snapshot.ItemSelection

	// ClientToken makes requests idempotent for 8 hours: a second request with the same options returns the same
	// export. Default: each Request makes a new export
	ClientToken string

	// Waiting is called with the latest time that can be exported, while that time is before Time. Default: not called
	Waiting func(latest time.Time)
}

// Requested is a requested export, which may not be complete.
type Requested struct {
	ARN          string
	Path         string // s3://BUCKET/PREFIX/AWSDynamoDB/ID, for Open
	Complete     bool
	Time         time.Time // time of the export, UTC
	Items, Bytes int64     // -1 until the export is complete
}

// The time between two calls doubles from firstPoll to longestPoll. DescribeContinuousBackups may be called ten times a
// second (API reference).
const (
	firstPoll   = time.Second
	longestPoll = 15 * time.Second
)

// MinWindow and MaxWindow limit the period of an incremental export (API reference, IncrementalExportSpecification).
const (
	MinWindow = 15 * time.Minute
	MaxWindow = 24 * time.Hour
)

// Request requests a full or an incremental export of a table in DynamoDB JSON. It first waits until point-in-time
// recovery covers Time, which usually takes five minutes, and retries transient errors meanwhile. It does not wait for
// the export; see [Wait].
func Request(ctx context.Context, client RequestClient, o RequestOptions) (Requested, error) {
	if err := o.validate(); err != nil {
		return Requested{}, err
	}
	at := o.Time.UTC()
	if truncated := at.Truncate(time.Second); !truncated.Equal(at) {
		at = truncated.Add(time.Second)
	}
	if err := waitUntilRecoverable(ctx, client, o, at); err != nil {
		return Requested{}, err
	}
	in := &dynamodb.ExportTableToPointInTimeInput{
		TableArn: aws.String(o.TableARN), S3Bucket: aws.String(o.Bucket),
		S3Prefix:   nilIfEmpty(strings.Trim(o.Prefix, "/")),
		ExportTime: aws.Time(at), ExportType: types.ExportTypeFullExport, ExportFormat: types.ExportFormatDynamodbJson,
		ClientToken: nilIfEmpty(o.ClientToken), FilterSpecification: filterSpec(o.Narrowing),
	}
	if !o.From.IsZero() {
		in.ExportType, in.ExportTime = types.ExportTypeIncrementalExport, nil
		in.IncrementalExportSpecification = &types.IncrementalExportSpecification{
			ExportFromTime: aws.Time(o.From.UTC()), ExportToTime: aws.Time(at),
			ExportViewType: types.ExportViewTypeNewAndOldImages,
		}
	}
	out, err := client.ExportTableToPointInTime(ctx, in)
	if err != nil {
		return Requested{}, requestError(ctx, "ExportTableToPointInTime of "+o.TableARN, err, o)
	}
	return requestedFrom(out.ExportDescription), nil
}

func (o *RequestOptions) validate() error {
	switch {
	case o.TableARN == "":
		return errors.New("export: TableARN is empty")
	case o.Bucket == "":
		return errors.New("export: Bucket is empty: name the bucket for the export")
	case strings.Contains(o.Bucket, "/"):
		return fmt.Errorf("export: Bucket is %q: give its name alone, and the rest as the prefix", o.Bucket)
	case o.Time.IsZero():
		return errors.New("export: Time is missing")
	case !o.From.IsZero() && (o.Time.Sub(o.From) < MinWindow || o.Time.Sub(o.From) > MaxWindow):
		return fmt.Errorf("export: From is %s before Time: an incremental export has %s to %s", o.Time.Sub(o.From), MinWindow,
			MaxWindow)
	}
	return nil
}

// filterSpec returns the conditions of n that a filter expression can have; nil if there is none.
func filterSpec(n *snapshot.ItemSelection) *types.FilterSpecification {
	e := n.Expression()
	if e.Text == "" {
		return nil
	}
	f := &types.FilterSpecification{
		FilterExpression: aws.String(e.Text), ExpressionAttributeNames: e.Names,
		ExpressionAttributeValues: map[string]types.AttributeValue{},
	}
	for p, v := range e.Values {
		f.ExpressionAttributeValues[p] = sdkvalue.Of(v)
	}
	return f
}

// waitUntilRecoverable blocks until the table can be exported with its state at the time at.
func waitUntilRecoverable(ctx context.Context, client RequestClient, o RequestOptions, at time.Time) error {
	return poll(ctx, func() (done bool, err error) {
		out, err := client.DescribeContinuousBackups(ctx,
			&dynamodb.DescribeContinuousBackupsInput{TableName: aws.String(o.TableARN)})
		if err != nil {
			return false, requestError(ctx, "DescribeContinuousBackups of "+o.TableARN, err, o)
		}
		latest, err := o.latestRecoverable(out, at)
		if err != nil {
			return false, err
		}
		isCovered := !latest.Before(at)
		if !isCovered && o.Waiting != nil {
			o.Waiting(latest)
		}
		return isCovered, nil
	})
}

// latestRecoverable returns the latest time with which the table can be exported. It returns an error if the export at
// the time at, or its From, is before the earliest such time.
func (o *RequestOptions) latestRecoverable(
	out *dynamodb.DescribeContinuousBackupsOutput, at time.Time,
) (latest time.Time, err error) {
	var recovery *types.PointInTimeRecoveryDescription
	if d := out.ContinuousBackupsDescription; d != nil {
		recovery = d.PointInTimeRecoveryDescription
	}
	if recovery == nil || recovery.PointInTimeRecoveryStatus != types.PointInTimeRecoveryStatusEnabled {
		return time.Time{}, errs.Errorf(
			"export: point-in-time recovery of %s is not enabled, and only such a table can be exported: %s",
			redact.Safe(o.TableARN), redact.Safe(o.enableCommand()))
	}
	earliest := aws.ToTime(recovery.EarliestRestorableDateTime).UTC()
	begin := at
	if !o.From.IsZero() {
		begin = o.From.UTC()
	}
	if begin.Before(earliest.Truncate(time.Second)) {
		return time.Time{}, errs.Errorf("export: %s cannot be exported as of %s: point-in-time recovery reaches back to %s",
			redact.Safe(o.TableARN), redact.Safe(begin.Format(time.RFC3339)), redact.Safe(earliest.Format(time.RFC3339)))
	}
	return aws.ToTime(recovery.LatestRestorableDateTime).UTC(), nil
}

// enableCommand returns the command that enables point-in-time recovery.
func (o *RequestOptions) enableCommand() string {
	return "aws dynamodb update-continuous-backups --table-name " + cmp.Or(tableName(o.TableARN),
		o.TableARN) + " --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true"
}

// Wait waits until DynamoDB has completed the export. progress may be nil; it is called after each call of DynamoDB.
// Wait retries transient errors until ctx is done. If the export failed, the error has the service's reason and wraps
// [ErrFailed].
func Wait(ctx context.Context, client RequestClient, arn string, progress func(Requested)) (Requested, error) {
	var r Requested
	err := poll(ctx, func() (done bool, err error) {
		out, err := client.DescribeExport(ctx, &dynamodb.DescribeExportInput{ExportArn: aws.String(arn)})
		if err != nil {
			return false, awserr.CallError(ctx, "DescribeExport of "+arn, err,
				map[awserr.Kind]string{awserr.Denied: "allow dynamodb:DescribeExport"})
		}
		d := out.ExportDescription
		if d != nil && d.ExportStatus == types.ExportStatusFailed {
			return false, exportFailed(arn, d)
		}
		r = requestedFrom(d)
		if progress != nil {
			progress(r)
		}
		return r.Complete, nil
	})
	return r, err
}

// ErrFailed is wrapped by the error of [Wait] if DynamoDB could not make the export. The export never completes:
// request another one.
var ErrFailed = errs.New("failed")

// exportFailed returns the error of an export that DynamoDB could not make.
func exportFailed(arn string, d *types.ExportDescription) error {
	code, hint := aws.ToString(d.FailureCode), "correct the cause and request another export"
	switch {
	case strings.Contains(code, "NoSuchBucket"):
		hint = "create the bucket, or name another one"
	case strings.Contains(code, "AccessDenied"):
		hint = "allow s3:PutObject, s3:PutObjectAcl and s3:AbortMultipartUpload in the bucket, for the caller and in the bucket's policy"
	case strings.Contains(strings.ToUpper(code), "KMS"):
		hint = "allow the caller to use the key of the bucket"
	}
	return errs.Errorf("export: %s %w: %s: %s (%s)", redact.Safe(arn), ErrFailed,
		redact.Safe(code), aws.ToString(d.FailureMessage), redact.Safe(hint))
}

// poll calls call until call returns done or an error that is not transient. poll returns that error.
func poll(ctx context.Context, call func() (done bool, err error)) error {
	for wait := firstPoll; ; wait = min(2*wait, longestPoll) {
		done, err := call()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		requestedWait, isTransient := pipeline.Retryable(err)
		isPermanent := err != nil && !isTransient
		if done || isPermanent {
			return err
		}
		if err := pipeline.Sleep(ctx, max(wait, requestedWait)); err != nil {
			return err
		}
	}
}

// requestedFrom returns the export that d describes.
func requestedFrom(d *types.ExportDescription) Requested {
	if d == nil {
		return Requested{Items: -1, Bytes: -1}
	}
	r := Requested{
		ARN: aws.ToString(d.ExportArn), Complete: d.ExportStatus == types.ExportStatusCompleted, Items: -1, Bytes: -1,
		Time: aws.ToTime(d.ExportTime).UTC(),
	}
	if r.Complete {
		r.Items, r.Bytes = aws.ToInt64(d.ItemCount), aws.ToInt64(d.BilledSizeBytes)
	}
	folder, ok := strings.CutSuffix(aws.ToString(d.ExportManifest), "/manifest-summary.json")
	if !ok {
		folder = "AWSDynamoDB/" + r.ARN[strings.LastIndexByte(r.ARN, '/')+1:]
		if prefix := aws.ToString(d.S3Prefix); prefix != "" {
			folder = prefix + "/" + folder
		}
	}
	r.Path = "s3://" + aws.ToString(d.S3Bucket) + "/" + folder
	return r
}

// requestError explains the errors of ExportTableToPointInTime (API reference).
func requestError(ctx context.Context, op string, err error, o RequestOptions) error {
	hints := map[awserr.Kind]string{
		awserr.Denied:  "allow dynamodb:ExportTableToPointInTime, dynamodb:DescribeContinuousBackups and dynamodb:DescribeExport, and s3:PutObject and s3:AbortMultipartUpload in the bucket",
		awserr.Missing: "check name, Region and account of the table",
	}
	hint := ""
	switch awserr.Code(err) {
	case "PointInTimeRecoveryUnavailableException":
		hint = "enable point-in-time recovery: " + o.enableCommand()
	case "InvalidExportTimeException":
		hint = "point-in-time recovery does not cover the time of the export: it reaches back 35 days at most, and not before it was enabled"
	case "ExportConflictException":
		hint = "another export with this client token has other settings, or another export writes to the bucket: wait until it has ended, or use another prefix"
	case "LimitExceededException":
		hint = "300 exports of the account run already: wait until one has ended"
	case "TableNotFoundException":
		hint = hints[awserr.Missing]
	default:
		return awserr.CallError(ctx, op, err, hints)
	}
	return pipeline.Permanent(&awserr.Error{Op: op, Code: awserr.Code(err), Hint: hint, Err: err})
}

func nilIfEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
