package dynamo

import (
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// identifier returns the name of a stream in KCL's multi-stream mode. The name of
// arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/stream/LABEL is
// ACCOUNT:REGION$ACCOUNT$TABLE$LABEL:1. See KinesisMapperUtil of the adapter.
func identifier(arn string) (string, error) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) == 6 && parts[2] == "dynamodb" {
		region, account := parts[3], parts[4]
		resource, isTable := strings.CutPrefix(parts[5], "table/")
		table, label, isStream := strings.Cut(resource, "/stream/")
		if isTable && isStream {
			return account + ":" + region + "$" + account + "$" + table + "$" + strings.ReplaceAll(label, ":", "_") + ":1", nil
		}
	}
	return "", pipeline.Permanent(
		errs.Errorf("leases: the leases of this table name their streams, and %s is not an ARN of a table's stream",
			redact.Safe(arn)))
}

// arnFromIdentifier is the inverse of identifier. It returns "" if id is not such a name.
func arnFromIdentifier(id string) string {
	parts := strings.Split(id, ":")
	if len(parts) != 3 {
		return ""
	}
	name := strings.SplitN(parts[1], "$", 4) // table names cannot contain $
	if len(name) != 4 {
		return ""
	}
	region := name[0]
	return "arn:" + partition(region) + ":dynamodb:" + region + ":" + name[1] + ":table/" + name[2] + "/stream/" +
		strings.ReplaceAll(name[3], "_", ":")
}

// partition returns the AWS partition of a Region, as in ARNs.
func partition(region string) string {
	for _, p := range [][2]string{
		{"cn-", "aws-cn"}, {"us-gov-", "aws-us-gov"}, {"us-isob-", "aws-iso-b"}, {"us-isof-", "aws-iso-f"},
		{"eu-isoe-", "aws-iso-e"}, {"us-iso-", "aws-iso"}, {"eusc-", "aws-eusc"},
	} {
		if strings.HasPrefix(region, p[0]) {
			return p[1]
		}
	}
	return "aws"
}
