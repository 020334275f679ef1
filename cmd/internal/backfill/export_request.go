package backfill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/snapshot/export"
	"github.com/tablewake/tablewake/sinks/state"
)

// requestExport returns the path of the run's export, and waits until the export is complete. It requests the export
// unless a process of the run has done so. The processes agree on the export by the note in the state. If the command
// is interrupted, the same command continues with that export.
func (j *job) requestExport(ctx context.Context) (string, error) {
	if j.selection.isStored() {
		return j.exportPath(j.selection.stored.Source)
	}
	client := dynamodb.NewFromConfig(j.aws)
	progress := cli.NewCountProgress(j.streams.Err, "exporting")
	defer progress.End()
	for {
		part, note, err := j.readNote(ctx)
		if err != nil {
			return "", err
		}
		var next exportNote
		switch {
		case part == (state.Part{}) || note.Failed:
			next = j.nextNote(note)
		case note.ARN == "":
			if next, err = j.requestNoted(ctx, client, progress, note); err != nil {
				return "", j.storeFailure(ctx, part, note, err)
			}
		default:
			return j.waitForNoted(ctx, client, progress, part, note)
		}
		// A process that loses the race continues with the note of the other process.
		if err := j.storeNote(ctx, part, next); err != nil {
			return "", err
		}
	}
}

// requestNoted requests the export of a note, and returns the note with its ARN.
func (j *job) requestNoted(
	ctx context.Context, client *dynamodb.Client, progress *cli.Progress, note exportNote,
) (exportNote, error) {
	requested, err := export.Request(ctx, client, export.RequestOptions{
		TableARN: j.table.ARN, Bucket: j.o.bucket, Prefix: j.o.prefix,
		Time: note.Time, Narrowing: j.narrowing, ClientToken: note.clientToken(j.selection.runID),
		Waiting: func(latest time.Time) {
			fmt.Fprintf(progress, "waiting until the table can be exported as of %s: now it can as of %s\n",
				note.Time.Format(time.RFC3339), latest.Format(time.RFC3339))
		},
	})
	note.ARN = requested.ARN
	return note, err
}

// waitForNoted waits for the requested export of a note, and returns its path.
func (j *job) waitForNoted(
	ctx context.Context, client *dynamodb.Client, progress *cli.Progress, part state.Part, note exportNote,
) (string, error) {
	fmt.Fprintf(progress, "the export %s of %s is being made\n", note.ARN, note.Time.Format(time.RFC3339))
	path, err := records.WaitForExport(ctx, client, export.Requested{ARN: note.ARN}, progress)
	if errors.Is(err, export.ErrFailed) {
		return "", j.storeFailure(ctx, part, note, err)
	}
	return path, err
}

// storeFailure stores that the request of a note failed permanently, so that the same command can request another
// export. It returns failure, the error of the request.
func (j *job) storeFailure(ctx context.Context, part state.Part, note exportNote, failure error) error {
	if _, isTransient := pipeline.Retryable(failure); isTransient || ctx.Err() != nil {
		return failure
	}
	note.Failed = true
	return errors.Join(failure, j.storeNote(ctx, part, note))
}
