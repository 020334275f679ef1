package auditinput

import (
	"context"
	"database/sql"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// BareScan reads the table and the embedded view like a program without tablewake. It uses the SDK's paginator over
// each segment, and a SELECT of all rows, whose attributes stay JSON. It returns the numbers of items and rows.
func (in *Input) BareScan(ctx context.Context) (items, rows int, err error) {
	for segment := range int32(parts) {
		pages := dynamodb.NewScanPaginator(in.client, &dynamodb.ScanInput{
			TableName: aws.String(tableARN), Segment: aws.Int32(segment), TotalSegments: aws.Int32(parts), ConsistentRead: aws.Bool(true),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return items, rows, err
			}
			items += len(page.Items)
		}
	}
	rows, err = in.selectRows(ctx)
	return items, rows, err
}

// selectRows reads all rows of the embedded view.
func (in *Input) selectRows(ctx context.Context) (n int, err error) {
	db, err := sql.Open("sqlite", "file:"+in.file+"?mode=ro")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	selected, err := db.QueryContext(ctx, `SELECT "PK", "SK", attributes FROM "views"`)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, selected.Close()) }()
	for selected.Next() {
		var pk, sk string
		var attributes []byte
		if err := selected.Scan(&pk, &sk, &attributes); err != nil {
			return n, err
		}
		n++
	}
	return n, selected.Err()
}
