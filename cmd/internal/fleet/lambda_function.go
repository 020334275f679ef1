package fleet

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cloudwatchtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/config"
)

// Function is a Lambda function that runs the pipeline, as AWS shows it.
type Function struct {
	Name     string    `json:"function"`
	Mappings []Mapping `json:"mappings"` // its event source mappings, by source

	// IteratorAge is how old the last record of a batch was when Lambda sent the batch, in seconds. It is the largest
	// age in the last iteratorAgeSpan. It is absent if there was no batch, or if it could not be read.
	IteratorAge *float64 `json:"iterator_age_seconds,omitempty"`

	// LossInSeconds is the number of seconds until a record as old as IteratorAge is lost; absent without IteratorAge, or
	// for Kinesis
	LossInSeconds *float64 `json:"seconds_until_loss,omitempty"`

	unread bool // the mappings could not be read
}

// Mapping is an event source mapping.
type Mapping struct {
	ID     string         `json:"mapping"`
	Source string         `json:"source"`                // ARN of a stream or a queue
	State  string         `json:"state"`                 // Enabled, Disabled, Updating, ...
	Why    string         `json:"why,omitempty"`         // reason of the state, in Lambda's words
	Result string         `json:"last_result,omitempty"` // result of the last batch, in Lambda's words
	Failed *FailureBucket `json:"failure_bucket"`        // null: the mapping has no bucket
}

// Idle reports whether the mapping does not read its source.
func (m Mapping) Idle() bool {
	return m.State == "Disabled" || m.State == "Disabling" || m.State == "Deleting"
}

// Failing reports whether the last batch failed.
func (m Mapping) Failing() bool { return strings.HasPrefix(m.Result, "PROBLEM") }

// FailureBucket is the bucket to which Lambda writes the batches that a mapping discards.
type FailureBucket struct {
	Bucket  string     `json:"bucket"`
	Batches int        `json:"batches"`          // number of batches in the bucket, delivered since or not
	More    bool       `json:"more,omitempty"`   // there are more batches than the counted ones
	Newest  *time.Time `json:"newest,omitempty"` // time of the newest counted batch
	Unknown string     `json:"unknown,omitempty"`
}

// iteratorAgeSpan is how far back an IteratorAge counts. Ten minutes are enough, because Lambda reports an IteratorAge
// within minutes.
const iteratorAgeSpan = 10 * time.Minute

// functionReader reads the data of functions in Lambda, CloudWatch and S3.
type functionReader struct {
	mappings lambda.ListEventSourceMappingsAPIClient
	metrics  interface {
		GetMetricStatistics(ctx context.Context, in *cloudwatch.GetMetricStatisticsInput,
			o ...func(*cloudwatch.Options)) (*cloudwatch.GetMetricStatisticsOutput, error)
	}
	objects s3.ListObjectsV2APIClient
}

// observeFunctions reads the functions that the flags name into obs.
func (o *statusOptions) observeFunctions(ctx context.Context, cfg *config.Config, obs *Observation) error {
	if len(o.functions) == 0 {
		return nil
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return err
	}
	r := functionReader{
		mappings: lambda.NewFromConfig(sdk), metrics: cloudwatch.NewFromConfig(sdk),
		objects: target.S3(sdk),
	}
	for _, name := range o.functions {
		obs.Functions = append(obs.Functions, r.read(ctx, name, obs))
	}
	for _, t := range cfg.Source.Tables {
		obs.Tables = append(obs.Tables, t.Name)
	}
	obs.Kinesis = cfg.Source.Kinesis
	return nil
}

// read reads a function. It adds failed reads to obs.
func (r functionReader) read(ctx context.Context, name string, obs *Observation) Function {
	f := Function{Name: name, Mappings: []Mapping{}}
	mappings, err := withTimeout(ctx, func(ctx context.Context) ([]lambdatypes.EventSourceMappingConfiguration, error) {
		return r.mappingsOf(ctx, name)
	})
	f.unread = err != nil
	obs.AddReadFailure("the event source mappings of "+name, err)
	for i := range mappings {
		m := newMapping(&mappings[i])
		if m.Failed != nil {
			if err := r.countBatches(ctx, m.ID, m.Failed); err != nil {
				m.Failed.Unknown = err.Error()
				obs.AddReadFailure("the failure bucket "+m.Failed.Bucket, err)
			}
		}
		f.Mappings = append(f.Mappings, m)
	}
	slices.SortFunc(f.Mappings, func(a, b Mapping) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.ID, b.ID))
	})

	f.IteratorAge, err = withTimeout(ctx, func(ctx context.Context) (*float64, error) {
		return r.readIteratorAge(ctx, name, time.Now())
	})
	obs.AddReadFailure("the IteratorAge of "+name, err)
	return f
}

func (r functionReader) mappingsOf(
	ctx context.Context, name string,
) (all []lambdatypes.EventSourceMappingConfiguration, err error) {
	pages := lambda.NewListEventSourceMappingsPaginator(r.mappings,
		&lambda.ListEventSourceMappingsInput{FunctionName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, functionError(ctx, "ListEventSourceMappings", "lambda:ListEventSourceMappings on *", err)
		}
		all = append(all, page.EventSourceMappings...)
	}
	return all, nil
}

func newMapping(c *lambdatypes.EventSourceMappingConfiguration) Mapping {
	m := Mapping{
		ID: awssdk.ToString(c.UUID), Source: awssdk.ToString(c.EventSourceArn), State: awssdk.ToString(c.State),
		Why: awssdk.ToString(c.StateTransitionReason), Result: awssdk.ToString(c.LastProcessingResult),
	}
	if c.DestinationConfig == nil || c.DestinationConfig.OnFailure == nil {
		return m
	}
	// The bucket may be in any partition of AWS, so its name is parsed from the ARN.
	destination, err := arn.Parse(awssdk.ToString(c.DestinationConfig.OnFailure.Destination))
	if err == nil && destination.Service == "s3" {
		m.Failed = &FailureBucket{Bucket: destination.Resource}
	}
	return m
}

// countBatches counts the batches of a mapping in a bucket. It stops after maxLetters batches or after countTimeout.
// Lambda writes the batches to aws/lambda/MAPPING/SHARD/YYYY/MM/DD (developer guide, "Retain discarded batch records").
func (r functionReader) countBatches(ctx context.Context, mapping string, b *FailureBucket) error {
	ctx, cancel := cli.WithAnswerTimeout(ctx, countTimeout)
	defer cancel()
	prefix := "aws/lambda/" + mapping + "/"
	pages := s3.NewListObjectsV2Paginator(r.objects, &s3.ListObjectsV2Input{Bucket: &b.Bucket, Prefix: &prefix})
	for pages.HasMorePages() && b.Batches < maxLetters {
		page, err := pages.NextPage(ctx)
		if err != nil {
			hasSome := b.Batches > 0
			b.More = hasSome
			if _, timedOut := errors.AsType[cli.NoAnswerError](context.Cause(ctx)); timedOut && hasSome {
				return nil // the batches counted so far are enough for an answer
			}
			return cli.ExplainTimeout(ctx, functionError(ctx, "ListObjectsV2", "s3:ListBucket on the bucket", err))
		}
		b.add(page.Contents)
	}
	b.More = pages.HasMorePages()
	return nil
}

// add counts batches. Each is an object.
func (b *FailureBucket) add(objects []s3types.Object) {
	b.Batches += len(objects)
	for _, object := range objects {
		written := object.LastModified
		isNewest := written != nil && (b.Newest == nil || written.After(*b.Newest))
		if isNewest {
			b.Newest = cli.OptionalTime(written.UTC())
		}
	}
}

// readIteratorAge returns the largest IteratorAge of the last iteratorAgeSpan, or nil if there is none.
func (r functionReader) readIteratorAge(ctx context.Context, name string, now time.Time) (*float64, error) {
	base := functionName(name)
	answer, err := r.metrics.GetMetricStatistics(ctx, &cloudwatch.GetMetricStatisticsInput{
		Namespace: awssdk.String("AWS/Lambda"), MetricName: awssdk.String("IteratorAge"),
		Dimensions: []cloudwatchtypes.Dimension{{Name: awssdk.String("FunctionName"), Value: &base}},
		StartTime:  awssdk.Time(now.Add(-iteratorAgeSpan)), EndTime: awssdk.Time(now), Period: awssdk.Int32(60),
		Statistics: []cloudwatchtypes.Statistic{cloudwatchtypes.StatisticMaximum},
	})
	if err != nil {
		return nil, functionError(ctx, "GetMetricStatistics", "cloudwatch:GetMetricStatistics on *", err)
	}
	var largest *float64
	for _, d := range answer.Datapoints {
		if d.Maximum == nil {
			continue
		}
		age := *d.Maximum / 1000 // the metric is in milliseconds
		if largest == nil || age > *largest {
			largest = &age
		}
	}
	return largest, nil
}

// functionName returns the name of a function, which is given by name, ARN or ACCOUNT:function:NAME, with or without a
// version or alias.
func functionName(given string) string {
	if _, afterAccount, hasAccount := strings.Cut(given, ":function:"); hasAccount {
		given = afterAccount
	}
	name, _, _ := strings.Cut(given, ":")
	return name
}

func functionError(ctx context.Context, op, right string, err error) error {
	return awserr.CallError(ctx, op, err, map[awserr.Kind]string{
		awserr.Denied:  "allow " + right,
		awserr.Missing: "check name, Region and account",
	})
}
