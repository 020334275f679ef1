package dynamo

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Beyond says why no transaction reaches a table together with the state table; "" where
// one does. A transaction is of one account and one Region, and of no table that is
// replicated with multi-Region strong consistency (Developer Guide, Transactions).
func (db *DB) Beyond(ctx context.Context, table string) (why string, err error) {
	var places []string
	for _, name := range []string{db.table, table} {
		d, err := db.describe(ctx, name)
		if err != nil {
			return "", err
		}
		if d.MultiRegionConsistency == types.MultiRegionConsistencyStrong {
			return "the table " + name + " is replicated with multi-Region strong consistency", nil
		}
		places = append(places, placeOf(aws.ToString(d.TableArn)))
	}
	if places[0] != places[1] {
		return "the tables " + db.table + " and " + table + " are not in one account and Region (" + places[0] + " and " + places[1] + ")", nil
	}
	return "", nil
}

// placeOf is the Region and the account of an ARN.
func placeOf(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return ""
	}
	return parts[3] + ":" + parts[4]
}
