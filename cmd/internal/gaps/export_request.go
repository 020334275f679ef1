package gaps

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
	"github.com/tablewake/tablewake/sinks/state"
)

// RequestExports requests the exports that cover gaps, waits for them, and returns their paths.
func RequestExports(
	ctx context.Context, table, bucket, prefix string, gaps []state.NotedGap, w io.Writer,
) ([]string, error) {
	lossWindows, err := windowsOf(gaps)
	if err != nil {
		return nil, err
	}
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(sdk)
	progress := cli.NewCountProgress(w, "exporting")
	defer progress.End()

	var requests []export.Requested
	for _, lossWindow := range lossWindows {
		for _, changes := range exportable(lossWindow) {
			request, err := export.Request(ctx, client, export.RequestOptions{
				TableARN: table, Bucket: bucket, Prefix: prefix, From: changes.from, Time: changes.to,
				ClientToken: exportToken(table, bucket, prefix, changes),
				Waiting: func(latest time.Time) {
					fmt.Fprintf(progress, "waiting until the changes of %s can be exported: those of before %s can\n", changes,
						latest.Format(time.RFC3339))
				},
			})
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(progress, "the export %s of the changes of %s is being made\n", request.ARN, changes)
			requests = append(requests, request)
		}
	}
	return waitForExports(ctx, client, requests, progress)
}

// waitForExports waits for requested exports, and returns their paths.
func waitForExports(
	ctx context.Context, client *dynamodb.Client, requests []export.Requested, progress *cli.Progress,
) (paths []string, err error) {
	for _, request := range requests {
		path, err := records.WaitForExport(ctx, client, request, progress)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// exportToken returns the token of a request. DynamoDB makes only one export for the same token.
func exportToken(table, bucket, prefix string, changes window) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{table, bucket, prefix, changes.String()}, "\n")))
	return "gap-" + hex.EncodeToString(sum[:16])
}
