package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
)

// checkSource checks a source table: its key, its stream and its TTL. A denied call is not a problem, because a
// consumer does not need the right to describe the table.
func (a *account) checkSource(ctx context.Context, t config.Table) {
	p := part{field: "source.table", line: a.cfg.Source.Line, description: "table " + t.Name}
	switch {
	case t.StreamARN != "":
		p.field = "source.stream"
	case len(a.cfg.Source.Tables) > 1:
		p.field = "source.tables"
	}
	if isMissing := a.checkTable(ctx, p, t); isMissing {
		return
	}
	if a.cfg.Source.Kinesis != "" {
		p := part{field: "source.kinesis", line: a.cfg.Source.Line, description: "stream " + a.cfg.Source.Kinesis}
		a.check(ctx, p, func(ctx context.Context) (string, error) { return a.checkKinesis(ctx, p, t) })
	} else {
		p.description = "the stream of the table " + t.Name
		a.check(ctx, p, func(ctx context.Context) (string, error) { return a.checkStream(ctx, p, t) })
	}
	if a.cfg.Source.TTLAttribute != "" {
		p := part{field: "source.ttl_attribute", line: a.cfg.Source.Line, description: "the TTL of the table " + t.Name}
		a.check(ctx, p, func(ctx context.Context) (string, error) { return a.checkTTL(ctx, p, t) })
	}
}

// checkTable checks the key of a source table. It reports whether the table is missing, and notes that in noSource.
func (a *account) checkTable(ctx context.Context, p part, t config.Table) (isMissing bool) {
	a.check(ctx, p, func(ctx context.Context) (string, error) {
		table, err := scan.Describe(ctx, a.tables, tableName(t))
		switch {
		case err == nil:
			a.checkKey(p, table)
			return "its key is " + strings.Join(table.Keys, ", "), nil
		case awserr.KindOf(err) == awserr.Denied:
			return "", nil
		case awserr.KindOf(err) == awserr.Missing:
			isMissing, a.noSource = true, true
			a.problem(p, "there is no table "+t.Name+" in "+a.accountText(),
				"correct the name, AWS_REGION or AWS_PROFILE: `aws dynamodb list-tables` names the tables")
			return "", nil
		}
		return "", err
	})
	return isMissing
}

// tableName returns the ARN of a table for calls of DynamoDB. If the ARN is unknown, it returns the name.
func tableName(t config.Table) string {
	arnOfStreamTable, _, _ := strings.Cut(t.StreamARN, "/stream/")
	return cmp.Or(t.ARN, arnOfStreamTable, t.Name)
}

// checkKey compares the key attributes in the file with the key attributes of the table.
func (a *account) checkKey(p part, table scan.Table) {
	key := strings.Join(table.Keys, ", ")
	for _, e := range a.cfg.Entities {
		for _, k := range e.Key {
			if slices.Contains(table.Keys, k.Attribute) {
				continue
			}
			text := fmt.Sprintf("%s is not a key attribute of the %s, whose key is %s", k.Attribute, p.description, key)
			a.problem(part{field: "entities." + e.Name + ".key", line: e.Line}, text, "name the attributes of the key")
		}
	}
	for i, name := range table.Keys {
		kind, isDeclared := a.cfg.Attributes[name]
		if isDeclared && table.KeyTypes[i] != kind.String() {
			text := fmt.Sprintf("the type of %s is %s, and attributes declares %s", name, table.KeyTypes[i], kind)
			a.problem(p, text, "correct attributes")
		}
	}
}

// checkStream checks that the newest stream of a table is enabled and has the images that the configuration needs. It
// notes problems itself.
func (a *account) checkStream(ctx context.Context, p part, t config.Table) (string, error) {
	const enabled = "StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES"
	update := "aws dynamodb update-table --table-name " + t.Name + " --stream-specification "
	ref, err := shardreader.FindStream(ctx, a.api, cmp.Or(t.StreamARN, t.Name))
	var d shardreader.StreamDescription
	if err == nil {
		d, err = a.api.DescribeStream(ctx, shardreader.DescribeQuery{StreamARN: ref.ARN})
	}
	switch {
	case errors.Is(err, shardreader.ErrDenied):
		return "", nil
	case errors.Is(err, shardreader.ErrNotFound):
		a.problem(p, p.description+" is missing", "`"+update+enabled+"` enables one")
		return "", nil
	case err != nil:
		return "", err
	}
	a.newest[strings.TrimSuffix(ref.ARN, ref.Label)+"*"] = ref.ARN
	if d.Status != shardreader.Enabled && d.Status != shardreader.Enabling {
		hint := "`" + update + enabled + "` enables a new one"
		if t.StreamARN != "" {
			hint += "; write source: {table: " + t.Name + "}, which finds the newest stream"
		}
		a.problem(p, p.description+" is "+string(d.Status)+": it gets no more records", hint)
		return "", nil
	}
	if err := a.pipeline.CheckView(d.ViewType, ""); err != nil {
		a.problem(p, err.Error(), "a stream keeps its view type: `"+update+
			"StreamEnabled=false` disables it, and the same with "+enabled+" enables another")
	}
	return "its view type is " + d.ViewType.String(), nil
}

// checkKinesis checks that a table writes to the Kinesis stream of the configuration. It notes a problem itself.
func (a *account) checkKinesis(ctx context.Context, p part, t config.Table) (string, error) {
	in := &dynamodb.DescribeKinesisStreamingDestinationInput{TableName: awssdk.String(tableName(t))}
	out, err := a.tables.DescribeKinesisStreamingDestination(ctx, in)
	if err != nil {
		return "", unlessDenied(ctx, "DescribeKinesisStreamingDestination of "+t.Name, err)
	}
	for _, d := range out.KinesisDataStreamDestinations {
		if awssdk.ToString(d.StreamArn) == a.cfg.Source.Kinesis && d.DestinationStatus == types.DestinationStatusActive {
			return "the table " + t.Name + " writes to it", nil
		}
	}
	enable := "aws dynamodb enable-kinesis-streaming-destination --table-name " + t.Name +
		" --stream-arn " + a.cfg.Source.Kinesis
	a.problem(p, "the table "+t.Name+" does not write to it", "`"+enable+"` enables that")
	return "", nil
}

// unlessDenied returns the error of a call, or nil if the call was denied: [account.check] notes that.
func unlessDenied(ctx context.Context, call string, err error) error {
	if awserr.KindOf(err) == awserr.Denied {
		return nil
	}
	return awserr.CallError(ctx, call, err, nil)
}

// checkTTL checks that the table has TTL, with the attribute that the file names. It notes a problem itself.
func (a *account) checkTTL(ctx context.Context, p part, t config.Table) (string, error) {
	fileAttribute := a.cfg.Source.TTLAttribute
	out, err := a.tables.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: awssdk.String(tableName(t))})
	if err != nil {
		return "", unlessDenied(ctx, "DescribeTimeToLive of "+t.Name, err)
	}
	d := cmp.Or(out.TimeToLiveDescription, &types.TimeToLiveDescription{})
	tableAttribute := awssdk.ToString(d.AttributeName)
	switch {
	case d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling:
		enable := "aws dynamodb update-time-to-live --table-name " + t.Name +
			" --time-to-live-specification Enabled=true,AttributeName=" + fileAttribute
		a.problem(p, "the table "+t.Name+" has no TTL", "`"+enable+"` enables it, or leave ttl_attribute out")
	case tableAttribute != fileAttribute:
		text := fmt.Sprintf("the TTL attribute of the table %s is %s, and the file has %s", t.Name, tableAttribute, fileAttribute)
		a.problem(p, text, "write ttl_attribute: "+tableAttribute)
	}
	return "its attribute is " + fileAttribute, nil
}
