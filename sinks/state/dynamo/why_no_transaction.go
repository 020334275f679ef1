package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// WhyNoTransaction returns the reason why a transaction cannot write both a table and the state table. It returns "" if
// a transaction can. A transaction works within one account and one Region. It cannot write to a table that is
// replicated with multi-Region strong consistency (DynamoDB Developer Guide, "Transactions").
func (db *DB) WhyNoTransaction(ctx context.Context, table string) (why string, err error) {
	var accounts []string // Region and account of each table
	for _, name := range []string{db.table, table} {
		d, err := db.describe(ctx, name)
		if err != nil {
			return "", err
		}
		if d.MultiRegionConsistency == types.MultiRegionConsistencyStrong {
			return "the table " + name + " is replicated with multi-Region strong consistency", nil
		}
		parsed, _ := arn.Parse(aws.ToString(d.TableArn)) // empty on a server without ARNs
		accounts = append(accounts, parsed.Region+":"+parsed.AccountID)
	}
	if accounts[0] != accounts[1] {
		return "the tables " + db.table + " and " + table + " are not in one account and Region (" + accounts[0] + " and " +
			accounts[1] + ")", nil
	}
	return "", nil
}
