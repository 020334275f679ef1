package backfill

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
)

// requestExport asks for a full export of after the floor, waits for it, and returns its path. With a floor, the client
// token is the run, so that the same command, repeated within eight hours, waits for the same export.
func (j *job) requestExport(ctx context.Context) (string, error) {
	at, token := j.sel.earliest(j.o.clockSkew), j.sel.run
	if at.IsZero() { // any time will do; the same token with another time would be refused
		at, token = time.Now().UTC(), ""
	}
	client := dynamodb.NewFromConfig(j.aws)
	bar := cli.NewCountProgress(j.streams.Err, "exporting")
	defer bar.End()
	requested, err := export.Request(ctx, client, export.RequestOptions{
		TableARN: j.table.ARN, Bucket: j.o.bucket, Prefix: j.o.prefix, Time: at, Narrowing: j.narrowing, ClientToken: token,
		Waiting: func(latest time.Time) {
			fmt.Fprintf(bar, "waiting until the table can be exported as of %s: now it can as of %s\n", at.Format(time.RFC3339), latest.Format(time.RFC3339))
		},
	})
	if err != nil {
		return "", err
	}
	fmt.Fprintf(bar, "the export %s of %s is being made\n", requested.ARN, requested.Time.Format(time.RFC3339))
	began := time.Now()
	told := time.Time{}
	done, err := export.Wait(ctx, client, requested.ARN, func(export.Requested) {
		if time.Since(told) > time.Minute {
			told = time.Now()
			fmt.Fprintf(bar, "waiting for the export since %s\n", time.Since(began).Round(time.Second))
		}
	})
	if err != nil {
		return "", fmt.Errorf("%w (`--export %s` reads it when it is there)", err, requested.Path)
	}
	return done.Path, nil
}
